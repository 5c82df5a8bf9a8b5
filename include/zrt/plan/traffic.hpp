// SPDX-License-Identifier: Apache-2.0
// zrt/plan/traffic.hpp: the bytes that an instruction must move in a step, from its plan.
#pragma once

#include <zrt/ops/embedding.hpp>
#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/kv_page.hpp>
#include <zrt/ops/moe_down_acc.hpp>
#include <zrt/ops/moe_gate_up.hpp>
#include <zrt/ops/ssm_conv1d.hpp>
#include <zrt/plan/execution_plan.hpp>

#include <cstring>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// What a step is about, as far as it decides how many bytes move.
struct StepWork {
  Extents extents{};         ///< actual value of every symbol
  std::uint32_t tokens = 0;  ///< query tokens
  std::uint32_t slots = 0;   ///< that have any of them
  std::uint64_t cached = 0;  ///< positions that attention can see, of all these slots
};

/// Bytes that an instruction reads and writes once each.
struct Traffic {
  std::uint64_t weights = 0;      ///< of a table the rows that are looked up, of experts as many as tokens may choose
  std::uint64_t activations = 0;  ///< inputs and outputs
  std::uint64_t pages = 0;        ///< keys and values, read or written; recurrent state, read and written

  [[nodiscard]] std::uint64_t bytes() const noexcept { return weights + activations + pages; }
};

/// Bytes of a weight as it lies in its file.
[[nodiscard]] inline std::uint64_t weight_bytes(const PlanWeight& w) noexcept {
  return bytes_of(w.dtype, w.shape.elements({}).raw());
}

/// Bytes of a recurrent block that its convolution keeps; 0 where none shares it.
[[nodiscard]] inline std::uint64_t convolved_bytes(const ExecutionPlan& plan, std::uint8_t state) noexcept {
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction insn = plan.instruction(i);
    if (insn.opcode != ops::SsmConv1d::opcode || insn.state_block_id != state) continue;
    const Shape& weight = plan.weights[index(insn.weights[0])].shape;
    return ops::SsmConv1d::state_size(weight[0].extent, weight[1].extent).raw() * sizeof(float);
  }
  return 0;
}

/// The least that an instruction moves: each operand once, whatever caches hold. Sizes were checked when the plan was
/// bound.
[[nodiscard]] inline Traffic traffic(const ExecutionPlan& plan, const Instruction& insn,
                                     const StepWork& step) noexcept {
  Traffic t;
  // A step with no row for the head: its instructions have nothing to do.
  bool idle = !insn.outputs.empty();
  for (const RegisterRef reg : insn.outputs)
    idle = idle && plan.registers[index(reg)].shape.elements(step.extents).raw() == 0;
  if (idle) return t;
  const bool looks_up = insn.opcode == ops::Embedding::opcode;
  // At most as many experts as there are ids.
  const bool chooses = insn.opcode == ops::MoeGateUp::opcode || insn.opcode == ops::MoeDownAcc::opcode;
  const std::uint64_t chosen = chooses ? plan.registers[index(insn.inputs[1])].shape.elements(step.extents).raw() : 0;
  for (const WeightRef w : insn.weights) {
    if (w == kNoWeight) continue;
    const PlanWeight& weight = plan.weights[index(w)];
    const std::uint64_t experts = chooses ? weight.shape[0].extent : 0;
    t.weights += looks_up           ? step.tokens * bytes_of(weight.dtype, std::uint64_t{weight.shape.last().extent})
                 : chosen < experts ? weight_bytes(weight) / experts * chosen
                                    : weight_bytes(weight);
  }
  for (const Span<const RegisterRef> list : {insn.inputs, insn.outputs})
    for (const RegisterRef reg : list) {
      if (reg == kNoRegister) continue;
      const TensorType& type = plan.registers[index(reg)];
      t.activations += bytes_of(type.dtype, type.shape.elements(step.extents)).raw();
    }
  if (!insn.state_block_id) return t;
  const StateDescriptor& state = plan.states[*insn.state_block_id];
  if (state.lifecycle == StateLifecycle::recurrent) {
    const std::uint64_t convolved = convolved_bytes(plan, *insn.state_block_id);
    const bool convolves = insn.opcode == ops::SsmConv1d::opcode;
    t.pages = std::uint64_t{2} * step.slots * (convolves ? convolved : state.size_bytes - convolved);
    return t;
  }
  std::uint64_t positions = step.tokens;
  if (insn.opcode == ops::FlashAttnBatched::opcode) {
    positions = step.cached;
    if (insn.param_block_id) {
      ops::FlashAttnBatchedParams p{};
      const ParamBlock block = plan.param_block(*insn.param_block_id);
      if (block.data.size() == sizeof p) std::memcpy(&p, block.data.data(), sizeof p);
      // The last query of a slot sees one window, those before it as many positions more as they are.
      const std::uint64_t most = std::uint64_t{p.most_visible()} * step.slots + step.tokens;
      if (p.most_visible() != 0 && most < positions) positions = most;
    }
  }
  t.pages = positions * state.size_bytes / kPageTokens;
  return t;
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
