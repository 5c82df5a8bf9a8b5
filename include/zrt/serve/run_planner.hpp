// SPDX-License-Identifier: Apache-2.0
// zrt/serve/run_planner.hpp: which tokens the machine computes in a step.
#pragma once

#include <zrt/serve/prompt_room.hpp>
#include <zrt/serve/victims.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Plans the runs of a step: a token of each slot that decodes, then prompts.
///
/// Every decoding slot is in every step, unless its client holds a token unread or its tenant's rate is used up. What
/// is left goes to prompts in turns of 64 tokens, or of a sixteenth where that is more: the floor's share first, then
/// by class, and in a class by service. The prompts of a tenant take turns. Prompts keep to the targets of requests of
/// their class and of higher ones, to the budgets of tenants (FirstTokens), and beside an interactive answer those of
/// lower classes to lower_room(). Where no prompt is read, slots that decode read their drafts, as many as such an
/// answer bears. A prompt whose logits the host reads has a row of its own in each step, and shares
/// SchedulerLimits::scored_rows more with others of its kind.
template <class Rules> class RunPlanner {
 public:
  explicit RunPlanner(SchedulerState<Rules>& state) noexcept : s_(state) {}

  /// Fills `runs`. At most `prompt_tokens` are of prompts, but never fewer than 16 where there are as many, and 32 beside
  /// the floor's prompt. Where an interactive request decodes, both hold for interactive prompts alone. `cuts` of prompts,
  /// by slot, go before all that. `drafts`, by slot, are copied behind the tokens that are known.
  void run(std::uint32_t prompt_tokens, Span<const std::uint32_t> cuts, Span<const Draft> drafts) noexcept {
    s_.runs.clear();
    used_ = 0;
    cuts_ = cuts;
    drafts_ = reads_prompts() ? Span<const Draft>{} : drafts;
    rows_left_ = s_.limits.scored_rows;
    for (std::uint32_t slot = 0; slot < s_.slots.size(); ++slot)
      if (decodes(slot)) make_room(slot);
    drafts_left_ = draft_room();
    if (s_.keeps(Rule::decode_first)) {
      decode();
      prefill(prompt_tokens);
    } else {
      prefill(prompt_tokens);
      decode();
    }
  }

  /// Whether a slot can compute its next token now.
  [[nodiscard]] static bool can_decode(const SchedulerState<Rules>& s, std::uint32_t slot) noexcept {
    if (s.work[slot].request == kNone || s.slots[slot].stage != SlotStage::decode) return false;
    const RequestRow& r = s.requests[s.work[slot].request];
    const TenantRow& t = s.tenants[r.tenant];
    return !r.holds_token && (!s.keeps(Rule::decode_rate) || t.decoded.room(t.quota.decode_tokens_per_s) != 0);
  }
  [[nodiscard]] static bool can_prefill(const SchedulerState<Rules>& s, std::uint32_t slot) noexcept {
    if (s.work[slot].request == kNone || s.slots[slot].stage != SlotStage::prefill) return false;
    const RequestRow& r = s.requests[s.work[slot].request];
    return !r.holds_token && prefill_room(s, r.tenant) != 0;
  }

 private:
  /// Tokens of a turn where prompts have `room`: a step of thousands of tokens looks at its slots no more often.
  [[nodiscard]] static constexpr std::uint32_t turn_of(std::uint32_t room) noexcept {
    constexpr std::uint32_t kLeast = 64, kMostTurns = 16;
    return room / kMostTurns > kLeast ? room / kMostTurns : kLeast;
  }

  [[nodiscard]] static std::uint32_t prefill_room(const SchedulerState<Rules>& s, std::uint32_t tenant) noexcept {
    const TenantRow& t = s.tenants[tenant];
    return s.keeps(Rule::prefill_rate) ? t.prefilled.room(t.quota.prefill_tokens_per_s) : ~0u;
  }
  [[nodiscard]] bool decodes(std::uint32_t slot) const noexcept { return can_decode(s_, slot); }

  /// Raises a slot's charge by the page that its next token begins, or preempts: another, or itself.
  void make_room(std::uint32_t slot) noexcept {
    while (pages_for(s_.slots[slot].position + 1) > s_.work[slot].charge) {
      const std::uint32_t tenant = s_.requests[s_.work[slot].request].tenant;
      const TenantRow& t = s_.tenants[tenant];
      const bool own = s_.keeps(Rule::page_quota) && t.charge + 1 > t.quota.max_pages;
      const bool floating =
          s_.keeps(Rule::floating_limit) && t.charge + 1 > t.quota.reserved_pages && s_.budget.floating_left() == 0;
      if (!own && !floating) {
        s_.set_charge(slot, s_.work[slot].charge + 1);
        return;
      }
      const std::uint32_t victim = first_to_yield(s_, [&](std::uint32_t other) {
        if (other == slot) return true;
        if (s_.work[other].floor || s_.work[other].admitted == s_.step) return false;
        const bool yields = !s_.work[other].complete_charge || !s_.keeps(Rule::keep_set_aside);
        if (own) return yields && s_.requests[s_.work[other].request].tenant == tenant;
        const bool lower = s_.slots[other].priority > s_.slots[slot].priority;
        const bool equal = s_.slots[other].priority == s_.slots[slot].priority && yields;
        return (lower || equal) && holds_floating(s_, other);
      });
      s_.preempt(victim);
      if (victim == slot) return;
    }
  }

  /// Gives each slot that decodes its token. A tenant's slots have them in turn where its rate does not suffice for all:
  /// the first is the one behind that which had the last.
  void decode() noexcept {
    for (TenantRow& t : s_.tenants) t.first_decode = t.next_decode;
    const auto count = static_cast<std::uint32_t>(s_.slots.size());
    for (std::uint32_t i = 0; i < 2 * count; ++i) {
      const std::uint32_t slot = i % count;
      if (!decodes(slot) || (s_.keeps(Rule::token_cap) && used_ == s_.limits.step_tokens)) continue;
      TenantRow& t = s_.tenants[s_.requests[s_.work[slot].request].tenant];
      if ((slot >= t.first_decode) != (i < count)) continue;
      add_run(slot, 1, true, take_drafts(slot));
      if (s_.keeps(Rule::turns_in_rate)) t.next_decode = slot + 1;
    }
  }

  [[nodiscard]] bool has_run(std::uint32_t slot) const noexcept {
    for (const PlannedRun& run : s_.runs)
      if (run.slot == slot) return true;
    return false;
  }
  [[nodiscard]] bool reads_prompts() const noexcept {
    for (std::uint32_t slot = 0; slot < s_.slots.size(); ++slot)
      if (can_prefill(s_, slot)) return true;
    return false;
  }

  /// Copies a slot's drafts behind its known tokens: as many as the step, its charge, its tenant's rate and the answer
  /// have room for. State that is rewritten token by token cannot go back, and a client that does not read gets no two
  /// tokens at once.
  [[nodiscard]] std::uint32_t take_drafts(std::uint32_t slot) noexcept {
    if (slot >= drafts_.size() || s_.one_way()) return 0;
    const SlotWork& w = s_.work[slot];
    const RequestRow& r = s_.requests[w.request];
    const TenantRow& t = s_.tenants[r.tenant];
    if (r.client_blocked) return 0;
    const std::uint32_t charged = s_.keeps(Rule::charge_drafts) ? w.charge : s_.list_pages;
    std::uint32_t count = drafts_[slot].count;
    for (const std::uint32_t most :
         {drafts_left_, r.most - r.generated - 1, charged * kPageTokens - s_.slots[slot].position - 1,
          t.decoded.room(t.quota.decode_tokens_per_s) - 1})
      count = count < most ? count : most;
    for (std::uint32_t i = 0; i < count; ++i) r.tokens[r.known() + i] = drafts_[slot].tokens[i];
    drafts_left_ -= count;
    return count;
  }

  void prefill(std::uint32_t prompt_tokens) noexcept {
    for (std::uint32_t& share : s_.shares) share = 0;
    const std::uint32_t timely = set_room(prompt_tokens);
    const bool floor = s_.floor_slot != kNone && can_prefill(s_, s_.floor_slot) && s_.keeps(Rule::floor_prompt);
    const std::uint32_t least = kPageTokens + (floor ? floor_room(0, left(s_.floor_slot)) : 0);
    std::uint32_t room = timely > least ? timely : least;
    const std::uint32_t unused = s_.limits.step_tokens > used_ ? s_.limits.step_tokens - used_ : 0;
    if (room > unused && s_.keeps(Rule::token_cap)) room = unused;
    if (!cuts_.empty())
      follow(room);
    else
      share(room, floor);
    for (std::uint32_t slot = 0; slot < s_.slots.size(); ++slot)
      if (s_.shares[slot] != 0) add_run(slot, s_.shares[slot], false);
  }

  /// Finds what each class may read of its prompts, where a step bears `prompt_tokens`; gives what fits the targets of
  /// requests.
  [[nodiscard]] std::uint32_t set_room(std::uint32_t prompt_tokens) noexcept {
    left_ = {~0u, ~0u, ~0u};
    if (!cuts_.empty()) return prompt_tokens;
    const SlotLoad all = load();
    if (s_.keeps(Rule::first_token)) {
      FirstTokens wanted;
      for (const TenantRow& t : s_.tenants)
        if (t.live) wanted.add(t.quota);
      left_ = wanted.room(s_.pace, all.tokens);
    }
    const std::uint32_t timely = s_.pace.within(all.target[0], all.tokens, prompt_tokens);
    for (std::size_t c = 1; c < kServiceClasses; ++c) {
      const std::uint32_t own = s_.pace.within(all.target[c], all.tokens, ~0u);
      const std::uint32_t most = own > 2 * kPageTokens ? own : 2 * kPageTokens;
      left_[c] = left_[c] < most ? left_[c] : most;
    }
    if (!s_.keeps(Rule::even_gaps)) return timely;
    const std::uint32_t beside = s_.pace.beside(all.gap);
    const std::uint32_t lower = lower_room(timely < beside ? timely : beside, all);
    left_[1] = left_[1] < lower ? left_[1] : lower;
    return timely;
  }

  static void least(std::uint64_t& of_all, std::uint64_t own) noexcept {
    if (own != 0 && (of_all == 0 || own < of_all)) of_all = own;
  }
  void ask(SlotLoad& all, std::uint32_t slot) const noexcept {
    if (!s_.keeps(Rule::step_target)) return;
    least(all.target[s_.slots[slot].priority], s_.requests[s_.work[slot].request].step_latency);
  }
  /// Counts a slot that decodes.
  void answer(SlotLoad& all, std::uint32_t slot, std::uint32_t tokens) const noexcept {
    ++all.decoding;
    all.tokens += tokens;
    ask(all, slot);
    if (is_lower(slot)) return;
    all.answers = true;
    least(all.gap, latency_budget(s_.tenants[s_.requests[s_.work[slot].request].tenant].quota).gap);
  }
  /// Of the step so far: its runs are those that decode. What waits for its client or its rate asks for nothing.
  [[nodiscard]] SlotLoad load() const noexcept {
    SlotLoad all;
    for (std::uint32_t slot = 0; slot < s_.slots.size(); ++slot) {
      all.busy += s_.work[slot].request != kNone ? 1u : 0u;
      if (can_prefill(s_, slot)) ask(all, slot);
    }
    for (const PlannedRun& run : s_.runs) answer(all, run.slot, run.count);
    return all;
  }
  /// Drafts of a step without prompts. They stretch the gaps of an interactive answer no more than prompts may.
  [[nodiscard]] std::uint32_t draft_room() const noexcept {
    if (drafts_.empty() || !s_.keeps(Rule::even_drafts)) return s_.limits.draft_tokens;
    SlotLoad all;
    for (std::uint32_t slot = 0; slot < s_.slots.size(); ++slot) {
      all.busy += s_.work[slot].request != kNone ? 1u : 0u;
      if (decodes(slot)) answer(all, slot, 1);
    }
    const std::uint32_t timely = s_.pace.within(all.target[0], all.tokens, ~0u);
    const std::uint32_t beside = s_.pace.beside(all.gap);
    const std::uint32_t room = lower_room(timely < beside ? timely : beside, all);
    return room < s_.limits.draft_tokens ? room : s_.limits.draft_tokens;
  }
  /// What a slot's class may still read: its own share, and those of the classes above, of which it is a part.
  [[nodiscard]] std::uint32_t left(std::uint32_t slot) const noexcept {
    std::uint32_t least = left_[0];
    for (std::size_t c = 1; c <= s_.slots[slot].priority; ++c) least = left_[c] < least ? left_[c] : least;
    return least;
  }
  [[nodiscard]] bool is_lower(std::uint32_t slot) const noexcept {
    return s_.slots[slot].priority != static_cast<std::uint32_t>(ServiceClass::interactive);
  }

  /// Gives each slot what its cut says.
  void follow(std::uint32_t room) noexcept {
    for (std::uint32_t slot = 0; slot < s_.slots.size() && slot < cuts_.size(); ++slot)
      if (can_prefill(s_, slot)) room -= give(slot, cuts_[slot], room);
  }

  /// Shares `room` tokens out in turns, the floor's first.
  void share(std::uint32_t room, bool floor) noexcept {
    const std::uint32_t most = turn_of(room);
    if (floor) room -= give(s_.floor_slot, floor_room(room, left(s_.floor_slot)), room);
    while (room != 0) {
      const std::uint32_t slot = next();
      if (slot == kNone) break;
      room -= give(slot, most, room);
    }
  }

  /// Tokens that a slot may still be given in this step.
  [[nodiscard]] std::uint32_t wanted(std::uint32_t slot) const noexcept {
    const RequestRow& r = s_.requests[s_.work[slot].request];
    std::uint32_t end = run_end(slot, r.known());
    const TenantRow& t = s_.tenants[r.tenant];
    // What a slot was given already is counted.
    const bool counted = s_.slots[slot].position + s_.shares[slot] == end;
    if (answers_again(r, end) && !counted && t.decoded.room(t.quota.decode_tokens_per_s) == 0) --end;
    std::uint32_t left = end - s_.slots[slot].position;
    if (r.tells() && s_.keeps(Rule::cap_rows)) {
      const std::uint64_t rows = std::uint64_t{read_before(slot)} + 1 + shared_rows(slot, s_.shares[slot]) + rows_left_;
      left = rows < left ? static_cast<std::uint32_t>(rows) : left;
    }
    return left > s_.shares[slot] ? left - s_.shares[slot] : 0;
  }
  /// Whether reading a prompt up to `end` brings a token behind the first one, of a preempted request: it counts against the
  /// rate of answers like any other.
  [[nodiscard]] bool answers_again(const RequestRow& r, std::uint32_t end) const noexcept {
    return s_.keeps(Rule::resume_rate) && r.generated != 0 && end == r.known();
  }
  /// Tokens ahead of a slot whose logits the host has read: the request was preempted.
  [[nodiscard]] std::uint32_t read_before(std::uint32_t slot) const noexcept {
    const std::uint32_t told = s_.requests[s_.work[slot].request].told;
    return told > s_.slots[slot].position ? told - s_.slots[slot].position : 0;
  }
  /// Rows that `tokens` more of a slot's prompt take of those that all share. Its last token has a row anyway.
  [[nodiscard]] std::uint32_t shared_rows(std::uint32_t slot, std::uint32_t tokens) const noexcept {
    const RequestRow& r = s_.requests[s_.work[slot].request];
    const std::uint32_t own = read_before(slot) + 1;
    return r.tells() && tokens > own ? tokens - own : 0;
  }

  /// The slot whose prompt is next.
  [[nodiscard]] std::uint32_t next() const noexcept {
    std::uint32_t found = kNone;
    for (std::uint32_t slot = 0; slot < s_.slots.size(); ++slot) {
      if (!can_prefill(s_, slot) || wanted(slot) == 0 || left(slot) == 0) continue;
      if (found == kNone || comes_before(slot, found)) found = slot;
    }
    return found;
  }
  [[nodiscard]] bool comes_before(std::uint32_t a, std::uint32_t b) const noexcept {
    if (s_.slots[a].priority != s_.slots[b].priority) return s_.slots[a].priority < s_.slots[b].priority;
    const RequestRow& x = s_.requests[s_.work[a].request];
    const RequestRow& y = s_.requests[s_.work[b].request];
    const std::uint64_t served_x = s_.tenants[x.tenant].service;
    const std::uint64_t served_y = s_.tenants[y.tenant].service;
    if (served_x != served_y && s_.keeps(Rule::prompts_in_order)) return served_x < served_y;
    if (x.tenant != y.tenant) return x.sequence < y.sequence;
    // A tenant's prompts take turns, so that a short one does not wait for a long one; who is first changes by step.
    if (s_.shares[a] != s_.shares[b]) return s_.shares[a] < s_.shares[b];
    return turn(a) < turn(b);
  }

  [[nodiscard]] std::uint32_t turn(std::uint32_t slot) const noexcept {
    return static_cast<std::uint32_t>((s_.step + slot) % s_.slots.size());
  }

  /// Gives a slot up to `tokens` of its prompt; counts them at once, so that the next turn sees them.
  [[nodiscard]] std::uint32_t give(std::uint32_t slot, std::uint32_t tokens, std::uint32_t room) noexcept {
    const RequestRow& r = s_.requests[s_.work[slot].request];
    const std::uint32_t allowed = prefill_room(s_, r.tenant);
    std::uint32_t given = wanted(slot);
    given = given < tokens ? given : tokens;
    given = given < room ? given : room;
    given = given < allowed ? given : allowed;
    given = given < left(slot) ? given : left(slot);
    for (std::size_t c = 0; c <= s_.slots[slot].priority; ++c) left_[c] -= given;
    const std::uint32_t begin = s_.slots[slot].position + s_.shares[slot];
    s_.tenants[r.tenant].prefilled.take(given);
    if (given != 0 && answers_again(r, begin + given)) s_.tenants[r.tenant].decoded.take(1);
    s_.charge_service(s_.work[slot].request, begin, begin + given);
    rows_left_ -= shared_rows(slot, s_.shares[slot] + given) - shared_rows(slot, s_.shares[slot]);
    s_.shares[slot] += given;
    return given;
  }

  /// Where a run must end at the latest: a recurrent model keeps its state at the prompt's last page border, and now
  /// and then in a long text.
  [[nodiscard]] std::uint32_t run_end(std::uint32_t slot, std::uint32_t known) const noexcept {
    if (!keeps_states(slot)) return known;
    const std::uint32_t begin = s_.slots[slot].position;
    const std::uint32_t last = (known - 1) / kPageTokens * kPageTokens;
    const std::uint32_t spacing = s_.limits.checkpoint_pages * kPageTokens;
    const std::uint32_t spaced = (begin / spacing + 1) * spacing;
    std::uint32_t end = known;
    if (last > begin && last < end) end = last;
    if (spaced < end) end = spaced;
    return end;
  }
  /// Whether there are kept states, and pages of the tree that they can belong to.
  [[nodiscard]] bool keeps_states(std::uint32_t slot) const noexcept {
    return s_.limits.checkpoints != 0 && s_.requests[s_.work[slot].request].shares;
  }
  [[nodiscard]] bool keeps_state_at(std::uint32_t slot, std::uint32_t end) const noexcept {
    const RequestRow& r = s_.requests[s_.work[slot].request];
    const std::uint32_t shift = s_.keeps(Rule::save_at_border) ? 0 : 1;
    if (!keeps_states(slot) || (end + shift) % kPageTokens != 0) return false;
    return end + shift == (r.known() - 1) / kPageTokens * kPageTokens ||
           end % (s_.limits.checkpoint_pages * kPageTokens) == 0;
  }

  void add_run(std::uint32_t slot, std::uint32_t known, bool decode, std::uint32_t drafts = 0) noexcept {
    SlotRow& row = s_.slots[slot];
    SlotWork& w = s_.work[slot];
    const RequestRow& r = s_.requests[w.request];
    const std::uint32_t count = known + drafts;
    const std::uint32_t end = row.position + count;
    while (row.pages < pages_for(end))
      if (!s_.add_page(slot)) {
        ++s_.pageless_runs;
        return;
      }
    if (decode) {
      s_.tenants[r.tenant].decoded.take(count);
      s_.charge_service(w.request, row.position, row.position + known);
    }
    row.speculative_tokens = drafts;
    PlannedRun run;
    run.slot = slot;
    run.request = row.request;
    run.begin = row.position;
    run.count = count;
    run.drafts = drafts;
    run.tokens = r.tokens + row.position;
    run.decode = decode;
    run.sample = end - drafts == r.known();
    run.load = w.load;
    run.shelf = s_.keeps(Rule::load_shelf) ? w.shelf : kNone;
    if (drafts == 0 && keeps_state_at(slot, end)) run.save = take_checkpoint();
    (void)s_.runs.push_back(run);
    used_ += count;
    const std::uint32_t last = s_.list(slot)[row.pages - 1];
    if (!s_.keeps(Rule::pin_read_pages)) s_.pages.release(last, s_.tree.contains(last));
  }

  [[nodiscard]] std::uint32_t take_checkpoint() noexcept {
    std::uint32_t page = kNone;
    const std::uint32_t row = s_.checkpoints.take(page, !s_.keeps(Rule::pin_checkpoint));
    if (page != kNone) s_.tree.set_checkpoint(page, kNone);
    return row;
  }

  SchedulerState<Rules>& s_;
  std::uint32_t used_ = 0;  ///< tokens of the step so far
  ClassRoom left_{};        ///< prompt tokens that classes may still read
  Span<const std::uint32_t> cuts_{};
  Span<const Draft> drafts_{};
  std::uint32_t drafts_left_ = 0;  ///< of the step
  std::uint32_t rows_left_ = 0;    ///< the same
};

}  // namespace zrt::inline ZRT_ABI::serve
