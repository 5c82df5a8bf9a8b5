// SPDX-License-Identifier: Apache-2.0
// zrt/plan/traffic.hpp: the bytes that an instruction must move in a step, from its plan.
#pragma once

#include <zrt/ops/embedding.hpp>
#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/kv_page.hpp>
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
  std::uint64_t weights = 0;      ///< of a table the rows that are looked up
  std::uint64_t activations = 0;  ///< inputs and outputs
  std::uint64_t pages = 0;        ///< keys and values, read or written

  [[nodiscard]] std::uint64_t bytes() const noexcept { return weights + activations + pages; }
};

/// Bytes of a weight as it lies in its file.
[[nodiscard]] inline std::uint64_t weight_bytes(const PlanWeight& w) noexcept {
  return bytes_of(w.dtype, w.shape.elements({}).raw());
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
  for (const WeightRef w : insn.weights) {
    if (w == kNoWeight) continue;
    const PlanWeight& weight = plan.weights[index(w)];
    t.weights += looks_up ? step.tokens * bytes_of(weight.dtype, std::uint64_t{weight.shape.last().extent})
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
  if (state.lifecycle != StateLifecycle::kv_paged) return t;
  std::uint64_t positions = step.tokens;
  if (insn.opcode == ops::FlashAttnBatched::opcode) {
    positions = step.cached;
    if (insn.param_block_id) {
      ops::FlashAttnBatchedParams p{};
      const ParamBlock block = plan.param_block(*insn.param_block_id);
      if (block.data.size() == sizeof p) std::memcpy(&p, block.data.data(), sizeof p);
      // The last query of a slot sees one window, those before it as many positions more as they are.
      const std::uint64_t most = std::uint64_t{p.window} * step.slots + step.tokens;
      if (p.window != 0 && most < positions) positions = most;
    }
  }
  t.pages = positions * state.size_bytes / kPageTokens;
  return t;
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
