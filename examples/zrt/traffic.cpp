// SPDX-License-Identifier: Apache-2.0
// examples/zrt/traffic.cpp: bytes that a step must read and operations that it must do, from its plan.
#include "traffic.hpp"
#include <zrt/exec/batch.hpp>
#include <zrt/ops/flash_attn_batched.hpp>

#include <set>

namespace program {
namespace {

using zrt::plan::ExecutionPlan;

std::uint64_t elements(const zrt::plan::PlanWeight& w) { return w.shape.elements({}).raw(); }

std::uint64_t bytes(const zrt::plan::PlanWeight& w) { return zrt::bytes_of(w.dtype, elements(w)); }

/// Adds what one instruction does with one of its matrices over `rows` rows.
void add_weight(const zrt::plan::PlanWeight& w, bool looked_up, double rows, StepCost& t) {
  if (looked_up) {
    t.weight_bytes += rows * static_cast<double>(zrt::bytes_of(w.dtype, w.shape.last().extent));
    return;
  }
  t.weight_bytes += static_cast<double>(bytes(w));
  if (w.shape.rank < 2) return;  // norms and biases are no products
  (zrt::is_block(w.dtype) ? t.int8_ops : t.f32_ops) += 2.0 * rows * static_cast<double>(elements(w));
}

void add_state(const zrt::StateDescriptor& d, const StepShape& step, StepCost& t) {
  if (d.lifecycle == zrt::StateLifecycle::kv_paged)
    t.kv_bytes += step.cached * static_cast<double>(d.size_bytes) / zrt::kPageTokens;
}

/// Adds the products of queries with keys and of probabilities with values.
void add_attention(const ExecutionPlan& plan, const zrt::plan::Instruction& insn, const StepShape& step, StepCost& t) {
  using Attention = zrt::ops::FlashAttnBatched;
  if (insn.opcode != Attention::opcode || !insn.param_block_id) return;
  const auto params = zrt::decode_params<Attention>(plan.param_block(*insn.param_block_id));
  if (params) t.f32_ops += 2.0 * step.visible * params->heads * (params->key_dim + params->value_dim);
}

}  // namespace

StepCost traffic(const Model& model, const StepShape& step) {
  const ExecutionPlan& plan = model.plan().plan;
  const zrt::SymbolId rows_symbol = plan.symbol(zrt::exec::port::kRows);
  StepCost t;
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const zrt::plan::Instruction insn = plan.instruction(i);
    const bool looked_up = op_table()[number(insn.opcode)]->name == "embedding";
    const bool head = !insn.outputs.empty() && plan.registers[index(insn.outputs[0])].shape[0].symbol == rows_symbol;
    for (const zrt::plan::WeightRef w : insn.weights)
      if (w != zrt::plan::kNoWeight) add_weight(plan.weights[index(w)], looked_up, head ? step.rows : step.tokens, t);
    add_attention(plan, insn, step, t);
  }
  for (const zrt::StateDescriptor& d : plan.states) add_state(d, step, t);
  return t;
}

std::uint64_t plan_weight_bytes(const Model& model) {
  std::set<std::string_view> seen;
  std::uint64_t sum = 0;
  for (const zrt::plan::PlanWeight& w : model.plan().plan.weights)
    if (seen.insert(w.name.view()).second) sum += bytes(w);
  return sum;
}

}  // namespace program
