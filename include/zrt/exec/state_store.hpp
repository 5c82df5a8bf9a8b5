// SPDX-License-Identifier: Apache-2.0
// zrt/exec/state_store.hpp: device memory of a plan's states, addressed by page or slot.
#pragma once

#include <zrt/exec/backend.hpp>
#include <zrt/plan/execution_plan.hpp>

namespace zrt::inline ZRT_ABI::exec {

/// Owns the memory of every state of a plan. Allocation and contents only: who owns which page or
/// block, and when, is decided above (serve/slot_table.hpp walks the lifecycle matrix).
template <class B> class StateStore {
 public:
  StateStore(StateStore&&) noexcept = default;
  StateStore& operator=(StateStore&&) noexcept = default;

  /// Allocates `pages` pages of every kv_paged state and `slots` blocks of every recurrent one.
  [[nodiscard]] static Result<StateStore> make(const plan::ExecutionPlan& plan, typename B::Device& device,
                                               std::uint32_t pages, std::uint32_t slots) noexcept {
    StateStore store(plan.allocator);
    for (const StateDescriptor& d : plan.states) {
      const std::uint32_t units = d.lifecycle == StateLifecycle::kv_paged ? pages : slots;
      const auto bytes = (CheckedSize(d.size_bytes) * CheckedSize(units)).get("a state");
      if (!bytes) return pass(bytes);
      auto memory = device.allocate(*bytes);
      if (!memory) return pass(memory);
      const typename B::State state = device.state(*memory, d, units);
      if (auto r = store.memory_.push_back(std::move(*memory)); !r) return pass(r);
      if (auto r = store.states_.push_back(state); !r) return pass(r);
      if (auto r = store.descriptors_.push_back(d); !r) return pass(r);
      store.bytes_ += *bytes;
    }
    return store;
  }

  [[nodiscard]] typename B::State& state(std::size_t id) noexcept { return states_[id]; }
  [[nodiscard]] std::span<const StateDescriptor> descriptors() const noexcept { return descriptors_.span(); }
  /// Bytes of all states together.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  explicit StateStore(Allocator a) noexcept : memory_(a), states_(a), descriptors_(a) {}

  Vector<typename B::Memory> memory_;
  Vector<typename B::State> states_;
  Vector<StateDescriptor> descriptors_;
  std::uint64_t bytes_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::exec
