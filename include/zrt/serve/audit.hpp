// SPDX-License-Identifier: Apache-2.0
// zrt/serve/audit.hpp: proves that a scheduler's tables agree with each other.
#pragma once

#include <zrt/serve/scheduler_state.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Whether hosts audit after each step: in debug builds.
#if defined(ZRT_DEBUG_CHECKS)
inline constexpr bool kAudits = true;
#else
inline constexpr bool kAudits = false;
#endif

/// Checks every invariant of pages, prefix tree, charges, slots and queues, from the tables alone.
///
/// It reads the tables and derives the sums anew; it takes a time that grows with pages and requests, so that a host
/// runs it in debug builds. The invariants of a pool of pages with references, where each is checked, and the rules
/// (rule.hpp) whose breach shows it:
///
///  1 a page is free, listed or cached, one of them: pages(); release_every_page
///  2 and these are all pages: pages(); release_every_page
///  3 references are the lists that name the page: pages(); release_once, pin_read_pages
///  4 a page of the tree is full, and nobody writes it: tree(), list(), runs(); full_pages_only
///  5 the page before one of the tree is in the tree: tree(), cached(); release_tail_first, evict_oldest
///  6 the tree's key is scope, model, type, cache group, adapter, page before and tokens: list(), tree(); compare_domain
///  7 a page's scope is that of every slot that lists it: list(); compare_scope
///  8 reservations and charges fit the pool, whose parts add up: tenants(); reservation_fits, floating_limit
///  9 a tenant's charge, with shared pages in full, is within its quota: tenants(); page_quota, uncharge_pages
/// 10 a list is as long as positions and guesses need: list(); drop_drafts, charge_drafts
/// 11 no page is twice in a list, and lists agree as far as they share: list(); remap_before_free, compare_parent
/// 12 pages before a window go back exactly once: WindowAudit, which the simulation runs, and its test
/// 13 nothing refers to a slot whose request has left: slots(), tenants(); uncharge_pages, end_with_tenant
/// 14 cached pages stand by the time of their release: cached(); release_tail_first
/// 15 a free page is not in the tree: pages(); forget_evicted
/// 16 a hit has the request's tokens: list(); compare_tokens
/// 17 a page that is none, or that nobody holds, is neither released, shared nor evicted: SharedPages counts; release_once
/// 18 kept states and pages of the tree name each other, shelved ones and requests: checkpoints(), shelf();
///    free_with_page, pin_checkpoint, clear_shelf
/// 19 all pages are forgotten only where no slot runs: Engine::evict refuses, its scheduler is held to it by the
///    simulation of several models (ModelRule::keep_running)
/// 20 without requests all pages are cached, and none once the cache is dropped: the simulation's end; release_every_page
/// 21 a run finds all of its pages or does not come about: pageless_runs; floating_limit, uncharge_pages
/// 22 pages that a run reads are its slot's until its outcome is known: pages(), runs(); pin_read_pages
class Audit {
 public:
  /// Scratch for schedulers of these sizes.
  [[nodiscard]] static Result<Audit> make(const SchedulerLimits& limits, const Allocator& allocator) noexcept {
    Audit a(allocator);
    if (auto r = a.listed_.resize(limits.pages); !r) return pass(r);
    if (auto r = a.seen_.resize(limits.pages); !r) return pass(r);
    if (auto r = a.charges_.resize(limits.tenants); !r) return pass(r);
    if (auto r = a.slots_.resize(limits.tenants); !r) return pass(r);
    if (auto r = a.unread_.resize(limits.tenants); !r) return pass(r);
    if (auto r = a.pins_.resize(limits.checkpoints); !r) return pass(r);
    return a;
  }

  template <class Rules> [[nodiscard]] Result<void> run(const SchedulerState<Rules>& s) noexcept {
    if (s.pages.misuses() != 0)
      return broken("a page that nobody held was released or shared, times ", s.pages.misuses());
    if (s.lost_events != 0) return broken("events were lost: ", s.lost_events);
    if (s.pageless_runs != 0) return broken("runs found no page in spite of their charge: ", s.pageless_runs);
    if (auto r = slots(s); !r) return r;
    if (auto r = pages(s); !r) return r;
    if (auto r = cached(s); !r) return r;
    if (auto r = tree(s); !r) return r;
    if (auto r = checkpoints(s); !r) return r;
    if (auto r = shelf(s); !r) return r;
    if (auto r = tenants(s); !r) return r;
    if (auto r = requests(s); !r) return r;
    return runs(s);
  }

 private:
  explicit Audit(const Allocator& a) noexcept : listed_(a), seen_(a), charges_(a), slots_(a), unread_(a), pins_(a) {}

  template <class... Pieces> [[nodiscard]] static Result<void> broken(Pieces... pieces) noexcept {
    return fail(Errc::invalid_state, pieces...);
  }

  /// Slots and their page lists: as long as the position says, of their tenant's scope, no page twice.
  template <class Rules> [[nodiscard]] Result<void> slots(const SchedulerState<Rules>& s) noexcept {
    for (std::uint32_t& n : listed_) n = 0;
    for (std::uint32_t& n : seen_) n = kNone;
    for (std::uint64_t& n : charges_) n = 0;
    for (std::uint32_t& n : slots_) n = 0;
    for (std::uint32_t& n : unread_) n = 0;
    for (std::uint32_t& n : pins_) n = 0;
    for (std::uint32_t slot = 0; slot < s.slots.size(); ++slot) {
      const SlotRow& row = s.slots[slot];
      const SlotWork& w = s.work[slot];
      if (w.floor && slot != s.floor_slot) return broken("slot ", slot, " holds a floor that is another's");
      if (w.request == kNone) {
        if (!(row == SlotRow{}) || w.charge != 0 || w.load != kNone || w.shelf != kNone)
          return broken("free slot ", slot, " holds something");
        continue;
      }
      const RequestRow& r = s.requests[w.request];
      if (r.stage != RequestStage::running || r.slot != slot || row.request != s.request_handle(w.request) ||
          row.tenant != s.tenant_handle(r.tenant) || !s.tenants[r.tenant].live || row.model != s.limits.model ||
          row.adapter != r.adapter)
        return broken("slot ", slot, " runs a request that is not its own");
      const Handle session = r.session == kNone ? 0 : handle_of(r.session, s.sessions[r.session].generation);
      if (row.session != session || row.prompt_tokens != r.prompt || row.generated_tokens != r.generated ||
          row.priority != static_cast<std::uint32_t>(s.tenants[r.tenant].quota.service))
        return broken("slot ", slot, " shows what its request is not");
      ++slots_[r.tenant];
      charges_[r.tenant] += w.charge;
      if (w.load != kNone) ++pins_[w.load];
      if (auto checked = list(s, slot); !checked) return checked;
    }
    if (s.floor_slot != kNone && (s.work[s.floor_slot].request == kNone || !s.work[s.floor_slot].floor))
      return broken("the floor is a slot that does not hold it");
    return {};
  }

  template <class Rules> [[nodiscard]] Result<void> list(const SchedulerState<Rules>& s, std::uint32_t slot) noexcept {
    const SlotRow& row = s.slots[slot];
    const SlotWork& w = s.work[slot];
    const RequestRow& r = s.requests[w.request];
    const PrefixScope scope = s.domain(w.request).scope;
    std::uint32_t end = row.position;
    std::uint32_t drafts = 0;
    for (const PlannedRun& run : s.runs)
      if (run.slot == slot) {
        end = run.begin + run.count;
        drafts = run.drafts;
      }
    if (row.speculative_tokens != drafts)
      return broken("slot ", slot, " has ", row.speculative_tokens, " guesses, its run ", drafts);
    if (row.pages != pages_for(end))
      return broken("slot ", slot, " lists ", row.pages, " pages for ", end, " positions");
    const bool whole =
        s.tenants[r.tenant].quota.service == ServiceClass::interactive || r.preemptions >= 2 || w.complete_charge;
    if (whole && w.charge < s.need(r))
      return broken("slot ", slot, " has ", w.charge, " pages set aside of ", s.need(r));
    if (row.pages > w.charge) return broken("slot ", slot, " lists more pages than its charge, ", w.charge);
    if (w.in_tree > row.pages || w.in_tree * kPageTokens > row.position)
      return broken("slot ", slot, " shares pages that are not full");
    if (r.shares && w.in_tree != row.position / kPageTokens)
      return broken("slot ", slot, " keeps full pages for itself");
    for (std::uint32_t i = 0; i < row.pages; ++i) {
      const std::uint32_t page = s.list(slot)[i];
      if (page >= s.pages.size()) return broken("slot ", slot, " lists a page that is not there");
      if (seen_[page] == slot) return broken("slot ", slot, " lists page ", page, " twice");
      seen_[page] = slot;
      ++listed_[page];
      const PageMeta& m = s.pages.meta()[page];
      if (m.scope != scope) return broken("slot ", slot, " lists page ", page, " of another scope");
      if (i < w.in_tree) {
        if (!s.tree.contains(page) || s.tree.parent(page) != (i == 0 ? kNone : s.list(slot)[i - 1]) ||
            !(s.tree.domain(page) == s.domain(w.request)))
          return broken("page ", i, " of slot ", slot, " is not where the tree has it");
        for (std::uint32_t t = 0; t < kPageTokens; ++t)
          if (s.tree.tokens(page)[t] != r.tokens[i * kPageTokens + t])
            return broken("page ", i, " of slot ", slot, " holds other tokens than the request");
      } else if (s.tree.contains(page) || m.references != 1 || m.owner_slot != slot) {
        return broken("slot ", slot, " writes page ", page, ", which others may read");
      } else {
        const std::uint32_t left = row.position > i * kPageTokens ? row.position - i * kPageTokens : 0;
        if (m.tokens != (left < kPageTokens ? left : kPageTokens))
          return broken("page ", page, " tells of ", m.tokens, " tokens and slot ", slot, " of ", left);
      }
    }
    return {};
  }

  /// Each page is free, listed or cached; its references are the lists that name it.
  template <class Rules> [[nodiscard]] Result<void> pages(const SchedulerState<Rules>& s) noexcept {
    std::uint32_t used = 0;
    std::uint32_t cached = 0;
    for (std::uint32_t page = 0; page < s.pages.size(); ++page) {
      const PageMeta& m = s.pages.meta()[page];
      if (m.references != listed_[page])
        return broken("page ", page, " has ", m.references, " references and is in ", listed_[page], " lists");
      used += m.references != 0 ? 1u : 0u;
      cached += s.pages.is_cached(page) ? 1u : 0u;
      if (m.references != 0 && s.pages.is_cached(page)) return broken("page ", page, " is listed and cached");
      if (m.references == 0 && !s.pages.is_cached(page) && s.tree.contains(page))
        return broken("free page ", page, " is in the tree");
      if (m.references == 0 && !s.pages.is_cached(page) && (m.scope != 0 || m.owner_slot != kNone || m.tokens != 0))
        return broken("free page ", page, " is somebody's");
    }
    for (const std::uint32_t page : s.pages.free_pages()) {
      if (seen_[page] == kNone - 1) return broken("page ", page, " is free twice");
      if (listed_[page] != 0 || s.pages.is_cached(page)) return broken("page ", page, " is free and in use");
      seen_[page] = kNone - 1;
    }
    const std::size_t sum = s.pages.free_pages().size() + used + cached;
    if (sum != s.pages.size()) return broken("free, listed and cached pages are ", sum, " of ", s.pages.size());
    if (cached != s.pages.cached()) return broken("the list of cached pages has ", s.pages.cached(), " of ", cached);
    return {};
  }

  /// Cached pages stand in the order of their release, children before parents, and of scopes that are alive.
  template <class Rules> [[nodiscard]] Result<void> cached(const SchedulerState<Rules>& s) noexcept {
    std::uint64_t last = 0;
    std::uint32_t count = 0;
    std::uint32_t before = kNone;
    for (std::uint32_t page = s.pages.oldest(); page != kNone; before = page, page = s.pages.after(page)) {
      if (++count > s.pages.size()) return broken("the list of cached pages is a ring");
      if (s.pages.before(page) != before) return broken("cached page ", page, " is behind another");
      if (s.pages.released(page) <= last) return broken("page ", page, " is cached out of order");
      last = s.pages.released(page);
      if (!s.tree.contains(page)) return broken("cached page ", page, " is not in the tree");
      const std::uint32_t parent = s.tree.parent(page);
      if (parent != kNone && s.pages.is_cached(parent) && s.pages.released(parent) < last)
        return broken("page ", parent, " would be evicted before its child ", page);
      bool alive = false;
      for (std::uint32_t t = 0; t < s.tenants.size(); ++t)
        alive = alive || (s.tenants[t].live && s.tenants[t].scope(t) == s.pages.meta()[page].scope);
      const PrefixScope scope = s.pages.meta()[page].scope;
      const bool own = (scope & kRequestScope) != 0 && s.find_request(scope & ~kRequestScope) != kNone;
      if (!alive && !own) return broken("page ", page, " is of a tenant or a request that is gone");
    }
    if (s.pages.newest() != before) return broken("the list of cached pages ends elsewhere");
    return {};
  }

  /// The parent of a node is a node; all nodes are found by their tokens; none is unaccounted for.
  template <class Rules> [[nodiscard]] Result<void> tree(const SchedulerState<Rules>& s) noexcept {
    std::uint32_t count = 0;
    for (std::uint32_t page = 0; page < s.pages.size(); ++page) {
      if (!s.tree.contains(page)) continue;
      ++count;
      const std::uint32_t parent = s.tree.parent(page);
      const PrefixDomain& domain = s.tree.domain(page);
      if (s.pages.meta()[page].tokens != kPageTokens) return broken("page ", page, " is in the tree and not full");
      if (s.pages.meta()[page].owner_slot != kNone) return broken("page ", page, " is in the tree and may be written");
      if (s.pages.meta()[page].scope != domain.scope) return broken("page ", page, " is in the tree of another scope");
      if (domain.model != s.limits.model || domain.kv_type != s.limits.kv_type || domain.cache_group != 0)
        return broken("page ", page, " is in the tree of another model");
      if (parent != kNone && !s.tree.contains(parent)) return broken("page ", page, " continues one that is gone");
      if (parent != kNone && !(s.tree.domain(parent) == domain)) return broken("page ", page, " continues another's");
      if (parent != kNone && s.pages.meta()[page].references > 0 && s.pages.meta()[parent].references == 0)
        return broken("page ", page, " is listed without the page before it");
      if (s.tree.find(domain, parent, s.tree.tokens(page).data()) != page)
        return broken("page ", page, " is not found by its tokens");
    }
    if (count != s.tree.size()) return broken("the tree has ", s.tree.size(), " pages of ", count);
    return {};
  }

  /// A kept state and its page name each other; pins are the slots that will load it.
  template <class Rules> [[nodiscard]] Result<void> checkpoints(const SchedulerState<Rules>& s) noexcept {
    std::uint32_t writing = 0;
    const auto rows = s.checkpoints.rows();
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      const Checkpoints::Row& row = rows[i];
      if (row.pins != pins_[i]) return broken("state ", i, " has ", row.pins, " pins for ", pins_[i], " slots");
      writing += row.use == Checkpoints::Use::writing ? 1u : 0u;
      if (row.use != Checkpoints::Use::bound) {
        if (row.pins != 0) return broken("state ", i, " will be loaded and is not there");
        continue;
      }
      if (!s.tree.contains(row.page) || s.tree.checkpoint(row.page) != i)
        return broken("state ", i, " is of page ", row.page, ", which has none");
    }
    for (std::uint32_t page = 0; page < s.pages.size(); ++page) {
      const std::uint32_t i = s.tree.checkpoint(page);
      if (i != kNone && (rows[i].use != Checkpoints::Use::bound || rows[i].page != page))
        return broken("page ", page, " has a state that is another's");
    }
    for (std::uint32_t slot = 0; slot < s.slots.size(); ++slot) {
      const SlotWork& w = s.work[slot];
      const std::uint32_t border = s.slots[slot].position / kPageTokens;
      if (w.load != kNone && (border == 0 || rows[w.load].page != s.list(slot)[border - 1]))
        return broken("slot ", slot, " will load a state of another position");
      if (s.hybrid() && w.load == kNone && w.shelf == kNone && w.request != kNone &&
          s.slots[slot].position == w.entered_at && s.slots[slot].position != 0)
        return broken("slot ", slot, " begins at ", s.slots[slot].position, " without a state");
    }
    for (const PlannedRun& run : s.runs) writing -= run.save != kNone ? 1u : 0u;
    if (writing != 0) return broken("states that no run writes: ", writing);
    return {};
  }

  /// A shelved state and the request that left it name each other; a slot loads that of its request.
  template <class Rules> [[nodiscard]] Result<void> shelf(const SchedulerState<Rules>& s) noexcept {
    const auto rows = s.shelf.rows();
    for (std::uint32_t i = 0; i < rows.size(); ++i)
      if (rows[i].request != kNone && s.requests[rows[i].request].shelf != i)
        return broken("row ", i, " of the shelf is of a request that does not know of it");
    for (std::uint32_t i = 0; i < s.requests.size(); ++i) {
      const RequestRow& r = s.requests[i];
      if (r.shelf != kNone && (!r.goes_on() || rows[r.shelf].request != i || rows[r.shelf].position >= r.known()))
        return broken("request ", i, " has a state on the shelf that is not its own");
    }
    for (std::uint32_t slot = 0; slot < s.slots.size(); ++slot) {
      const SlotWork& w = s.work[slot];
      if (w.request == kNone) continue;
      if (w.shelf != s.requests[w.request].shelf || (w.shelf != kNone && w.load != kNone) ||
          (w.shelf != kNone && rows[w.shelf].position != s.slots[slot].position))
        return broken("slot ", slot, " will load a shelved state of another request or position");
    }
    for (const ShelvedState& copy : s.shelf.copies())
      if (rows[copy.row].request == kNone) return broken("a copy is wanted of a state that nobody left");
    return {};
  }

  /// Quotas hold, and the parts of the pool add up.
  template <class Rules> [[nodiscard]] Result<void> tenants(const SchedulerState<Rules>& s) noexcept {
    std::uint64_t open = 0;
    std::uint64_t sessions = 0;
    for (const SessionRow& session : s.sessions) open += session.tenant != kNone ? 1u : 0u;
    for (const TenantRow& row : s.tenants) sessions += row.live ? row.sessions : 0u;
    if (open != sessions) return broken("open sessions are ", open, ", counted ", sessions);
    std::uint64_t reserved = 0;
    std::uint64_t floating = 0;
    for (std::uint32_t t = 0; t < s.tenants.size(); ++t) {
      const TenantRow& row = s.tenants[t];
      if (!row.live) {
        if (slots_[t] != 0 || row.queued != 0 || row.charge != 0)
          return broken("tenant ", t, " is gone and holds something");
        continue;
      }
      if (row.charge != charges_[t]) return broken("tenant ", t, " is charged ", row.charge, " pages of ", charges_[t]);
      if (row.slots != slots_[t]) return broken("tenant ", t, " has ", row.slots, " slots of ", slots_[t]);
      if (!row.decoded.adds_up() || !row.prefilled.adds_up()) return broken("a rate of tenant ", t, " is miscounted");
      if (row.charge > row.quota.max_pages)
        return broken("tenant ", t, " has ", row.charge, " pages of ", row.quota.max_pages);
      if (row.slots > row.quota.max_slots)
        return broken("tenant ", t, " has ", row.slots, " slots of ", row.quota.max_slots);
      reserved += row.quota.reserved_pages;
      floating += PageBudget::over(row.charge, row.quota.reserved_pages);
    }
    if (reserved != s.budget.reserved() || floating != s.budget.floating_used())
      return broken("the budget has ", s.budget.reserved(), " reserved and ", s.budget.floating_used(),
                    " floating pages");
    if (reserved + s.budget.prefix() > s.budget.total() || floating > s.budget.floating())
      return broken("charges exceed the pool: ", floating, " floating pages of ", s.budget.floating());
    return {};
  }

  /// Each request is in one place; queues are in order of arrival.
  template <class Rules> [[nodiscard]] Result<void> requests(const SchedulerState<Rules>& s) noexcept {
    std::uint32_t waiting = 0;
    std::uint32_t running = 0;
    std::uint32_t live = 0;
    std::uint32_t held = 0;
    for (const RequestRow& r : s.requests) {
      if (r.stage == RequestStage::free) continue;
      ++live;
      waiting += r.stage == RequestStage::waiting ? 1u : 0u;
      running += r.stage == RequestStage::running ? 1u : 0u;
      held += r.holds_token ? 1u : 0u;
      if (r.stage == RequestStage::draining || r.stage == RequestStage::parked) ++unread_[r.tenant];
      if (r.stage == RequestStage::parked && !r.holds_token)
        return broken("a request is parked that its client has read");
      const TenantQuota& quota = s.tenants[r.tenant].quota;
      if (!s.tenants[r.tenant].live) return broken("a request of a tenant that is gone");
      if (r.session != kNone && s.sessions[r.session].tenant != r.tenant)
        return broken("a request of a session that is closed");
      if (r.stage != RequestStage::running && r.slot != kNone) return broken("a request names slot ", r.slot);
      if (r.stage != RequestStage::draining && std::uint64_t{r.prompt} + r.most > quota.max_context)
        return broken("a request of ", r.prompt + r.most, " tokens, of ", quota.max_context,
                      " that its tenant may have");
      if (r.generated - r.delivered != (r.holds_token && !r.tells() ? 1u : 0u))
        return broken("a request has ", r.generated, " tokens and delivered ", r.delivered);
      if (r.stage == RequestStage::running && s.work[r.slot].request >= s.requests.size())
        return broken("a running request has no slot");
    }
    std::uint32_t queued = 0, unread = 0;
    for (std::uint32_t t = 0; t < s.tenants.size(); ++t) {
      std::uint32_t count = 0;
      std::uint64_t last = 0;
      for (std::uint32_t i = s.tenants[t].first; i != kNone; i = s.requests[i].next) {
        if (++count > s.requests.size()) return broken("the queue of tenant ", t, " is a ring");
        if (s.requests[i].stage != RequestStage::waiting || s.requests[i].tenant != t || s.requests[i].sequence <= last)
          return broken("the queue of tenant ", t, " is out of order");
        last = s.requests[i].sequence;
      }
      if (unread_[t] != s.tenants[t].unread)
        return broken("tenant ", t, " has ", s.tenants[t].unread, " unread answers of ", unread_[t]);
      if (count != s.tenants[t].queued) return broken("tenant ", t, " has ", s.tenants[t].queued, " queued of ", count);
      queued += count;
      unread += unread_[t];
    }
    if (unread != s.unread) return broken("unread answers are ", unread, ", counted ", s.unread);
    std::uint32_t busy = 0;
    for (const SlotWork& w : s.work) busy += w.request != kNone ? 1u : 0u;
    if (queued != waiting || s.queued != queued)
      return broken("requests wait outside of queues: ", waiting, " of ", queued);
    if (busy != running) return broken("running requests are ", running, " in ", busy, " slots");
    if (live + s.free_requests.size() != s.requests.size()) return broken("rows of requests are lost");
    if (held != s.held) return broken("requests that hold a token are ", held, ", counted ", s.held);
    return {};
  }

  /// The runs of the step in the making read slots that are there, in order, within the limits.
  template <class Rules> [[nodiscard]] Result<void> runs(const SchedulerState<Rules>& s) noexcept {
    std::uint32_t tokens = 0;
    std::uint32_t drafts = 0;
    for (std::uint32_t i = 0; i < s.runs.size(); ++i) {
      const PlannedRun& run = s.runs[i];
      tokens += run.count;
      drafts += run.drafts;
      const SlotWork& w = s.work[run.slot];
      if (w.request == kNone || run.request != s.slots[run.slot].request)
        return broken("run ", i, " is of an ended request");
      const RequestRow& r = s.requests[w.request];
      if (run.begin != s.slots[run.slot].position || run.count <= run.drafts ||
          run.begin + run.count - run.drafts > r.known())
        return broken("run ", i, " is not the next of its slot");
      if (run.tokens != r.tokens + run.begin) return broken("run ", i, " reads tokens of another request");
      if (run.load != w.load || run.shelf != w.shelf) return broken("run ", i, " loads a state that its slot does not");
      if (run.drafts != 0 &&
          (!run.sample || s.one_way() || run.save != kNone || run.begin + run.count >= r.prompt + r.most))
        return broken("run ", i, " has drafts where none may be");
      if (run.begin / kPageTokens < w.in_tree) return broken("run ", i, " writes a page of the tree");
      if (run.save != kNone && (run.begin + run.count) % kPageTokens != 0)
        return broken("run ", i, " keeps a state inside of a page");
      for (std::uint32_t j = 0; j < i; ++j)
        if (s.runs[j].slot == run.slot) return broken("slot ", run.slot, " has two runs");
    }
    if (tokens > s.limits.step_tokens) return broken("a step of ", tokens, " tokens");
    if (drafts > s.limits.draft_tokens) return broken("a step of ", drafts, " drafts");
    return {};
  }

  Vector<std::uint32_t> listed_;
  Vector<std::uint32_t> seen_;
  Vector<std::uint64_t> charges_;
  Vector<std::uint32_t> slots_;
  Vector<std::uint32_t> unread_;
  Vector<std::uint32_t> pins_;
};

}  // namespace zrt::inline ZRT_ABI::serve
