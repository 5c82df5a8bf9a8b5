// SPDX-License-Identifier: Apache-2.0
// zrt/plan/split.hpp: a plan cut in two at the border of a layer, and what one part hands over to the other.
#pragma once

#include <zrt/plan/layer_of.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// Which parts of a split plan use something.
struct PartsUsing {
  bool first = false;
  bool last = false;
};

/// A plan as two parts that run one after the other: every instruction before `begin`, and all the rest.
///
/// Everything that the last part reads of the first is handed over between them. Whatever the order of a plan's
/// instructions is, all of it is alive there, so no two of these registers share memory.
struct PlanSplit {
  explicit PlanSplit(Allocator a = system_allocator()) noexcept : handed_over(a), types(a), weights(a), states(a) {}

  std::uint32_t layers = 0;       ///< of the model
  std::uint32_t last_layers = 0;  ///< those of the last part
  std::uint32_t begin = 0;        ///< the last part's first instruction
  Vector<RegisterRef> handed_over;
  Vector<TensorType> types;    ///< of these registers
  Vector<PartsUsing> weights;  ///< by weight of the plan: a tied head has a matrix that both read
  Vector<PartsUsing> states;   ///< by state: of one part each
};

/// Layers of a plan, of whose instructions `of_instruction` says the layer.
[[nodiscard]] inline std::uint32_t layer_count(Span<const std::uint32_t> of_instruction) noexcept {
  std::uint32_t count = 0;
  for (const std::uint32_t layer : of_instruction)
    if (layer != kNoLayer && layer >= count) count = layer + 1;
  return count;
}

namespace detail {

/// The first instruction of the last `last_layers` of `layers` layers; that behind all layers for none.
[[nodiscard]] inline std::uint32_t begin_of_last(Span<const std::uint32_t> of_instruction, std::uint32_t layers,
                                                 std::uint32_t last_layers) noexcept {
  std::uint32_t end = 0;
  for (std::uint32_t i = 0; i < of_instruction.size(); ++i) {
    if (of_instruction[i] == kNoLayer) continue;
    if (of_instruction[i] >= layers - last_layers) return i;
    end = i + 1;
  }
  return end;
}

}  // namespace detail

/// Cuts a plan so that its last part has the last `last_layers` layers and everything behind them. With `keep_values`
/// all that the first part writes is handed over, so that every register can be read where the last part ran.
///
/// Errors: Errc::invalid_argument for more layers than there are, a plan without layers, or a part without instructions;
/// Errc::stage_handoff where a part would read state of the other, as in models whose layers share keys and values.
[[nodiscard]] inline Result<PlanSplit> split(const ExecutionPlan& plan, std::uint32_t last_layers,
                                             bool keep_values = false) noexcept {
  auto of_instruction = plan::layers(plan);
  if (!of_instruction) return pass(of_instruction);
  PlanSplit out(plan.allocator);
  out.layers = layer_count(of_instruction->span());
  if (out.layers == 0) return fail(Errc::invalid_argument, "the plan has no layers between which it could be cut");
  if (last_layers > out.layers)
    return fail(Errc::invalid_argument, last_layers, " layers are asked for, the model has ", out.layers);
  out.last_layers = last_layers;
  out.begin = detail::begin_of_last(of_instruction->span(), out.layers, last_layers);
  if (out.begin == 0 || out.begin == plan.instructions.size())
    return fail(Errc::invalid_argument, last_layers, " layers in the last part leave no instruction to the ",
                out.begin == 0 ? "first" : "last");

  Vector<std::uint8_t> by_first(plan.allocator), taken(plan.allocator);
  if (auto r = by_first.resize(plan.registers.size()); !r) return pass(r);
  if (auto r = taken.resize(plan.registers.size()); !r) return pass(r);
  if (auto r = out.weights.resize(plan.weights.size()); !r) return pass(r);
  if (auto r = out.states.resize(plan.states.size()); !r) return pass(r);
  for (std::uint32_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction insn = plan.instruction(i);
    const bool last = i >= out.begin;
    const auto use = [last](PartsUsing& parts) { (last ? parts.last : parts.first) = true; };
    for (const WeightRef w : insn.weights)
      if (w != kNoWeight) use(out.weights[index(w)]);
    if (insn.state_block_id) use(out.states[*insn.state_block_id]);
    for (const RegisterRef reg : insn.outputs) by_first[index(reg)] = last ? 0 : 1;
    for (const RegisterRef reg : insn.inputs)
      if (last && reg != kNoRegister) taken[index(reg)] = 1;
  }
  for (const PlanPort& port : plan.outputs) taken[index(port.reg)] = 1;
  for (std::size_t i = 0; i < plan.registers.size(); ++i)
    if (by_first[i] != 0 && (keep_values || taken[i] != 0)) {
      if (auto r = out.handed_over.push_back(static_cast<RegisterRef>(i)); !r) return pass(r);
      if (auto r = out.types.push_back(plan.registers[i]); !r) return pass(r);
    }
  for (std::size_t i = 0; i < out.states.size(); ++i)
    if (out.states[i].first && out.states[i].last)
      return fail(Errc::stage_handoff, "with ", last_layers, " of ", out.layers, " layers in the last part, both parts",
                  " would use state ", i, ", expected a cut that parts no layers with common keys and values");
  return out;
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
