// SPDX-License-Identifier: Apache-2.0
// zrt/serve/slot_table.hpp: the pages and blocks of each slot, by the lifecycle matrix.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/exec/state_store.hpp>
#include <zrt/serve/page_pool.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Slots of an executor's states. Every event goes through kLifecycleMatrix, for every state.
template <class B> class SlotTable {
 public:
  SlotTable(SlotTable&&) noexcept = default;
  SlotTable& operator=(SlotTable&&) noexcept = default;

  /// `pages` is the number of pages of each kv_paged state.
  [[nodiscard]] static Result<SlotTable> make(exec::StateStore<B>& states, typename B::Device& device,
                                              std::uint32_t slots, std::uint32_t pages, std::uint32_t pages_per_slot,
                                              const Allocator& allocator) noexcept {
    SlotTable table(states, device, slots, pages_per_slot, allocator);
    std::uint32_t groups = 1;
    std::uint64_t largest = 0;
    for (const StateDescriptor& d : states.descriptors()) {
      if (d.lifecycle == StateLifecycle::kv_paged && d.info.group + 1u > groups) groups = d.info.group + 1u;
      largest = d.size_bytes > largest ? d.size_bytes : largest;
    }
    for (std::uint32_t g = 0; g < groups; ++g) {
      auto pool = PagePool::make(pages, allocator);
      if (!pool) return pass(pool);
      if (auto r = table.pools_.push_back(std::move(*pool)); !r) return pass(r);
    }
    if (auto r = table.pages_.resize(std::size_t{groups} * slots * pages_per_slot); !r) return pass(r);
    if (auto r = table.counts_.resize(std::size_t{groups} * slots); !r) return pass(r);
    if (auto r = table.used_.resize(slots); !r) return pass(r);
    auto unit = Buffer::zeroed(allocator, static_cast<std::size_t>(largest));
    if (!unit) return pass(unit);
    table.unit_ = std::move(*unit);
    return table;
  }

  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

  /// Claims a free slot with clean state, or kNoSlot.
  [[nodiscard]] Result<std::uint32_t> acquire() noexcept {
    for (std::uint32_t slot = 0; slot < used_.size(); ++slot) {
      if (used_[slot] != 0) continue;
      if (auto r = apply(StateEvent::alloc, slot); !r) return pass(r);
      if (auto r = apply(StateEvent::reset, slot); !r) return pass(r);
      used_[slot] = 1;
      return slot;
    }
    return kNoSlot;
  }

  /// Frees a slot, whatever its request was doing.
  [[nodiscard]] Result<void> release(std::uint32_t slot) noexcept {
    used_[slot] = 0;
    return apply(StateEvent::deinit, slot);
  }

  /// Makes room for `positions` positions of a slot in every cache group.
  ///
  /// Errors: Errc::capacity_exceeded; the slot keeps what it has.
  [[nodiscard]] Result<void> reserve(std::uint32_t slot, std::uint32_t positions) noexcept {
    const std::uint32_t wanted = (positions + kPageTokens - 1) / kPageTokens;
    if (wanted > pages_per_slot_)
      return fail(Errc::capacity_exceeded, "a sequence of ", positions, " positions, at most ",
                  std::uint64_t{pages_per_slot_} * kPageTokens, " expected");
    for (std::size_t g = 0; g < pools_.size(); ++g) {
      const std::uint32_t have = count(g, slot);
      if (wanted > have && wanted - have > pools_[g].available())
        return fail(Errc::capacity_exceeded, wanted - have, " pages are needed, ", pools_[g].available(), " are free");
    }
    for (std::size_t g = 0; g < pools_.size(); ++g)
      while (count(g, slot) < wanted) page(g, slot, count(g, slot)++) = pools_[g].take();
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
          break;  // two slots: see fork
      }
    }
    // States of one group share their page ids, so a list is dropped once, not once a state.
    if (dropped)
      for (std::size_t g = 0; g < pools_.size(); ++g)
        while (count(g, slot) != 0) pools_[g].drop(page(g, slot, --count(g, slot)));
    return {};
  }

  /// Makes `to` continue where `from` stands after `positions` positions: full pages are shared,
  /// the last one and recurrent blocks are copied.
  [[nodiscard]] Result<void> fork(std::uint32_t from, std::uint32_t to, std::uint32_t positions) noexcept {
    const std::uint32_t full = positions / kPageTokens;
    if (auto r = apply(StateEvent::reset, to); !r) return r;
    const auto descriptors = states_->descriptors();
    for (std::size_t g = 0; g < pools_.size(); ++g) {
      for (std::uint32_t i = 0; i < full && i < count(g, from); ++i) {
        pools_[g].share(page(g, from, i));
        page(g, to, count(g, to)++) = page(g, from, i);
      }
    }
    if (auto r = reserve(to, positions); !r) return r;
    for (std::size_t id = 0; id < descriptors.size(); ++id) {
      const StateDescriptor& d = descriptors[id];
      const StateAction what = action(d.lifecycle, StateEvent::clone_for_fork);
      std::uint32_t source = from;
      std::uint32_t target = to;
      if (what == StateAction::share_pages) {
        if (positions % kPageTokens == 0) continue;
        source = page(d.info.group, from, full);
        target = page(d.info.group, to, full);
      } else if (what != StateAction::copy_block) {
        continue;
      }
      const Span<std::byte> unit = unit_.span().first(d.size_bytes);
      if (auto r = device_->read_unit(states_->state(id), source, unit); !r) return r;
      if (auto r = device_->write_unit(states_->state(id), target, unit); !r) return r;
    }
    return {};
  }

  /// Bytes of a snapshot of `positions` positions.
  [[nodiscard]] std::uint64_t snapshot_bytes(std::uint32_t positions) const noexcept {
    const std::uint64_t pages = (positions + kPageTokens - 1) / kPageTokens;
    std::uint64_t bytes = 0;
    for (const StateDescriptor& d : states_->descriptors())
      bytes += d.size_bytes * (d.lifecycle == StateLifecycle::kv_paged ? pages : 1);
    return bytes;
  }
  /// Copies a slot's state out, state by state, page by page; `to` holds snapshot_bytes(positions).
  [[nodiscard]] Result<void> save(std::uint32_t slot, std::uint32_t positions, Span<std::byte> to) noexcept {
    return each_unit(slot, positions, to, [&](auto& state, std::uint32_t unit, Span<std::byte> bytes) {
      return device_->read_unit(state, unit, bytes);
    });
  }
  /// Fills a slot from a snapshot; its pages have been reserved.
  [[nodiscard]] Result<void> restore(std::uint32_t slot, std::uint32_t positions, Span<const std::byte> from) noexcept {
    return each_unit(slot, positions, from, [&](auto& state, std::uint32_t unit, Span<const std::byte> bytes) {
      return device_->write_unit(state, unit, bytes);
    });
  }

  /// [groups][slots][pages_per_slot] page ids, as a step reads them.
  [[nodiscard]] const std::uint32_t* pages() const noexcept { return pages_.data(); }
  [[nodiscard]] std::size_t free_pages() const noexcept { return pools_[0].available(); }
  [[nodiscard]] std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(used_.size()); }

 private:
  SlotTable(exec::StateStore<B>& states, typename B::Device& device, std::uint32_t slots, std::uint32_t pages_per_slot,
            const Allocator& a) noexcept
      : states_(&states),
        device_(&device),
        slots_(slots),
        pages_per_slot_(pages_per_slot),
        pools_(a),
        pages_(a),
        counts_(a),
        used_(a) {}

  [[nodiscard]] std::uint32_t& page(std::size_t group, std::uint32_t slot, std::uint32_t i) noexcept {
    return pages_[(group * slots_ + slot) * pages_per_slot_ + i];
  }
  [[nodiscard]] std::uint32_t& count(std::size_t group, std::uint32_t slot) noexcept {
    return counts_[group * slots_ + slot];
  }

  template <class Byte, class Copy>
  [[nodiscard]] Result<void> each_unit(std::uint32_t slot, std::uint32_t positions, Span<Byte> bytes,
                                       Copy copy) noexcept {
    const std::uint32_t pages = (positions + kPageTokens - 1) / kPageTokens;
    const auto descriptors = states_->descriptors();
    for (std::size_t id = 0; id < descriptors.size(); ++id) {
      const StateDescriptor& d = descriptors[id];
      const bool paged = d.lifecycle == StateLifecycle::kv_paged;
      for (std::uint32_t i = 0; i < (paged ? pages : 1u); ++i) {
        if (auto r = copy(states_->state(id), paged ? page(d.info.group, slot, i) : slot, bytes.first(d.size_bytes));
            !r)
          return r;
        bytes = bytes.subspan(d.size_bytes);
      }
    }
    return {};
  }

  exec::StateStore<B>* states_;
  typename B::Device* device_;
  std::uint32_t slots_;
  std::uint32_t pages_per_slot_;
  Vector<PagePool> pools_;
  Vector<std::uint32_t> pages_;
  Vector<std::uint32_t> counts_;
  Vector<std::uint8_t> used_;
  Buffer unit_;
};

}  // namespace zrt::inline ZRT_ABI::serve
