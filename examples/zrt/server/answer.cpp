// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/answer.cpp: the order of a stream's events, whole answers, errors and leaving clients.
#include "answer.hpp"
#include "json_text.hpp"

#include <algorithm>
#include <ctime>

namespace program::server {
namespace {

/// Of events that are written together.
constexpr std::size_t kMostEventBytes = std::size_t{16} << 10;

std::string event_of(const ApiError& error) { return "data: " + text_of(error_json(error)) + "\n\n"; }

}  // namespace

void reply_error(Exchange& exchange, const ApiError& error, Metrics& metrics) {
  if (error.retry_after != 0) exchange.add_header("Retry-After", std::to_string(error.retry_after));
  if (error.status == 401) exchange.add_header("WWW-Authenticate", error.challenge);
  if (!error.methods.empty()) exchange.add_header("Allow", error.methods);
  metrics.answered(error.status);
  exchange.reply(error.status, "application/json", text_of(error_json(error)));
}

Answer::Answer(Services services, std::shared_ptr<Exchange> exchange, GenerationRequest request)
    : services_(services),
      exchange_(std::move(exchange)),
      request_(std::move(request)),
      created_(std::time(nullptr)),
      choices_(request_.choices.size()),
      open_(request_.choices.size()) {}

void Answer::start() {
  id_ = random_id(id_prefix());
  auto self = shared_from_this();
  // Before the engine knows the request: once it is answered, the connection may carry another one.
  exchange_->when_gone([weak = weak_from_this()] {
    if (const auto answer = weak.lock()) {
      const std::lock_guard lock(answer->mutex_);
      answer->gone_ = true;
      if (answer->ticket_) answer->services_.engine.cancel(*answer->ticket_);
    }
  });
  for (std::size_t i = 0; i < choices_.size(); ++i) choices_[i].counts_prompt = request_.choices[i].counts_prompt;
  // What the engine says at once must find the ticket.
  const std::lock_guard lock(mutex_);
  ticket_ = services_.engine.submit(std::move(request_.choices), [self](Said&& said) { self->hear(std::move(said)); });
  if (!ticket_) throw unavailable("too many requests wait; try again");
  if (gone_) services_.engine.cancel(*ticket_);
}

// --- the engine's thread --------------------------------------------------------------------------------

void Answer::hear(Said&& said) {
  const std::lock_guard lock(mutex_);
  said_.push_back(std::move(said));
  if (std::exchange(scheduled_, true)) return;
  // The engine's loop wakes the pool once for all answers of a step.
  services_.work.leave([self = shared_from_this()] { self->work(); });
}

// --- a thread of the pool -------------------------------------------------------------------------------

void Answer::work() {
  for (;;) {
    heard_.clear();
    {
      const std::lock_guard lock(mutex_);
      if (said_.empty()) {
        scheduled_ = false;
        return;
      }
      heard_.swap(said_);
      if (gone_) over_ = true;
    }
    for (Said& one : heard_)
      if (!over_) take(one);
    // What was said since the last time goes out in one piece.
    send_events();
  }
}

void Answer::take(Said& said) {
  switch (said.kind) {
    case Said::Kind::taken:
      return take_taken(said);
    case Said::Kind::prompt:
      return take_prompt(said.choice, said);
    case Said::Kind::token:
      ++choices_[said.choice].tokens;
      choices_[said.choice].cached_tokens = said.cached_tokens;
      return take_token(said.choice, said);
    case Said::Kind::end:
      return take_end(said);
  }
}

void Answer::take_taken(const Said& said) {
  tenant_open_ = std::max<std::uint64_t>(tenant_open_, said.tenant_open);
  if (request_.stream && !streaming_) begin_stream();
  begin_choice(said.choice);
}

void show_quota(Exchange& exchange, std::uint64_t most_open, std::uint64_t open) {
  exchange.add_header("X-RateLimit-Limit-Requests", std::to_string(most_open));
  exchange.add_header("X-RateLimit-Remaining-Requests", std::to_string(most_open - std::min(open, most_open)));
}

void Answer::show_quota() {
  if (request_.most_open) server::show_quota(*exchange_, *request_.most_open, tenant_open_);
}

void Answer::take_end(const Said& said) {
  if (said.error) {
    if (said.refused && said.retry_after_ns != 0) return fail(over_quota(said.retry_after_ns));
    const char* param = "prompt";
    // What an answer runs into, once it is taken, is its grammar's limit.
    if (!said.refused && said.error->code() == zrt::Errc::limit_exceeded) {
      if (request_.constrained) param = "response_format";
      if (request_.forced_calls) param = "tools";
    }
    ApiError error = api_error(*said.error, param);
    // What the engine took and could not finish is no fault of the client's.
    if (!said.refused && error.status >= 500)
      error = {503, "server_error", std::string(zrt::name(said.error->code())), {}, error.message, 1};
    return fail(error);
  }
  if (said.finish == zrt::FinishReason::cancelled) return give_up();
  if (said.finish == zrt::FinishReason::client_too_slow) return unread();
  end_choice(said.choice, said);
  if (--open_ == 0 && !over_) finish();
}

/// The tenant's queue is full: the whole request is refused.
ApiError Answer::over_quota(std::uint64_t retry_after_ns) {
  tenant_open_ = ~std::uint64_t{0};
  show_quota();
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::uint64_t wait = std::clamp<std::uint64_t>((retry_after_ns + kSecond - 1) / kSecond, 1, 60);
  return tenant_full(static_cast<int>(wait));
}

void Answer::begin_stream() {
  streaming_ = true;
  show_quota();
  exchange_->add_header("Cache-Control", "no-cache");
  exchange_->add_header("X-Accel-Buffering", "no");
  services_.metrics.answered(200);
  exchange_->begin("text/event-stream", ": keep-alive\n\n", event_of(unavailable(kShuttingDown, "cancelled")));
}

void Answer::finish() {
  over_ = true;
  services_.metrics.add(services_.served.place, Figure::choices, request_.choices_of_prompt);
  if (!streaming_) {
    Json whole = frame(false);
    for (std::uint32_t i = 0; i < choices_.size(); ++i) whole["choices"].push_back(whole_choice(i));
    whole["usage"] = usage();
    services_.metrics.answered(200);
    show_quota();
    return exchange_->reply(200, "application/json", text_of(whole));
  }
  if (request_.include_usage) {
    Json last = frame(true);
    last["usage"] = usage();
    events_.append("data: ").append(text_of(last)).append("\n\n");
  }
  events_ += "data: [DONE]\n\n";
  if (!exchange_->write(std::exchange(events_, {}))) return unread();
  exchange_->end();
}

void Answer::fail(const ApiError& error) {
  over_ = true;
  services_.engine.cancel(*ticket_);
  if (!streaming_) return reply_error(*exchange_, error, services_.metrics);
  exchange_->cut(std::exchange(events_, {}) + event_of(error));
}

/// Nobody hears the rest.
void Answer::give_up() {
  over_ = true;
  services_.engine.cancel(*ticket_);
  if (streaming_) exchange_->cut({});
}

void Answer::unread() {
  if (exchange_->gone()) return give_up();
  fail({503, "server_error", "client_too_slow", {}, "the client reads too slowly for the answer", 0});
}

void Answer::send_choice(const Json& choice) {
  if (over_) return;
  begin_event();
  events_ += text_of(choice);
  end_event();
}

void Answer::send_text(std::uint32_t choice, std::string_view field, std::string_view text, std::string_view end) {
  if (over_) return;
  begin_event();
  events_.append("{\"index\":").append(std::to_string(choice)).append(field);
  append_quoted(events_, text);
  events_.append(end).append(",\"logprobs\":null,\"finish_reason\":null}");
  end_event();
}

void Answer::begin_event() {
  if (event_head_.empty()) event_head_ = event_head();
  events_ += event_head_;
}
void Answer::end_event() {
  events_ += request_.include_usage ? "],\"usage\":null}\n\n" : "]}\n\n";
  if (events_.size() > kMostEventBytes) send_events();
}

void Answer::send_events() {
  if (over_ || events_.empty()) return;
  const bool written = exchange_->write(events_);
  events_.clear();
  if (!written) return unread();
  keep_pace();
}

// The lock keeps the order of pause and resume.
void Answer::keep_pace() {
  const std::lock_guard lock(mutex_);
  if (paused_) return;
  paused_ = exchange_->full([weak = weak_from_this()] {
    if (const auto answer = weak.lock()) answer->resume();
  });
  if (paused_) services_.engine.pause(*ticket_, true);
}
void Answer::resume() {
  const std::lock_guard lock(mutex_);
  paused_ = false;
  services_.engine.pause(*ticket_, false);
}

/// What all chunks begin with, up to their choice: most of the text of an event is that.
std::string Answer::event_head() const {
  std::string text = "data: " + text_of(frame(true));
  constexpr std::string_view kEnd = "]}";
  text.resize(text.size() - kEnd.size());
  return text;
}

Json Answer::frame(bool chunk) const {
  return {{"id", id_},
          {"object", object(chunk)},
          {"created", created_},
          {"model", request_.model},
          {"system_fingerprint", services_.served.fingerprint},
          {"choices", Json::array()}};
}

Json Answer::usage() const {
  std::uint32_t generated = 0, cached = 0;
  for (const Choice& choice : choices_) {
    generated += choice.tokens;
    if (choice.counts_prompt) cached += choice.cached_tokens;
  }
  Json out{{"prompt_tokens", request_.prompt_tokens},
           {"completion_tokens", generated},
           {"total_tokens", request_.prompt_tokens + generated},
           {"prompt_tokens_details", {{"cached_tokens", cached}, {"audio_tokens", 0}}}};
  add_details(out);
  return out;
}

std::string Answer::token_bytes(std::int32_t id) const {
  zrt::String bytes(zrt::system_allocator());
  (void)services_.served.tokenizer->append_piece(id, true, bytes);
  return std::string(bytes.view());
}

}  // namespace program::server
