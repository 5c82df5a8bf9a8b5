// SPDX-License-Identifier: Apache-2.0
// examples/zrt/traffic.hpp: bytes that a step must read and operations that it must do, from its plan.
#pragma once

#include "model.hpp"

namespace program {

/// What one step costs at least. Multiply and add are two operations.
struct StepCost {
  double weight_bytes = 0.0;  ///< each weight once per step, of tables the rows that are looked up
  double kv_bytes = 0.0;      ///< keys and values of all visible positions
  double int8_ops = 0.0;      ///< products of blocks with rounded activations
  double f32_ops = 0.0;       ///< other products, attention included

  [[nodiscard]] double bytes() const { return weight_bytes + kv_bytes; }
};

/// One step over `tokens` query tokens of which `rows` reach the head; `visible` is the sum over the
/// query tokens of the positions that each attends to, `cached` the sum over sequences of the
/// positions whose pages are read.
struct StepShape {
  double tokens = 0.0;
  double rows = 0.0;
  double visible = 0.0;
  double cached = 0.0;
};

[[nodiscard]] StepCost traffic(const Model& model, const StepShape& step);

/// Bytes of all weights that the plan names, each once.
[[nodiscard]] std::uint64_t plan_weight_bytes(const Model& model);

}  // namespace program
