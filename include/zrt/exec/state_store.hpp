// SPDX-License-Identifier: Apache-2.0
// zrt/exec/state_store.hpp: device memory of a plan's states, addressed by page or slot.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/exec/backend.hpp>
#include <zrt/exec/cache_groups.hpp>
#include <zrt/exec/operands.hpp>
#include <zrt/exec/placed_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// Owns the memory of every state of a plan. Allocation and contents only: who owns which page or
/// block, and when, is decided above (serve/slot_table.hpp walks the lifecycle matrix).
template <class B> class StateStore {
 public:
  StateStore(StateStore&&) noexcept = default;
  StateStore& operator=(StateStore&&) noexcept = default;

  /// Allocates `pages` pages of every kv_paged state and `slots` blocks of every recurrent one, which are zero.
  ///
  /// Errors: Errc::invalid_state for an alignment that no device promises, Errc::size_overflow, and
  /// the device's own.
  [[nodiscard]] static Result<StateStore> make(const plan::ExecutionPlan& plan, typename B::Device& device,
                                               std::uint32_t pages, std::uint32_t slots) noexcept {
    return make_units(plan, device, {}, pages, slots);
  }
  /// The same with as many pages of a state as its cache group has.
  [[nodiscard]] static Result<StateStore> make(const plan::ExecutionPlan& plan, typename B::Device& device,
                                               Span<const CacheGroup> groups, std::uint32_t slots) noexcept {
    return make_units(plan, device, groups, 0, slots);
  }

  [[nodiscard]] const StateBlockHandle<B>& handle(std::size_t id) const noexcept { return handles_[id]; }
  /// The backend's name for the memory of state `id`, as its device reads and writes units of it.
  [[nodiscard]] typename B::State& state(std::size_t id) noexcept { return handles_[id].block; }
  [[nodiscard]] Span<const StateDescriptor> descriptors() const noexcept { return descriptors_.span(); }
  /// Bytes of all states together.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// The memory of each state, in their order.
  [[nodiscard]] Span<const typename B::Memory> memory() const noexcept { return memory_.span(); }

 private:
  [[nodiscard]] static Result<StateStore> make_units(const plan::ExecutionPlan& plan, typename B::Device& device,
                                                     Span<const CacheGroup> groups, std::uint32_t pages,
                                                     std::uint32_t slots) noexcept {
    StateStore store(plan.allocator);
    for (const StateDescriptor& d : plan.states) {
      if (!is_state_align(d.align_bytes))
        return fail(Errc::invalid_state, "state ", unsigned{d.id}, " is to be aligned to ", unsigned{d.align_bytes},
                    " bytes, expected a power of two up to ", unsigned{kMaxStateAlign});
      const bool paged = d.lifecycle == StateLifecycle::kv_paged;
      const std::uint32_t units = !paged ? slots : groups.empty() ? pages : groups[d.info.group].pages;
      const auto bytes = (CheckedSize(d.size_bytes) * CheckedSize(units)).get("a state");
      if (!bytes) return pass(bytes);
      auto memory = allocate(device, d, *bytes);
      if (!memory) return pass(memory);
      StateBlockHandle<B> handle{d.id, device.state(*memory, d, units), *bytes, kMaxStateAlign};
      if (d.zero_init)
        if (auto r = zero(device, handle.block, units, d.size_bytes, plan.allocator); !r) return pass(r);
      if (auto r = store.memory_.push_back(std::move(*memory)); !r) return pass(r);
      if (auto r = store.handles_.push_back(handle); !r) return pass(r);
      if (auto r = store.descriptors_.push_back(d); !r) return pass(r);
      store.bytes_ += *bytes;
    }
    return store;
  }

  [[nodiscard]] static Result<typename B::Memory> allocate(typename B::Device& device,
                                                           [[maybe_unused]] const StateDescriptor& state,
                                                           std::uint64_t bytes) noexcept {
    if constexpr (AllocatesStates<B>)
      return device.allocate_state(state, bytes);
    else
      return device.allocate(bytes);
  }

  /// Memory of a card holds what others left there.
  [[nodiscard]] static Result<void> zero(typename B::Device& device, typename B::State& state, std::uint32_t units,
                                         std::uint64_t unit_bytes, const Allocator& allocator) noexcept {
    const auto zeros = Buffer::zeroed(allocator, static_cast<std::size_t>(unit_bytes));
    if (!zeros) return pass(zeros);
    for (std::uint32_t unit = 0; unit < units; ++unit)
      if (auto r = device.write_unit(state, unit, zeros->span()); !r) return r;
    return {};
  }

  explicit StateStore(Allocator a) noexcept : memory_(a), handles_(a), descriptors_(a) {}

  Vector<typename B::Memory> memory_;
  Vector<StateBlockHandle<B>> handles_;
  Vector<StateDescriptor> descriptors_;
  std::uint64_t bytes_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
