// SPDX-License-Identifier: Apache-2.0
// zrt/backend/split/room.hpp: how much memory the last part of a plan takes, and how many layers of it fit.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/exec/placed_plan.hpp>
#include <zrt/plan/split.hpp>
#include <zrt/plan/storage.hpp>
#include <zrt/plan/traffic.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::split {

/// Bytes of all registers that are alive at once, at most: an arena without its workspaces. With `keeps_values` all of
/// them live to the end.
///
/// Errors: Errc::size_overflow.
[[nodiscard]] inline Result<std::uint64_t> most_alive(const plan::CompiledPlan& compiled, const Extents& bounds,
                                                      bool keeps_values) noexcept {
  const plan::ExecutionPlan& plan = compiled.plan;
  const plan::LivenessMap& live = compiled.liveness;
  CheckedSize now = 0, most = 0;
  for (const plan::PlanPort& port : plan.inputs) {
    const auto bytes = plan::register_bytes(plan.registers[plan::index(port.reg)], bounds);
    if (!bytes) return pass(bytes);
    now = now + *bytes;
  }
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    std::uint64_t dead = 0;
    for (const plan::RegisterRef reg : plan.instruction(i).outputs) {
      const auto bytes = plan::register_bytes(plan.registers[plan::index(reg)], bounds);
      if (!bytes) return pass(bytes);
      now = now + *bytes;
    }
    if (!now.ok()) break;
    if (now.raw() > most.raw()) most = now;
    if (keeps_values) continue;
    for (const plan::RegisterRef reg : live.kill_after_instruction(i)) {
      const auto bytes = plan::register_bytes(plan.registers[plan::index(reg)], bounds);
      if (!bytes) return pass(bytes);
      dead += *bytes;
    }
    now = now.raw() - (dead < now.raw() ? dead : now.raw());
  }
  return (now.ok() ? most : now).get("an arena");
}

/// Bytes of the last part: its weights as the file has them, its states, and both arenas.
///
/// Errors: Errc::size_overflow.
[[nodiscard]] inline Result<std::uint64_t> bytes_of_last(const plan::CompiledPlan& compiled,
                                                         const plan::PlanSplit& split,
                                                         const exec::PlanSizes& sizes) noexcept {
  const plan::ExecutionPlan& plan = compiled.plan;
  CheckedSize sum = 0;
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    if (!split.weights[i].last) continue;
    sum = sum + plan::weight_bytes(plan.weights[i]);
  }
  for (std::size_t i = 0; i < plan.states.size(); ++i)
    if (split.states[i].last)
      sum = sum + CheckedSize(plan.states[i].size_bytes) * CheckedSize(sizes.units_of(plan.states[i]));
  for (const Extents& bounds : {sizes.prefill, sizes.decode}) {
    const auto arena = most_alive(compiled, bounds, sizes.keeps_values);
    if (!arena) return pass(arena);
    sum = sum + *arena;
  }
  return sum.get("the last part of a plan");
}

/// Cuts a plan so that as many of its layers as `room` bytes hold are in the last part. One part in 16 is left for
/// workspaces, commands, and the padding of weights.
///
/// Errors: those of plan::split, where no cut is possible; Errc::out_of_memory where the room is too small for the
/// smallest last part.
[[nodiscard]] inline Result<plan::PlanSplit> split_to_fit(const plan::CompiledPlan& compiled,
                                                          const exec::PlanSizes& sizes, std::uint64_t room) noexcept {
  const auto of_instruction = plan::layers(compiled.plan);
  if (!of_instruction) return pass(of_instruction);
  std::uint64_t least = 0;
  bool cut = false;
  for (std::uint32_t layers = plan::layer_count(of_instruction->span()) + 1; layers-- != 0;) {
    auto split = plan::split(compiled.plan, layers, sizes.keeps_values);
    // Layers with common keys and values stay together; a plan may begin or end with a layer.
    const bool passed =
        !split && (split.error().code() == Errc::stage_handoff || split.error().code() == Errc::invalid_argument);
    if (passed && (layers != 0 || cut)) continue;
    if (!split) return split;
    cut = true;
    const auto bytes = bytes_of_last(compiled, *split, sizes);
    if (!bytes) return pass(bytes);
    least = *bytes;
    if (*bytes <= room - room / 16) return split;
  }
  return fail(Errc::out_of_memory, "the device has room for ", room, " bytes, the smallest last part needs ", least);
}

}  // namespace zrt::inline ZRT_ABI::split

ZRT_LOAD_TIME_END
