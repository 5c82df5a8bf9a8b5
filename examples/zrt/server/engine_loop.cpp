// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/engine_loop.cpp: requests into the engine, tokens out of it.
#include "api_error.hpp"
#include "engine_loop.hpp"
#include <zrt/engine/stop_strings.hpp>
#include <zrt/ops/state.hpp>
#include <zrt/text/detokenizer.hpp>

#include <algorithm>

namespace program::server {
namespace {

/// From one report of all tenants to the next: a ledger is a few KiB.
constexpr std::chrono::milliseconds kShowTime{100};
/// Choices that one step of the engine is certain to accept or refuse.
constexpr std::size_t kMostStarts = 256;
/// Without a step while every tenant at hand waits for its rate, and at most half of the longest step: probes must see
/// that the loop turns.
constexpr std::chrono::nanoseconds kLongestIdle = std::chrono::seconds(1);
/// Steps that fail in a row, of several models, before all that runs ends.
constexpr std::uint32_t kMostFailures = 16;

double seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

zrt::text::DecodeOptions decoding(bool special) {
  zrt::text::DecodeOptions options;
  options.special = special;
  options.at_start = false;
  return options;
}

}  // namespace

/// A choice on its way through the engine. Its text is made here: a chat needs the control tokens that the engine's own
/// text leaves out.
struct EngineLoop::Choice {
  Choice(const Asked& asked, const zrt::text::Tokenizer& tokenizer)
      : grammar(asked.grammar),
        images(asked.lease),
        text(tokenizer, decoding(asked.special)),
        stops(zrt::system_allocator()) {}

  Ticket ticket{};
  std::uint32_t index = 0;
  zrt::TenantId tenant{};
  std::string tenant_name;
  std::string adapter_name;
  Hear hear;
  std::shared_ptr<const BoundGrammar> grammar;  ///< which the engine views
  ImageLease images;                            ///< room for the rows that the engine copied
  zrt::text::Detokenizer text;
  zrt::StopStrings stops;
  Clock::time_point arrived{};
  std::optional<Clock::time_point> begun{};  ///< of the step that computed the first of it
  Clock::time_point first{};
  Clock::time_point last{};
  std::uint32_t prompt = 0;
  std::uint32_t most = 0;
  std::uint32_t generated = 0;
  bool ignore_eos = false;
  bool taken = false;
};

EngineLoop::EngineLoop(zrt::ModelSet<Model>& models, Metrics& metrics, EngineLoopLimits limits,
                       std::function<void()> told)
    : models_(models),
      metrics_(metrics),
      slots_(limits.slots),
      most_(limits.slots * static_cast<std::uint32_t>(models.size()) + limits.queue),
      longest_step_(limits.longest_step),
      told_(std::move(told)),
      tenants_(models, metrics),
      thread_([this] { run(); }) {}

EngineLoop::~EngineLoop() { stop(); }

void EngineLoop::stop() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  emptied_.notify_all();
  if (thread_.joinable()) thread_.join();
}

zrt::Result<void> EngineLoop::set_tenants(std::vector<Tenant> tenants) {
  Change change{std::move(tenants)};
  std::unique_lock lock(mutex_);
  change_ = &change;
  changed_.notify_all();
  emptied_.wait(lock, [&] { return change.done || ends_ || aborts_; });
  if (change.done) return *change.done;
  change_ = nullptr;
  return zrt::fail(zrt::Errc::cancelled, kShuttingDown);
}

std::optional<Ticket> EngineLoop::submit(std::vector<Asked> choices, Hear hear) {
  const std::lock_guard lock(mutex_);
  if (aborts_ || ends_ || open_ + choices.size() > most_) return {};
  open_ += choices.size();
  const Ticket ticket{next_ticket_++};
  const Clock::time_point arrived = choices.front().arrived.value_or(Clock::now());
  arrived_.push_back({ticket, std::move(choices), std::move(hear), arrived});
  changed_.notify_all();
  return ticket;
}

void EngineLoop::cancel(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  cancelled_.push_back(ticket);
  changed_.notify_all();
}

void EngineLoop::pause(Ticket ticket, bool on) {
  const std::lock_guard lock(mutex_);
  paused_.emplace_back(ticket, on);
  changed_.notify_all();
}

EngineLoop::Refusal EngineLoop::embed(std::unique_ptr<EmbedJob> job, std::optional<std::uint64_t> most_open) {
  const std::lock_guard lock(mutex_);
  if (aborts_ || ends_ || open_ + 1 > most_) return Refusal::queue_full;
  std::uint64_t& of_tenant = embeds_open_[job->tenant];
  if (most_open && of_tenant >= *most_open) {
    refused_.emplace_back(job->tenant, job->model);
    changed_.notify_all();
    return Refusal::tenant_full;
  }
  ++of_tenant;
  if (job->taken) job->taken(of_tenant);
  // The engine's thread comes to it behind the piece that it computes, which may take seconds.
  metrics_.arrived(job->model, job->tenant);
  ++open_;
  embeds_.push_back(std::move(job));
  changed_.notify_all();
  return Refusal::none;
}

bool EngineLoop::drain(std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  return emptied_.wait_for(lock, deadline, [this] { return open_ == 0; });
}

void EngineLoop::abort() {
  const std::lock_guard lock(mutex_);
  aborts_ = true;
  changed_.notify_all();
  emptied_.notify_all();
}

bool EngineLoop::turns() const {
  const std::lock_guard lock(mutex_);
  return open_ == 0 || now_ms() - stepped_at_ < longest_step_.count();
}

// --- the engine's thread --------------------------------------------------------------------------------

void EngineLoop::run() {
  while (collect()) {
    change_tenants();
    start_jobs();
    // A refusal does not wait for what others run.
    told_();
    cancel_ended();
    pause_changed();
    run_embeddings();
    if (left_ != 0 || !running_.empty()) step();
    tell_taken();
    told_();
    show_load();
  }
  end_all(zrt::Error::of(zrt::Errc::cancelled, kShuttingDown));
  told_();
}

/// Waits while there is nothing to do or no rate has room.
void EngineLoop::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto is_called = [this] {
    return ends_ || aborts_ || !started_.empty() || !ready_.empty() || !arrived_.empty() || !embeds_.empty() ||
           !cancelled_.empty() || !paused_.empty() || !refused_.empty() || change_ != nullptr;
  };
  if (left_ == 0 && embedding_.empty()) return changed_.wait(lock, is_called);
  const std::uint64_t idle = left_ != 0 ? models_.idle_ns() : embedding_.idle_ns(now_ns());
  if (idle == 0) return;
  const std::chrono::nanoseconds longest = std::min(kLongestIdle, std::chrono::nanoseconds(longest_step_) / 2);
  changed_.wait_for(lock, std::min(std::chrono::nanoseconds(idle), longest), is_called);
}

/// Takes over what arrived. False at the end.
bool EngineLoop::collect() {
  std::unique_lock lock(mutex_);
  wait_for_work(lock);
  stepped_at_ = now_ms();
  std::move(arrived_.begin(), arrived_.end(), std::back_inserter(started_));
  arrived_.clear();
  for (auto& job : embeds_) embedding_.push(std::move(job));
  embeds_.clear();
  for (const auto& [tenant, model] : std::exchange(refused_, {}))
    tenants_.charge(tenant, model, {.requests_refused = 1});
  ending_.insert(ending_.end(), cancelled_.begin(), cancelled_.end());
  cancelled_.clear();
  pausing_ = std::exchange(paused_, {});
  return !ends_ && !aborts_;
}

void EngineLoop::cancel_ended() {
  for (const Ticket ticket : ending_) {
    for (const auto& [place, choice] : running_)
      if (choice->ticket == ticket) models_.cancel(place.model, place.id);
    drop_followers(ticket);
  }
  // Of a job that has not started, another turn will.
  std::erase_if(ending_, [this](Ticket ticket) {
    return std::none_of(started_.begin(), started_.end(), [ticket](const Job& job) { return job.ticket == ticket; });
  });
}

/// Where there is no memory for the note a choice runs on, and the server's own bounds hold.
void EngineLoop::pause_changed() {
  for (const auto& [ticket, on] : pausing_) {
    for (const auto& [place, choice] : running_)
      if (choice->ticket == ticket) (void)models_.pause(place.model, place.id, on);
    each_follower([&](Follower& f) { f.paused = f.job->ticket == ticket ? on : f.paused; });
  }
}

void EngineLoop::change_tenants() {
  const std::lock_guard lock(mutex_);
  if (change_ == nullptr) return;
  change_->done = tenants_.set(change_->tenants);
  change_ = nullptr;
  emptied_.notify_all();
}

/// Hands over as many as the engine accepts or refuses in its next step; the rest waits for the one behind.
void EngineLoop::start_jobs() {
  started_now_ = 0;
  std::size_t begun = 0;
  for (; begun < ready_.size() && started_now_ < kMostStarts; ++begun) {
    (void)start(*ready_[begun].job, ready_[begun].index, &ready_[begun]);
    tenants_.ended(ready_[begun].tenant);
  }
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(begun));
  while (!started_.empty() && started_now_ < kMostStarts) {
    const auto job = std::make_shared<const Job>(std::move(started_.front()));
    started_.pop_front();
    start_job(job);
  }
}

/// Starts the first choice of each prompt, and the others with it or behind its first token.
void EngineLoop::start_job(const std::shared_ptr<const Job>& job) {
  std::optional<Place> first;
  for (std::uint32_t i = 0; i < job->choices.size(); ++i) {
    const Asked& asked = job->choices[i];
    if (!asked.counts_prompt && first && waits_for_prompt(asked)) {
      const zrt::TenantId tenant = running_.at(*first)->tenant;
      tenants_.began(tenant);
      followers_[*first].push_back({job, i, tenant});
      continue;
    }
    const auto place = start(*job, i);
    if (asked.counts_prompt) first = place;
  }
}

/// A prompt of one page or less leaves nothing to be found, one with images is no prefix, and one that is told is read
/// for each choice. Where the queue of a tenant is bounded, each choice takes its place at once: one that came later might
/// be refused in the middle of the answer.
bool EngineLoop::waits_for_prompt(const Asked& asked) const {
  return asked.tokens.size() > zrt::kPageTokens && asked.images == nullptr && asked.prompt_log_probabilities == 0 &&
         !tenants_.bounds_queue(asked.tenant);
}

template <class F> void EngineLoop::each_follower(F visit) {
  for (auto& [place, waiting] : followers_) std::ranges::for_each(waiting, visit);
  std::ranges::for_each(ready_, visit);
}

/// The choice has its prompt, or will never have it.
void EngineLoop::release_followers(Place place) {
  const auto found = followers_.find(place);
  if (found == followers_.end()) return;
  std::ranges::move(found->second, std::back_inserter(ready_));
  followers_.erase(found);
}

void EngineLoop::drop_followers(Ticket ticket) {
  const auto drop = [&](std::vector<Follower>& waiting) {
    std::erase_if(waiting, [&](const Follower& f) {
      if (f.job->ticket != ticket) return false;
      end_follower(f, zrt::FinishReason::cancelled);
      return true;
    });
  };
  for (auto& [place, waiting] : followers_) drop(waiting);
  drop(ready_);
}

/// Ends a choice that the engine never learnt of.
void EngineLoop::end_follower(const Follower& f, zrt::FinishReason reason, const zrt::Error* error) {
  tenants_.ended(f.tenant);
  Said said{.kind = Said::Kind::end, .choice = f.index, .finish = reason};
  if (error != nullptr) said.error = *error;
  f.job->hear(std::move(said));
  const std::lock_guard lock(mutex_);
  --open_;
  emptied_.notify_all();
}

/// The one place where the engine learns of a choice. None where it is refused.
std::optional<EngineLoop::Place> EngineLoop::start(const Job& job, std::uint32_t index, const Follower* held) {
  const Asked& asked = job.choices[index];
  auto choice = std::make_unique<Choice>(asked, *models_.engine(asked.model).tokenizer());
  choice->ticket = job.ticket;
  choice->index = index;
  choice->hear = job.hear;
  choice->arrived = job.arrived;
  choice->tenant_name = asked.tenant;
  choice->adapter_name = asked.adapter_name;
  choice->ignore_eos = asked.ignore_eos;
  choice->prompt = static_cast<std::uint32_t>(asked.tokens.size());
  choice->most = asked.max_tokens;
  zrt::Request request;
  request.tokens = asked.tokens;
  const auto spans = asked.images ? asked.images->spans() : std::vector<zrt::EmbeddingSpan>{};
  request.embeddings = spans;
  request.max_tokens = asked.max_tokens;
  request.adapter = asked.adapter;
  request.sampling = asked.sampling;
  request.sampling.bias = asked.bias;
  request.ignore_eos = asked.ignore_eos;
  request.log_probabilities = asked.log_probabilities;
  request.prompt_log_probabilities = asked.prompt_log_probabilities;
  request.grammar = asked.grammar ? &asked.grammar->tokens : nullptr;
  std::optional<zrt::Error> refusal;
  if (held != nullptr)
    choice->tenant = request.tenant = held->tenant;
  else if (auto tenant = tenants_.find(asked.tenant))
    choice->tenant = request.tenant = *tenant;
  else
    refusal = tenant.error();
  if (auto set = choice->stops.set(asked.stops); !set) refusal = set.error();
  zrt::Result<zrt::RequestId> id{};
  if (!refusal) id = models_.submit(asked.model, request);
  if (!refusal && !id) refusal = id.error();
  if (refusal) {
    choice->hear({.kind = Said::Kind::end,
                  .choice = index,
                  .finish = zrt::FinishReason::failed,
                  .error = refusal,
                  .refused = true});
    const std::lock_guard lock(mutex_);
    --open_;
    emptied_.notify_all();
    return {};
  }
  tenants_.began(choice->tenant);
  const Place place{asked.model, *id};
  if (held != nullptr && held->paused) (void)models_.pause(place.model, place.id, true);
  submitted_.push_back({place, models_.reads(place.model)});
  ++started_now_;
  running_.emplace(place, std::move(choice));
  return place;
}

/// Texts to embed run when no request does: an engine gives vectors or text.
void EngineLoop::run_embeddings() {
  const EmbedQueue::Piece piece = embedding_.next(now_ns());
  if (piece.job == nullptr) return;
  EmbedJob& job = *piece.job;
  const zrt::Error left = zrt::Error::of(zrt::Errc::cancelled, "the client has left");
  if (job.gone()) return end_embedding(job, &left);
  if (const auto brought = models_.bring(job.model); !brought) {
    // It waits for its place in memory, as the requests of others run empty.
    if (brought.error().code() == zrt::Errc::capacity_exceeded) return;
    return end_embedding(job, &brought.error());
  }
  // The rest of the loop does not come to it before the piece is computed.
  if (!std::exchange(job.begun, true)) show_load();
  std::vector<zrt::EmbedInput> inputs;
  for (std::size_t i = 0; i < piece.count; ++i) inputs.push_back({.tokens = job.texts[job.done.size() + i]});
  const auto found = models_.engine(job.model).embed(inputs, {.pooling = job.pooling});
  const std::uint64_t tokens = embedding_.charge(piece);
  const std::uint64_t first = job.done.size() == 0 ? 1 : 0;
  tenants_.charge(job.tenant, job.model,
                  {.prompt_tokens = tokens, .computed_tokens = tokens, .requests_accepted = first});
  if (const auto tenant = tenants_.find(job.tenant)) (void)models_.charge(*tenant, tokens);
  if (!found) return end_embedding(job, &found.error());
  job.done.width = found->width;
  job.done.values.insert(job.done.values.end(), found->values.begin(), found->values.end());
  job.done.tokens.insert(job.done.tokens.end(), found->tokens.begin(), found->tokens.end());
  if (job.is_done()) end_embedding(job, nullptr);
}

void EngineLoop::end_embedding(const EmbedJob& ended, const zrt::Error* error) {
  const auto job = embedding_.take(ended);
  if (error == nullptr)
    tenants_.charge(job->tenant, job->model, {.requests_finished = 1});
  else
    tenants_.charge(job->tenant, job->model, {.requests_ended_early = 1});
  if (error == nullptr)
    job->hear(std::move(job->done));
  else
    job->hear(std::unexpected(*error));
  const std::lock_guard lock(mutex_);
  --embeds_open_[job->tenant];
  --open_;
  emptied_.notify_all();
}

void EngineLoop::step() {
  step_began_ = Clock::now();
  step_tokens_.assign(models_.size(), 0);
  const auto left = models_.step([this](zrt::ModelId model, zrt::RequestId id, const zrt::Token& token) {
    return hear_token({model, id}, token);
  });
  for (std::uint32_t m = 0; m < step_tokens_.size(); ++m)
    if (step_tokens_[m] != 0) metrics_.add(zrt::ModelId{m}, Figure::step_tokens, static_cast<double>(step_tokens_[m]));
  failed_steps_ = left ? 0 : failed_steps_ + 1;
  // A step that failed has ended its requests, and those of other models go on. One that fails before it has any would
  // never end the rest.
  const bool others_go_on = models_.size() > 1 && failed_steps_ < kMostFailures;
  left_ = left ? *left : others_go_on ? running_.size() : 0;
  if (!left && !others_go_on && !running_.empty()) {
    for (const auto& [place, choice] : running_) models_.cancel(place.model, place.id);
    end_all(left.error());
  }
}

bool EngineLoop::hear_token(Place place, const zrt::Token& token) {
  const auto found = running_.find(place);
  if (found == running_.end()) return false;
  Choice& c = *found->second;
  if (token.in_prompt) {
    note_begin(place, c);
    tell_taken(c);
    Said said{.kind = Said::Kind::prompt, .choice = c.index, .id = token.id, .log_probability = token.log_probability};
    said.best.assign(token.best.begin(), token.best.end());
    c.hear(std::move(said));
    return true;
  }
  if (token.id != zrt::kNoToken) {
    const Clock::time_point now = Clock::now();
    note_begin(place, c);
    if (++c.generated == 1) {
      c.first = now;
      release_followers(place);
    }
    step_tokens_[static_cast<std::size_t>(place.model)] += 1 + (c.generated == 1 ? c.prompt : 0);
    if (c.generated == 1)
      metrics_.add(place.model, Figure::first_token, seconds(now - c.arrived));
    else
      metrics_.add(place.model, Figure::between_tokens, seconds(now - c.last));
    c.last = now;
    tell_taken(c);
    Said said{.kind = Said::Kind::token, .choice = c.index, .id = token.id, .cached_tokens = token.cached_tokens};
    said.best.assign(token.best.begin(), token.best.end());
    said.log_probability = token.log_probability;
    const bool ends = models_.engine(place.model).tokenizer()->is_end_of_generation(token.id);
    said.ends_text = ends && !c.ignore_eos;
    if (!ends) {
      const auto piece = c.text.feed(token.id);
      const auto sure = piece ? c.stops.feed(*piece) : piece;
      if (!sure) return end(place, c, zrt::FinishReason::failed, nullptr, &sure.error()), false;
      said.text = *sure;
    }
    c.hear(std::move(said));
    if (c.stops.matched()) return end(place, c, zrt::FinishReason::stop_string), false;
  }
  if (token.finish != zrt::FinishReason::none) return end(place, c, token.finish, &token, token.error), false;
  return true;
}

/// What its model has read and not refused is accepted.
void EngineLoop::tell_taken() {
  std::erase_if(submitted_, [this](const Submitted& one) {
    if (models_.reads(one.place.model) == one.reads) return false;
    if (const auto found = running_.find(one.place); found != running_.end()) tell_taken(*found->second);
    return true;
  });
}

void EngineLoop::tell_taken(Choice& c) {
  if (!std::exchange(c.taken, true))
    c.hear({.kind = Said::Kind::taken, .choice = c.index, .tenant_open = tenants_.open(c.tenant)});
}

/// The first of a choice has been computed in this step.
void EngineLoop::note_begin(Place place, Choice& c) {
  if (c.begun) return;
  c.begun = step_began_;
  metrics_.add(place.model, Figure::queue, seconds(step_began_ - c.arrived));
}

void EngineLoop::show_end(Place place, const Choice& c, std::string_view reason) {
  const auto add = [&](Figure figure, double value) { metrics_.add(place.model, figure, value); };
  metrics_.ended(place.model, reason);
  add(Figure::whole, seconds(Clock::now() - c.arrived));
  if (!c.begun || c.generated == 0) return;
  add(Figure::prefill, seconds(c.first - *c.begun));
  add(Figure::decode, seconds(c.last - c.first));
  add(Figure::inference, seconds(c.last - *c.begun));
  if (c.generated > 1) add(Figure::time_per_token, seconds(c.last - c.first) / (c.generated - 1));
  add(Figure::prompt_tokens, c.prompt);
  add(Figure::generated_tokens, c.generated);
  add(Figure::most_tokens, c.most);
}

void EngineLoop::end(Place place, Choice& c, zrt::FinishReason reason, const zrt::Token* last,
                     const zrt::Error* error) {
  Said said{.kind = Said::Kind::end, .choice = c.index, .finish = reason};
  // The scheduler refuses with these, before anything else is told of a request.
  said.refused = error != nullptr && !c.taken &&
                 (error->code() == zrt::Errc::capacity_exceeded || error->code() == zrt::Errc::not_found);
  if (said.refused && last != nullptr) said.retry_after_ns = last->retry_after_ns;
  if (!said.refused && error == nullptr) tell_taken(c);
  if (error != nullptr) said.error = *error;
  if (const auto tail = c.text.finish(); tail && !c.stops.matched())
    if (const auto rest = c.stops.finish(*tail)) said.text = *rest;
  show_end(place, c, said.refused ? kRefused : zrt::name(reason));
  release_followers(place);
  tenants_.ended(c.tenant);
  // Before the client knows: it may ask for figures at once.
  tenants_.show(c.tenant);
  c.hear(std::move(said));
  running_.erase(place);
  const std::lock_guard lock(mutex_);
  --open_;
  emptied_.notify_all();
}

void EngineLoop::end_all(const zrt::Error& error) {
  while (!running_.empty()) {
    const auto first = running_.begin();
    end(first->first, *first->second, zrt::FinishReason::failed, nullptr, &error);
  }
  submitted_.clear();
  for (const Follower& f : std::exchange(ready_, {})) end_follower(f, zrt::FinishReason::failed, &error);
  for (const Job& job : std::exchange(started_, {}))
    for (std::uint32_t i = 0; i < job.choices.size(); ++i) {
      job.hear({.kind = Said::Kind::end, .choice = i, .finish = zrt::FinishReason::failed, .error = error});
      const std::lock_guard lock(mutex_);
      --open_;
    }
  for (const auto& job : embedding_.take_all()) {
    job->hear(std::unexpected<zrt::Error>(error));
    const std::lock_guard lock(mutex_);
    --embeds_open_[job->tenant];
    --open_;
  }
  emptied_.notify_all();
}

void EngineLoop::show_load() {
  if (const auto now = Clock::now(); left_ == 0 || now - shown_ >= kShowTime) {
    shown_ = now;
    tenants_.tidy();
    show_slots();
  }
  std::vector<ModelLoad> loads(models_.size());
  std::vector<std::uint64_t> used(models_.size());
  for (const auto& [place, choice] : running_) {
    const auto m = static_cast<std::size_t>(place.model);
    const std::uint32_t processed = models_.engine(place.model).processed(place.id);
    if (processed != 0) note_begin(place, *choice);
    used[m] += zrt::pages_for(processed);
    ++(processed != 0 ? loads[m].running : loads[m].waiting);
  }
  each_follower([&](const Follower& f) { ++loads[static_cast<std::size_t>(f.job->choices[f.index].model)].waiting; });
  embedding_.each([&](const EmbedJob& job) {
    ModelLoad& load = loads[static_cast<std::size_t>(job.model)];
    ++(job.begun ? load.running : load.waiting);
  });
  const std::lock_guard lock(mutex_);
  for (const auto& job : embeds_) ++loads[static_cast<std::size_t>(job->model)].waiting;
  for (std::uint32_t m = 0; m < loads.size(); ++m) {
    const zrt::ModelId model{m};
    ModelLoad& load = loads[m];
    load.slots = slots_;
    load.pages = std::uint64_t{slots_} * zrt::pages_for(models_.engine(model).context());
    if (load.pages != 0)
      load.pages_used = std::min(1.0, static_cast<double>(used[m]) / static_cast<double>(load.pages));
    if (const auto report = models_.report(model)) load.report = *report;
    load.page_times = models_.engine(model).page_times();
    metrics_.set_load(model, load);
  }
}

void EngineLoop::show_slots() {
  std::vector<std::vector<SlotPages>> slots(models_.size());
  for (const auto& [place, choice] : running_)
    slots[static_cast<std::size_t>(place.model)].push_back(
        {choice->tenant_name, choice->adapter_name, zrt::pages_for(models_.engine(place.model).processed(place.id))});
  each_follower([&](const Follower& f) {
    const Asked& asked = f.job->choices[f.index];
    slots[static_cast<std::size_t>(asked.model)].push_back({asked.tenant, asked.adapter_name, 0});
  });
  embedding_.each([&](const EmbedJob& job) {
    slots[static_cast<std::size_t>(job.model)].push_back({.tenant = job.tenant, .embeds = job.begun});
  });
  const std::lock_guard lock(mutex_);
  for (const auto& job : embeds_) slots[static_cast<std::size_t>(job->model)].push_back({.tenant = job->tenant});
  for (std::uint32_t m = 0; m < slots.size(); ++m) metrics_.set_slots(zrt::ModelId{m}, std::move(slots[m]));
}

}  // namespace program::server
