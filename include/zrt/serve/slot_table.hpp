// SPDX-License-Identifier: Apache-2.0
// zrt/serve/slot_table.hpp: the pages and blocks of each slot, by the lifecycle matrix.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/exec/batch.hpp>
#include <zrt/exec/state_store.hpp>
#include <zrt/serve/window_audit.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// What of a slot is copied, to go on from it.
enum class SlotPart : std::uint8_t {
  all,      ///< what the rows behind a position see
  own,      ///< of that what no other slot may list: all but the pages of groups without a window
  shelved,  ///< `own`, and the pages behind the last page border
};

/// Slots of an executor's states. Every event goes through kLifecycleMatrix, for every state.
///
/// A cache group has one pool and one list of pages per slot. Where the group has a window, a list slides with its
/// sequence: `advance` gives back the pages that no later row sees, and takes up to as many for positions to come.
template <class B> class SlotTable {
 public:
  SlotTable(SlotTable&&) noexcept = default;
  SlotTable& operator=(SlotTable&&) noexcept = default;

  /// `groups` are those of `states`; all three outlive the table.
  [[nodiscard]] static Result<SlotTable> make(exec::StateStore<B>& states, typename B::Device& device,
                                              Span<const exec::CacheGroup> groups, std::uint32_t slots,
                                              std::uint32_t pages_per_slot, const Allocator& allocator) noexcept {
    SlotTable table(states, device, groups, slots, pages_per_slot, allocator);
    std::uint64_t largest = 0;
    for (const StateDescriptor& d : states.descriptors()) largest = d.size_bytes > largest ? d.size_bytes : largest;
    for (const exec::CacheGroup& group : groups) {
      auto pool = PagePool::make(group.slot_pages == 0 ? 0 : group.pages, allocator);
      if (!pool) return pass(pool);
      if (auto r = table.pools_.push_back(std::move(*pool)); !r) return pass(r);
    }
    if (auto r = table.pages_.resize(groups.size() * slots * pages_per_slot); !r) return pass(r);
    for (std::uint32_t& id : table.pages_) id = kNoPage;
    if (auto r = table.lists_.resize(groups.size() * slots); !r) return pass(r);
    if (auto r = table.first_rows_.resize(slots); !r) return pass(r);
    if (auto r = table.first_seen_.resize(groups.size() * slots); !r) return pass(r);
    if (auto r = table.used_.resize(slots); !r) return pass(r);
    auto unit = Buffer::zeroed(allocator, static_cast<std::size_t>(largest));
    if (!unit) return pass(unit);
    table.unit_ = std::move(*unit);
    return table;
  }

  /// Claims the slot that a scheduler chose, with clean state.
  [[nodiscard]] Result<void> claim(std::uint32_t slot) noexcept {
    if (auto r = apply(StateEvent::alloc, slot); !r) return r;
    used_[slot] = 1;
    return apply(StateEvent::reset, slot);
  }
  [[nodiscard]] bool is_used(std::uint32_t slot) const noexcept { return used_[slot] != 0; }

  /// Lists pages that a scheduler owns, in every cache group without a window. Without pages it must come before
  /// release: they are not this table's to give back.
  void place(std::uint32_t slot, Span<const std::uint32_t> pages) noexcept {
    for (std::size_t g = 0; g < pools_.size(); ++g) {
      if (groups_[g].window != 0 || groups_[g].slot_pages == 0) continue;
      const auto count = static_cast<std::uint32_t>(pages.size());
      PageList& own = list(g, slot);
      const Span<std::uint32_t> to = ids(g, slot);
      for (std::uint32_t i = 0; i < count; ++i) to[i] = pages[i];
      for (std::uint32_t i = count; i < own.end; ++i) to[i] = kNoPage;
      own = {0, count, count};
    }
  }
  /// Makes room for `positions` positions in the cache groups with a window: for as many at a time as it shows.
  ///
  /// Errors: Errc::capacity_exceeded; the groups before have grown.
  [[nodiscard]] Result<void> reserve_windows(std::uint32_t slot, std::uint32_t positions) noexcept {
    for (std::size_t g = 0; g < pools_.size(); ++g) {
      if (groups_[g].window == 0) continue;
      PageList& pages = list(g, slot);
      if (pages.limit < pages_for(positions)) pages.limit = pages_for(positions);
      if (auto r = check_free(g, pages.wanted(groups_[g].slot_pages)); !r) return r;
      pages.grow(groups_[g].slot_pages, pools_[g], ids(g, slot));
    }
    return {};
  }

  /// Frees a slot, whatever its request was doing.
  [[nodiscard]] Result<void> release(std::uint32_t slot) noexcept {
    used_[slot] = 0;
    return apply(StateEvent::deinit, slot);
  }

  /// Slides a slot to rows at `position` and later: pages that lie before their windows go back, others for positions
  /// to come take their place. What a slot reserved is there for it.
  ///
  /// Errors: Errc::capacity_exceeded where no page is free.
  [[nodiscard]] Result<void> advance(std::uint32_t slot, std::uint32_t position) noexcept {
    for (std::size_t g = 0; g < pools_.size(); ++g) {
      if (groups_[g].window == 0) continue;
      PageList& pages = list(g, slot);
      const std::uint32_t first = first_page(groups_[g].window, position);
      first_seen_[g * slots_ + slot] = first;
      pages.drop_before(first, pools_[g], ids(g, slot));
      if (auto r = check_free(g, pages.wanted(groups_[g].slot_pages)); !r) return r;
      pages.grow(groups_[g].slot_pages, pools_[g], ids(g, slot));
    }
    return {};
  }
  /// Slides each slot of a batch to the first of its rows. The batch's page ids are those of this table. After an error
  /// some slots have slid.
  [[nodiscard]] Result<void> advance(const exec::Batch& batch) noexcept {
    for (std::size_t t = batch.slots.size(); t-- > 0;) first_rows_[batch.slots[t]] = static_cast<std::uint32_t>(t);
    for (std::size_t t = 0; t < batch.slots.size(); ++t)
      if (first_rows_[batch.slots[t]] == t)
        if (auto r = advance(batch.slots[t], batch.positions[t]); !r) return r;
    return {};
  }

  /// Runs an event's actions on every state of a slot.
  [[nodiscard]] Result<void> apply(StateEvent event, std::uint32_t slot) noexcept {
    bool dropped = false;
    const auto descriptors = states_->descriptors();
    for (std::size_t id = 0; id < descriptors.size(); ++id) {
      switch (action(descriptors[id].lifecycle, event)) {
        case StateAction::nothing:
        case StateAction::claim_slot_block:
          break;  // a slot's block is its own by index
        case StateAction::zero_block: {
          const Span<std::byte> zero = unit_.span().first(descriptors[id].size_bytes);
          for (std::byte& b : zero) b = std::byte{0};
          if (auto r = device_->write_unit(states_->state(id), slot, zero); !r) return r;
          break;
        }
        case StateAction::save_then_drop:  // the caller has saved
        case StateAction::drop_pages:
          if (descriptors[id].lifecycle == StateLifecycle::kv_paged) dropped = true;
          break;
        case StateAction::share_pages:
        case StateAction::copy_block:
          break;  // two slots: what they have in common the scheduler lists in both
      }
    }
    // States of one group share their page ids, so a list is dropped once, not once a state.
    if (dropped)
      for (std::size_t g = 0; g < pools_.size(); ++g) {
        list(g, slot).clear(pools_[g], ids(g, slot));
        first_seen_[g * slots_ + slot] = 0;
      }
    return {};
  }

  /// Bytes of a part of what a slot has behind `positions` positions.
  [[nodiscard]] std::uint64_t bytes_of(SlotPart part, std::uint32_t positions) const noexcept {
    std::uint64_t bytes = 0;
    for (const StateDescriptor& d : states_->descriptors())
      bytes += d.size_bytes * units_of(part, d, positions).count();
    return bytes;
  }
  /// Copies a part of a slot out, state by state, page by page; `to` holds bytes_of(part, positions).
  ///
  /// Errors: Errc::invalid_state where the slot lacks a page of them; the device's own.
  [[nodiscard]] Result<void> save(SlotPart part, std::uint32_t slot, std::uint32_t positions,
                                  Span<std::byte> to) noexcept {
    return each_unit(part, slot, positions, to, [&](auto& state, std::uint32_t unit, Span<std::byte> bytes) {
      return device_->read_unit(state, unit, bytes);
    });
  }
  /// Fills that part of a slot; its pages have been reserved. Errors: those of advance and save.
  [[nodiscard]] Result<void> restore(SlotPart part, std::uint32_t slot, std::uint32_t positions,
                                     Span<const std::byte> from) noexcept {
    if (auto r = advance(slot, positions); !r) return r;
    return each_unit(part, slot, positions, from, [&](auto& state, std::uint32_t unit, Span<const std::byte> bytes) {
      return device_->write_unit(state, unit, bytes);
    });
  }

  /// [groups][slots][pages_per_slot] page ids, as a step reads them.
  [[nodiscard]] const std::uint32_t* pages() const noexcept { return pages_.data(); }
  /// Pages of all cache groups, and how many of them some slot has.
  [[nodiscard]] std::uint64_t all_pages() const noexcept {
    std::uint64_t pages = 0;
    for (const PagePool& pool : pools_) pages += pool.size();
    return pages;
  }
  [[nodiscard]] std::uint64_t used_pages() const noexcept {
    std::uint64_t pages = 0;
    for (const PagePool& pool : pools_) pages += pool.size() - pool.available();
    return pages;
  }
  /// The pages of each cache group with a window, for an audit: `check(const WindowPages&) -> Result<void>`.
  template <class Check> [[nodiscard]] Result<void> each_window(Check check) const noexcept {
    for (std::size_t g = 0; g < pools_.size(); ++g) {
      if (groups_[g].window == 0) continue;
      const std::size_t lists = g * slots_;
      if (auto r = check(WindowPages{&pools_[g], lists_.span().subspan(lists, slots_),
                                     pages_.span().subspan(lists * pages_per_slot_, slots_ * pages_per_slot_),
                                     first_seen_.span().subspan(lists, slots_), pages_per_slot_});
          !r)
        return r;
    }
    return {};
  }
  /// Whether a slot can go back behind positions that it has computed in one step: what they wrote to pages is written
  /// anew, but not a recurrent state.
  [[nodiscard]] bool goes_back() const noexcept {
    for (const StateDescriptor& d : states_->descriptors())
      if (d.lifecycle != StateLifecycle::kv_paged) return false;
    return true;
  }
  /// Cache groups without a window.
  [[nodiscard]] std::uint32_t shared_groups() const noexcept {
    std::uint32_t count = 0;
    for (const exec::CacheGroup& group : groups_) count += group.window == 0 && group.slot_pages != 0 ? 1u : 0u;
    return count;
  }

 private:
  SlotTable(exec::StateStore<B>& states, typename B::Device& device, Span<const exec::CacheGroup> groups,
            std::uint32_t slots, std::uint32_t pages_per_slot, const Allocator& a) noexcept
      : states_(&states),
        device_(&device),
        groups_(groups),
        slots_(slots),
        pages_per_slot_(pages_per_slot),
        pools_(a),
        pages_(a),
        lists_(a),
        first_rows_(a),
        first_seen_(a),
        used_(a) {}

  /// Units of a state: pages by their index in the sequence, or the slot's block.
  struct Units {
    std::uint32_t from = 0, to = 0;
    [[nodiscard]] std::uint64_t count() const noexcept { return to - from; }
  };
  [[nodiscard]] static Units units_of(SlotPart part, const StateDescriptor& d, std::uint32_t positions) noexcept {
    if (d.lifecycle != StateLifecycle::kv_paged) return {0, 1};
    const std::uint32_t end = pages_for(positions);
    if (part == SlotPart::all || is_own(d)) return {first_page(window_of(d.info), positions), end};
    return {part == SlotPart::own ? end : positions / kPageTokens, end};
  }
  /// Whether a slot has the state to itself: pages of groups without a window are shared by prefixes.
  [[nodiscard]] static bool is_own(const StateDescriptor& d) noexcept {
    return d.lifecycle != StateLifecycle::kv_paged || window_of(d.info) != 0;
  }

  /// The ids of a slot's pages, by their index in its sequence.
  [[nodiscard]] Span<std::uint32_t> ids(std::size_t group, std::uint32_t slot) noexcept {
    return pages_.span().subspan((group * slots_ + slot) * pages_per_slot_, pages_per_slot_);
  }
  [[nodiscard]] PageList& list(std::size_t group, std::uint32_t slot) noexcept { return lists_[group * slots_ + slot]; }

  [[nodiscard]] Result<void> check_free(std::size_t group, std::uint32_t wanted) const noexcept {
    if (wanted <= pools_[group].available()) return {};
    return fail(Errc::capacity_exceeded, wanted, " pages are needed, ", pools_[group].available(), " are free");
  }
  /// Demands the pages of all that rows behind `positions` positions see.
  [[nodiscard]] Result<void> check_held(std::uint32_t slot, std::uint32_t positions) noexcept {
    for (std::size_t g = 0; g < pools_.size(); ++g) {
      const std::uint32_t from = first_page(groups_[g].window, positions);
      const std::uint32_t to = pages_for(positions);
      const PageList& pages = list(g, slot);
      if (groups_[g].slot_pages == 0 || pages.holds(from, to)) continue;
      return fail(Errc::invalid_state, "slot ", slot, " has pages ", pages.first, "..", pages.end, " of cache group ",
                  g, ", expected ", from, "..", to, " for ", positions, " positions");
    }
    return {};
  }

  template <class Byte, class Copy>
  [[nodiscard]] Result<void> each_unit(SlotPart part, std::uint32_t slot, std::uint32_t positions, Span<Byte> bytes,
                                       Copy copy) noexcept {
    if (auto r = check_held(slot, positions); !r) return r;
    const auto descriptors = states_->descriptors();
    for (std::size_t id = 0; id < descriptors.size(); ++id) {
      const StateDescriptor& d = descriptors[id];
      const Units units = units_of(part, d, positions);
      for (std::uint32_t i = units.from; i < units.to; ++i) {
        const std::uint32_t unit = d.lifecycle == StateLifecycle::kv_paged ? ids(d.info.group, slot)[i] : slot;
        if (auto r = copy(states_->state(id), unit, bytes.first(d.size_bytes)); !r) return r;
        bytes = bytes.subspan(d.size_bytes);
      }
    }
    return {};
  }

  exec::StateStore<B>* states_;
  typename B::Device* device_;
  Span<const exec::CacheGroup> groups_;
  std::uint32_t slots_;
  std::uint32_t pages_per_slot_;
  Vector<PagePool> pools_;
  Vector<std::uint32_t> pages_;       ///< [groups][slots][pages_per_slot]; kNoPage where a slot has none
  Vector<PageList> lists_;            ///< [groups][slots]
  Vector<std::uint32_t> first_rows_;  ///< [slots] in the batch that is at hand
  Vector<std::uint32_t> first_seen_;  ///< [groups][slots] the first page that a row to come sees
  Vector<std::uint8_t> used_;
  Buffer unit_;
};

}  // namespace zrt::inline ZRT_ABI::serve
