// SPDX-License-Identifier: Apache-2.0
// zrt/exec/placed_plan.hpp: what a device may hear of a plan before weights, states and registers are placed.
#pragma once

#include <zrt/exec/backend.hpp>
#include <zrt/exec/cache_groups.hpp>
#include <zrt/exec/operands.hpp>
#include <zrt/plan/compiled_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// How large a decoder's plan is bound.
struct PlanSizes {
  Extents prefill{};  ///< of the largest step that reads prompts
  Extents decode{};
  Span<const CacheGroup> groups{};
  std::uint32_t slots = 0;
  bool keeps_values = false;  ///< every register is read after a step

  /// Units of a state: pages of its cache group, or blocks of slots.
  [[nodiscard]] std::uint32_t units_of(const StateDescriptor& state) const noexcept {
    return state.lifecycle == StateLifecycle::kv_paged ? groups[state.info.group].pages : slots;
  }
};

/// A backend whose device hears of the decoder's plan before it is handed anything of it.
template <class B>
concept TakesPlans = requires(typename B::Device& device, const plan::CompiledPlan& compiled, const PlanSizes& sizes) {
  { device.take_plan(compiled, sizes) } -> std::same_as<Result<void>>;
};
/// A backend whose device allocates the memory of a state by what it is for.
template <class B>
concept AllocatesStates = requires(typename B::Device& device, const StateDescriptor& state, std::uint64_t bytes) {
  { device.allocate_state(state, bytes) } -> std::same_as<Result<typename B::Memory>>;
};
/// A backend whose recorder sees all registers of a plan before the first instruction.
template <class B>
concept SeesRegisters = requires(typename B::Recorder& recorder, Span<const TensorHandle<B>> registers) {
  { recorder.see(registers) } -> std::same_as<Result<void>>;
};

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
