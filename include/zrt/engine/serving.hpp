// SPDX-License-Identifier: Apache-2.0
// zrt/engine/serving.hpp: the scheduler's decisions on the machine: whose slots, pages and kept states are where.
#pragma once

#include <zrt/engine/active_request.hpp>
#include <zrt/engine/arrival_turns.hpp>
#include <zrt/exec/executor.hpp>
#include <zrt/serve/audit.hpp>
#include <zrt/serve/ngram_memory.hpp>
#include <zrt/serve/scheduler.hpp>
#include <zrt/serve/slot_table.hpp>

#include <optional>

namespace zrt::inline ZRT_ABI::detail {

/// A scheduler with the requests that it serves and the slots of an executor.
///
/// The scheduler owns the pages of cache groups without a window: their lists are copied to the slot table before a
/// step. What else a slot has, recurrent state and the pages behind a window, is the slot table's; at page borders it is
/// copied to a kept state, and where its request is preempted to the shelf. From these a request resumes.
template <class B> class Serving {
 public:
  static constexpr std::uint32_t kNoSlot = serve::kNone;
  using Scheduler = serve::Scheduler<>;

  explicit Serving(const Allocator& a) noexcept
      : allocator_(a),
        requests_(a),
        arriving_(a),
        unread_(a),
        turns_(a),
        arrivals_(a),
        owners_(a),
        admitted_(a),
        sequences_(a),
        cuts_(a),
        lent_(a),
        window_audit_(a) {}

  /// Slots of `context` positions each for an executor's states, which must outlive this.
  template <class O>
  [[nodiscard]] Result<void> open(exec::Executor<B, O>& executor, std::uint32_t context,
                                  const EngineOptions& options) noexcept {
    context_ = context;
    shares_prefixes_ = options.prefix_cache;
    const exec::ExecutorSizes& sizes = executor.sizes();
    const Allocator& allocator = options.allocator;
    if (auto r = attach_slots(executor, allocator); !r) return r;
    pages_per_slot_ = sizes.pages_per_slot;
    auto scheduler = Scheduler::make(limits_of(sizes, options), allocator);
    if (!scheduler) return pass(scheduler);
    scheduler_.emplace(std::move(*scheduler));
    if (auto r = requests_.resize(scheduler_->state().requests.size()); !r) return r;
    const serve::SchedulerLimits& limits = scheduler_->state().limits;
    const std::size_t rows = std::size_t{limits.tenants} + 1;
    if (auto r = arriving_.reserve(limits.arrivals); !r) return r;
    if (auto r = arrivals_.reserve(limits.arrivals); !r) return r;
    if (auto r = unread_.reserve(rows); !r) return r;
    if (auto r = turns_.reserve(rows, limits.arrivals); !r) return r;
    if (auto r = owners_.resize(sizes.slots); !r) return r;
    if (auto r = admitted_.resize(sizes.slots); !r) return r;
    if (auto r = sequences_.resize(sizes.slots); !r) return r;
    if (auto r = cuts_.resize(sizes.slots); !r) return r;
    if (auto r = lent_.resize(std::size_t{sizes.slots} * sizes.pages_per_slot); !r) return r;
    for (std::uint32_t& page : lent_) page = serve::kNoPage;
    if (auto r = make_said(allocator); !r) return r;
    const std::uint32_t last = sizes.pages_per_slot * kPageTokens;
    kept_bytes_ = bytes_of(serve::SlotPart::own, last);
    // A window touches a page more where it begins inside of one.
    for (std::uint32_t i = 0; i < kPageTokens; ++i)
      if (const std::size_t own = bytes_of(serve::SlotPart::shelved, last - i); own > shelved_bytes_)
        shelved_bytes_ = own;
    if (auto r = make_kept(allocator); !r) return r;
    if constexpr (serve::kAudits) {
      auto audit = serve::Audit::make(scheduler_->state().limits, allocator);
      if (!audit) return pass(audit);
      audit_.emplace(std::move(*audit));
      if (auto r = window_audit_.reserve(static_cast<std::size_t>(slots_->all_pages())); !r) return r;
    }
    return create_host();
  }

  /// Gives back slots and kept states of an executor that goes away; nothing runs. Prefixes are forgotten, and texts that
  /// were guessed from; nothing begins until there is another executor.
  void detach() noexcept {
    ZRT_ASSERT(running() == 0);
    scheduler_->admit(false);
    scheduler_->drop_cache();
    for (serve::Handle& owner : owners_) owner = 0;
    slots_.reset();
    said_.reset();
    kept_ = {};
    shelved_ = {};
  }
  /// Takes the slots of an executor of the same sizes.
  template <class O>
  [[nodiscard]] Result<void> attach(exec::Executor<B, O>& executor, const Allocator& allocator) noexcept {
    if (auto r = attach_slots(executor, allocator); !r) return r;
    if (auto r = make_said(allocator); !r) return r;
    if (auto r = make_kept(allocator); !r) return r;
    if (has_shelf_)
      if (auto r = make_shelf(); !r) return r;
    scheduler_->admit(true);
    return {};
  }
  /// Bytes of states that wait for whoever resumes from them, and of texts that are guessed from.
  [[nodiscard]] std::uint64_t kept_bytes() const noexcept {
    return kept_.size() + shelved_.size() + (said_ ? said_->bytes() : 0);
  }

  [[nodiscard]] Scheduler& scheduler() noexcept { return *scheduler_; }
  [[nodiscard]] serve::SlotTable<B>& slots() noexcept { return *slots_; }
  /// The scheduler's name of a tenant; requests that name none are the host's.
  [[nodiscard]] serve::Handle handle(TenantId tenant) const noexcept {
    return tenant == TenantId{} ? host_ : static_cast<serve::Handle>(tenant);
  }
  /// Whether time counts: there is anybody but the host, or a client that did not read.
  [[nodiscard]] bool counts_time() const noexcept { return tenants_ != 0 || has_paused_; }
  /// Tells the scheduler, if it knows the request, whether the client reads. Events come of it.
  void pause(ActiveRequest& a, bool on) noexcept {
    a.paused = on;
    has_paused_ = has_paused_ || on;
    // Without memory for its state a request that loses its slot computes it again.
    if (on) (void)expect_tenants();
    if (a.handle == 0) return;
    serve::Arrival note;
    note.kind = on ? serve::ArrivalKind::client_blocked : serve::ArrivalKind::client_ready;
    note.subject = a.handle;
    scheduler_->arrive(note);
  }

  /// Makes room for the states of preempted requests, where the model has any and there is none yet: before there are
  /// tenants and clients that do not read, nobody is preempted. Errors: Errc::out_of_memory.
  [[nodiscard]] Result<void> expect_tenants() noexcept {
    if (has_shelf_ || scheduler_->state().limits.shelf == 0) return {};
    // A model that is not in memory makes it when it is back.
    if (slots_)
      if (auto r = make_shelf(); !r) return r;
    has_shelf_ = true;
    scheduler_->open_shelf();
    return {};
  }
  /// Beside the host.
  [[nodiscard]] std::size_t tenants() const noexcept { return tenants_; }
  /// Errors: what the scheduler refuses; Errc::out_of_memory for the states of requests that may be preempted now.
  [[nodiscard]] Result<TenantId> create(const TenantQuota& quota) noexcept {
    if (auto r = expect_tenants(); !r) return pass(r);
    auto made = manage(serve::ArrivalKind::create_tenant, {}, quota);
    if (!made) return pass(made);
    ++tenants_;
    return TenantId{made->subject};
  }
  [[nodiscard]] Result<void> change(TenantId tenant, const TenantQuota& quota) noexcept {
    if (auto r = manage(serve::ArrivalKind::change_tenant, tenant, quota); !r) return pass(r);
    return {};
  }
  [[nodiscard]] Result<void> remove(TenantId tenant) noexcept {
    if (auto r = manage(serve::ArrivalKind::remove_tenant, tenant, {}); !r) return pass(r);
    if (said_) said_->forget(handle(tenant));
    --tenants_;
    return {};
  }
  /// Errors: Errc::not_found for the tenant; Errc::capacity_exceeded.
  [[nodiscard]] Result<SessionId> open_session(TenantId tenant) noexcept {
    const serve::StepEvent answer = ask_session(serve::ArrivalKind::open_session, handle(tenant));
    if (answer.refusal == serve::Refusal::none) return SessionId{answer.subject};
    if (answer.refusal == serve::Refusal::unknown_subject)
      return fail(Errc::not_found, "no tenant has id ", static_cast<std::uint64_t>(tenant));
    return fail(Errc::capacity_exceeded, "the tenant has as many sessions as it may, or all tenants together have ",
                scheduler_->state().limits.sessions);
  }
  /// Errors: Errc::not_found.
  [[nodiscard]] Result<void> close_session(SessionId session) noexcept {
    const auto subject = static_cast<serve::Handle>(session);
    if (ask_session(serve::ArrivalKind::close_session, subject).refusal == serve::Refusal::none) return {};
    return no_session(session);
  }
  /// Errors: Errc::not_found for a session that is not open, or of another tenant; SessionId{} passes.
  [[nodiscard]] Result<void> expect_session(SessionId session, TenantId tenant) const noexcept {
    const bool open = scheduler_->has_session(static_cast<serve::Handle>(session), handle(tenant));
    return session == SessionId{} || open ? Result<void>{} : no_session(session);
  }
  /// Requests of one tenant that may wait for a step to read them: all that could be accepted, and a step's refusals.
  [[nodiscard]] std::size_t most_unread() const noexcept {
    return scheduler_->state().requests.size() + scheduler_->state().limits.arrivals;
  }
  /// Requests that were submitted and that no step has read.
  [[nodiscard]] UnreadRequests& unread() noexcept { return unread_; }
  /// Requests that a step reads now or that the next one reads, oldest first: the scheduler does not have them yet.
  [[nodiscard]] Vector<Owned<ActiveRequest>>& arriving() noexcept { return arriving_; }
  /// Whether there are requests that the scheduler does not have yet.
  [[nodiscard]] bool has_arrivals() const noexcept { return !arriving_.empty() || !unread_.empty(); }
  /// By the scheduler's rows; null where there is none.
  [[nodiscard]] Span<Owned<ActiveRequest>> requests() noexcept { return requests_.span(); }
  [[nodiscard]] Owned<ActiveRequest>& request(serve::Handle handle) noexcept {
    return requests_[serve::row_of(handle)];
  }
  /// The request in a slot, or null.
  [[nodiscard]] ActiveRequest* in_slot(std::uint32_t slot) noexcept {
    const serve::Handle handle = scheduler_->state().slots[slot].request;
    return handle == 0 ? nullptr : request(handle).get();
  }
  [[nodiscard]] std::uint32_t slot_count() const noexcept { return static_cast<std::uint32_t>(owners_.size()); }
  [[nodiscard]] std::size_t running() const noexcept {
    std::size_t count = 0;
    for (const serve::SlotRow& row : scheduler_->state().slots) count += row.request != 0 ? 1u : 0u;
    return count;
  }
  /// Guesses in the runs of the step.
  [[nodiscard]] std::uint32_t drafted() const noexcept {
    std::uint32_t count = 0;
    for (const serve::SlotRow& row : scheduler_->state().slots) count += row.speculative_tokens;
    return count;
  }
  [[nodiscard]] std::size_t left() const noexcept { return taken_ + arriving_.size() + unread_.size(); }

  /// Pages of all cache groups that are listed or set aside.
  [[nodiscard]] std::uint64_t used_pages() const noexcept {
    std::uint64_t charged = 0;
    for (const serve::SlotWork& work : scheduler_->state().work) charged += work.charge;
    return charged * slots_->shared_groups() + slots_->used_pages();
  }

  /// In debug builds, proves that the scheduler's tables agree: with the runs of a step in the making, and behind them.
  void audit() noexcept {
    if constexpr (serve::kAudits) {
      ZRT_ASSERT(audit_->run(scheduler_->state()));
      ZRT_ASSERT(!slots_ ||
                 slots_->each_window([this](const serve::WindowPages& pages) { return window_audit_.run(pages); }));
    }
  }

  /// The scheduler has taken a request that arrived; it lives there until `end`.
  void take(serve::Handle handle, Owned<ActiveRequest> arrived) noexcept {
    arrived->handle = handle;
    request(handle) = std::move(arrived);
    ++taken_;
    if (request(handle)->paused) pause(*request(handle), true);
  }
  [[nodiscard]] Owned<ActiveRequest> end(serve::Handle handle) noexcept {
    --taken_;
    Owned<ActiveRequest> ended = std::move(request(handle));
    const serve::Handle tenant = this->handle(ended->tenant);
    if (said_ && ended->sequence.given.empty() && scheduler_->ledger(tenant) != nullptr)
      said_->remember(tenant, ended->sequence.tokens.span());
    return ended;
  }
  /// What a request's tenant said before behind the same last tokens; nothing where nobody guesses.
  [[nodiscard]] Span<const std::uint32_t> said_before(const ActiveRequest& a, std::uint32_t most) const noexcept {
    return said_ ? said_->guess(handle(a.tenant), a.sequence.tokens.span(), most) : Span<const std::uint32_t>{};
  }

  /// Forgets those of `arriving` from `first` on, which have gone elsewhere.
  void drop_arrived(std::size_t first) noexcept {
    while (arriving_.size() > first) arriving_.pop_back();
  }

  /// What the scheduler hears of a request.
  [[nodiscard]] serve::Arrival arrival(ActiveRequest& a) const noexcept {
    serve::Arrival arrival;
    arrival.subject = handle(a.tenant);
    arrival.session = static_cast<serve::Handle>(a.session);
    arrival.step_latency = a.sequence.step_latency_ns;
    arrival.tokens = a.sequence.tokens.data();
    arrival.prompt = a.sequence.prompt_tokens;
    const std::uint32_t room = context_ + 1 - a.sequence.prompt_tokens;
    arrival.most = a.max_tokens < room ? a.max_tokens : room;
    // Behind a prompt that is only told stands a token that is not drawn.
    if (arrival.most == 0 && !a.prompt_best.empty()) arrival.most = 1;
    arrival.scored = a.sequence.scored;
    arrival.adapter = static_cast<std::uint32_t>(a.adapter);
    arrival.shares = shares_prefixes_ && a.sequence.given.empty();
    return arrival;
  }

  /// Brings those to `arriving` that the next step reads.
  void choose() noexcept { turns_.choose(unread_, arriving_); }
  /// Lets the scheduler plan a step in which it reads `arriving`.
  [[nodiscard]] serve::StepPlan plan(std::uint64_t now, std::uint32_t prompt_tokens, Span<const std::uint32_t> cuts,
                                     Span<const serve::Draft> drafts) noexcept {
    arrivals_.clear();
    for (std::size_t i = 0; i < arriving_.size(); ++i) {
      serve::Arrival next = arrival(*arriving_[i]);
      next.tag = i + 1;
      (void)arrivals_.push_back(next);
    }
    return scheduler_->step({arrivals_.span(), {}, now, prompt_tokens, cuts, drafts});
  }

  /// Brings slots and page lists to where a plan has them, and loads kept states.
  [[nodiscard]] Result<void> follow(const serve::StepPlan& plan) noexcept {
    if (auto r = copy_shelved(); !r) return r;
    for (std::uint32_t slot = 0; slot < owners_.size(); ++slot)
      if (auto r = follow_owner(slot); !r) return r;
    for (std::size_t slot = 0; slot < sequences_.size(); ++slot) sequences_[slot] = nullptr;
    for (const serve::PlannedRun& run : plan.runs) {
      sequences_[run.slot] = &request(run.request)->sequence;
      sequences_[run.slot]->drafts = run.drafts;
      cuts_[run.slot] = run.count;
      if (auto r = bring(run.slot); !r) return r;
    }
    return {};
  }
  /// Brings the pages of a running slot to where the scheduler has them, and loads the state from which it resumes, if
  /// its first run is still to come.
  [[nodiscard]] Result<void> bring(std::uint32_t slot) noexcept {
    if (auto r = copy_shelved(); !r) return r;
    slots_->place(slot, scheduler_->pages(slot));
    const serve::SlotWork& work = scheduler_->state().work[slot];
    const std::uint32_t position = scheduler_->state().slots[slot].position;
    if (work.shelf != serve::kNone)
      return slots_->restore(serve::SlotPart::shelved, slot, position, shelved(work.shelf, position));
    if (work.load == serve::kNone) return {};
    return slots_->restore(serve::SlotPart::own, slot, position, kept(work.load, position));
  }
  /// The sequences of the runs by slot, and how many tokens of each are read.
  [[nodiscard]] Span<serve::Sequence* const> sequences() const noexcept { return sequences_.span(); }
  [[nodiscard]] Span<const std::uint32_t> cuts() const noexcept { return cuts_.span(); }
  /// Keeps the state behind a run.
  [[nodiscard]] Result<void> keep(const serve::PlannedRun& run) noexcept {
    const std::uint32_t end = run.begin + run.count;
    return slots_->save(serve::SlotPart::own, run.slot, end, kept(run.save, end));
  }

  /// Gives a request the slot that the scheduler found for its `state`. Errors: Errc::capacity_exceeded.
  [[nodiscard]] Result<void> resume(Owned<ActiveRequest>& request, Span<const std::byte> state) noexcept {
    serve::Arrival arrived = arrival(*request);
    arrived.shares = false;
    const std::uint32_t processed = request->sequence.processed;
    const serve::Handle handle = scheduler_->adopt(arrived, request->generated, processed);
    if (handle == 0) return fail(Errc::capacity_exceeded, "no slot is free, or too few pages are");
    take(handle, std::move(request));
    if (auto r = copy_shelved(); !r) return r;
    const std::uint32_t slot = scheduler_->state().requests[serve::row_of(handle)].slot;
    auto filled = claim(slot);
    slots_->place(slot, scheduler_->pages(slot));
    if (filled) filled = slots_->restore(serve::SlotPart::all, slot, processed, state);
    return filled;
  }

  // --- slots for work beside requests, which ends before the next step ---

  /// A free slot with clean state, or kNoSlot.
  [[nodiscard]] Result<std::uint32_t> acquire() noexcept {
    std::uint32_t slot = scheduler_->free_slot();
    while (slot != kNoSlot && owners_[slot] == kLent) slot = scheduler_->free_slot(slot + 1);
    if (slot == kNoSlot) return slot;
    if (auto r = copy_shelved(); !r) return pass(r);
    if (auto r = vacate(slot); !r) return pass(r);
    if (auto r = slots_->claim(slot); !r) return pass(r);
    owners_[slot] = kLent;
    return slot;
  }
  [[nodiscard]] Result<void> reserve(std::uint32_t slot, std::uint32_t positions) noexcept {
    const Span<std::uint32_t> pages = lent(slot);
    const std::uint32_t count = pages_for(positions);
    if (count > pages.size())
      return fail(Errc::capacity_exceeded, "a sequence of ", positions, " positions, at most ", context_, " expected");
    for (std::uint32_t i = 0; i < count; ++i) {
      if (pages[i] == serve::kNoPage) pages[i] = scheduler_->lend_page();
      if (pages[i] == serve::kNoPage)
        return fail(Errc::capacity_exceeded, count, " pages are needed, ", i, " are free");
    }
    slots_->place(slot, pages.first(count));
    return slots_->reserve_windows(slot, positions);
  }
  [[nodiscard]] Result<void> release(std::uint32_t slot) noexcept {
    for (std::uint32_t& page : lent(slot)) {
      if (page != serve::kNoPage) scheduler_->return_page(page);
      page = serve::kNoPage;
    }
    return vacate(slot);
  }
  [[nodiscard]] const std::uint32_t* pages() const noexcept { return slots_->pages(); }
  [[nodiscard]] Result<void> advance(const exec::Batch& batch) noexcept { return slots_->advance(batch); }

 private:
  template <class O>
  [[nodiscard]] Result<void> attach_slots(exec::Executor<B, O>& executor, const Allocator& allocator) noexcept {
    const exec::ExecutorSizes& sizes = executor.sizes();
    auto slots = serve::SlotTable<B>::make(executor.states(), executor.device(), executor.cache_groups(), sizes.slots,
                                           sizes.pages_per_slot, allocator);
    if (!slots) return pass(slots);
    slots_.emplace(std::move(*slots));
    return {};
  }
  /// Makes room for the texts that drafts are guessed from, where there are drafts.
  [[nodiscard]] Result<void> make_said(const Allocator& allocator) noexcept {
    const serve::SchedulerLimits& limits = scheduler_->state().limits;
    if (limits.draft_tokens == 0) return {};
    auto memory = serve::NgramMemory::make(limits.tenants, allocator);
    if (!memory) return pass(memory);
    said_.emplace(std::move(*memory));
    return {};
  }
  [[nodiscard]] Result<void> make_kept(const Allocator& allocator) noexcept {
    auto kept = Buffer::zeroed(allocator, kept_bytes_ * scheduler_->state().limits.checkpoints);
    if (!kept) return pass(kept);
    kept_ = std::move(*kept);
    return {};
  }

  [[nodiscard]] Result<void> make_shelf() noexcept {
    auto shelf = Buffer::zeroed(allocator_, shelved_bytes_ * scheduler_->state().limits.shelf);
    if (!shelf) return pass(shelf);
    shelved_ = std::move(*shelf);
    return {};
  }
  /// Copies the states of preempted requests out of their slots, before these are used again.
  [[nodiscard]] Result<void> copy_shelved() noexcept {
    return scheduler_->copy_shelved([this](const serve::ShelvedState& state) noexcept {
      return slots_->save(serve::SlotPart::shelved, state.slot, state.position, shelved(state.row, state.position));
    });
  }

  static constexpr serve::Handle kLent = ~serve::Handle{0};

  [[nodiscard]] serve::SchedulerLimits limits_of(const exec::ExecutorSizes& sizes,
                                                 const EngineOptions& options) const noexcept {
    serve::SchedulerLimits l;
    l.slots = sizes.slots;
    l.pages = sizes.pages;
    l.prefix_pages = options.prefix_pages;
    l.context = context_ + 1;  // the last token is never computed
    l.step_tokens = sizes.prefill_tokens;
    l.draft_tokens = options.draft_tokens;
    l.scored_rows = sizes.prefill_rows - sizes.slots;
    l.recurrent = slots_->bytes_of(serve::SlotPart::own, kPageTokens) != 0;
    l.shelf = l.recurrent ? l.slots : 0;
    l.goes_back = slots_->goes_back();
    l.checkpoints = l.recurrent && options.prefix_cache ? options.kept_states : 0;
    l.queue = options.queue;
    l.key = options.prefix_key;
    l.model = options.model;
    l.kv_type = static_cast<std::uint32_t>(options.kv_type);
    if (options.clock.now != nullptr) {
      l.slow_steps = 1;
      l.slow_ns = options.slow_client_ns;
    }
    return l;
  }

  [[nodiscard]] serve::StepEvent ask_session(serve::ArrivalKind kind, serve::Handle subject) noexcept {
    serve::Arrival a;
    a.kind = kind;
    a.subject = subject;
    return scheduler_->ask(a);
  }
  [[nodiscard]] static std::unexpected<Error> no_session(SessionId session) noexcept {
    return fail(Errc::not_found, "no open session of the tenant has id ", static_cast<std::uint64_t>(session));
  }

  /// Asks the scheduler. Errors: what it refuses, and why.
  [[nodiscard]] Result<serve::StepEvent> manage(serve::ArrivalKind kind, TenantId tenant,
                                                const TenantQuota& quota) noexcept {
    serve::Arrival a;
    a.kind = kind;
    a.subject = static_cast<serve::Handle>(tenant);
    a.quota = quota;
    const bool names_one = kind != serve::ArrivalKind::create_tenant;
    if (names_one && (a.subject == 0 || a.subject == host_))
      return fail(Errc::invalid_argument, "the host is a tenant that stays as it is; expected one that was created");
    if (kind != serve::ArrivalKind::remove_tenant)
      if (auto r = check(quota); !r) return pass(r);
    const serve::StepEvent answer = scheduler_->ask(a);
    if (answer.refusal == serve::Refusal::unknown_subject)
      return fail(Errc::not_found, "no tenant has id ", static_cast<std::uint64_t>(tenant));
    if (answer.refusal == serve::Refusal::reservation)
      return fail(Errc::capacity_exceeded, quota.reserved_pages,
                  " reserved pages do not fit beside those of others in ", scheduler_->state().limits.pages,
                  ", or leave an accepted request too few");
    if (answer.refusal != serve::Refusal::none)
      return fail(Errc::capacity_exceeded, "the tenant is refused: ", serve::name(answer.refusal));
    return answer;
  }

  /// One user has the machine to itself: no quota is below what the machine has, and nobody's prompts are cut for it.
  [[nodiscard]] Result<void> create_host() noexcept {
    serve::Arrival a;
    a.kind = serve::ArrivalKind::create_tenant;
    a.quota.max_slots = slot_count();
    a.quota.max_pages = scheduler_->state().limits.pages;
    a.quota.decode_tokens_per_s = a.quota.prefill_tokens_per_s = ~0u;
    a.quota.max_context = scheduler_->state().limits.context;
    a.quota.max_queued = scheduler_->state().limits.queue;
    a.quota.max_sessions = scheduler_->state().limits.sessions;
    a.quota.first_token_ns = a.quota.gap_ns = 0;
    a.quota.service = serve::ServiceClass::interactive;
    host_ = scheduler_->ask(a).subject;
    if (host_ == 0) return fail(Errc::capacity_exceeded, "the context has no room for a request");
    return {};
  }

  [[nodiscard]] Span<std::byte> kept(std::uint32_t row, std::uint32_t positions) noexcept {
    return kept_.span().subspan(row * kept_bytes_, bytes_of(serve::SlotPart::own, positions));
  }
  [[nodiscard]] Span<std::byte> shelved(std::uint32_t row, std::uint32_t positions) noexcept {
    return shelved_.span().subspan(row * shelved_bytes_, bytes_of(serve::SlotPart::shelved, positions));
  }
  [[nodiscard]] std::size_t bytes_of(serve::SlotPart part, std::uint32_t positions) const noexcept {
    return static_cast<std::size_t>(slots_->bytes_of(part, positions));
  }
  [[nodiscard]] Span<std::uint32_t> lent(std::uint32_t slot) noexcept {
    return lent_.span().subspan(std::size_t{slot} * pages_per_slot_, pages_per_slot_);
  }

  [[nodiscard]] Result<void> vacate(std::uint32_t slot) noexcept {
    owners_[slot] = 0;
    if (!slots_->is_used(slot)) return {};
    slots_->place(slot, {});
    return slots_->release(slot);
  }
  /// Hands a slot to the request that the scheduler has in it, with clean state.
  [[nodiscard]] Result<void> claim(std::uint32_t slot) noexcept {
    const serve::SlotRow& row = scheduler_->state().slots[slot];
    if (auto r = vacate(slot); !r) return r;
    if (row.request == 0) return {};
    const serve::RequestRow& r = scheduler_->state().requests[serve::row_of(row.request)];
    serve::Sequence& sequence = request(row.request)->sequence;
    sequence.slot = slot;
    sequence.processed = row.position;
    if (auto done = slots_->claim(slot); !done) return done;
    const std::uint32_t most = r.prompt + r.most;
    if (auto done = slots_->reserve_windows(slot, most < context_ ? most : context_); !done) return done;
    owners_[slot] = row.request;
    admitted_[slot] = scheduler_->state().work[slot].admitted;
    return {};
  }
  [[nodiscard]] Result<void> follow_owner(std::uint32_t slot) noexcept {
    const auto& state = scheduler_->state();
    const serve::Handle request = state.slots[slot].request;
    const bool known = request == owners_[slot] && (request == 0 || state.work[slot].admitted == admitted_[slot]);
    return known ? Result<void>{} : claim(slot);
  }

  Allocator allocator_;
  std::optional<serve::SlotTable<B>> slots_;
  std::optional<Scheduler> scheduler_;
  std::uint32_t context_ = 0;
  bool shares_prefixes_ = false;
  std::uint32_t pages_per_slot_ = 0;
  serve::Handle host_ = 0;
  std::size_t tenants_ = 0;  ///< beside the host
  bool has_paused_ = false;
  std::size_t taken_ = 0;
  std::size_t kept_bytes_ = 0;     ///< of a kept state
  std::size_t shelved_bytes_ = 0;  ///< of one on the shelf
  bool has_shelf_ = false;
  Vector<Owned<ActiveRequest>> requests_;
  Vector<Owned<ActiveRequest>> arriving_;
  UnreadRequests unread_;
  ArrivalTurns turns_;
  Vector<serve::Arrival> arrivals_;
  Vector<serve::Handle> owners_;    ///< by slot, as the slot table has them
  Vector<std::uint64_t> admitted_;  ///< by slot: the step in which its owner came
  Vector<serve::Sequence*> sequences_;
  Vector<std::uint32_t> cuts_;
  Vector<std::uint32_t> lent_;  ///< [slots][pages_per_slot]
  Buffer kept_;
  Buffer shelved_;
  std::optional<serve::NgramMemory> said_;  ///< of an engine that guesses
  std::optional<serve::Audit> audit_;       ///< in debug builds
  serve::WindowAudit window_audit_;         ///< the same
};

}  // namespace zrt::inline ZRT_ABI::detail
