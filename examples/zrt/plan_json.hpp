// SPDX-License-Identifier: Apache-2.0
// examples/zrt/plan_json.hpp: a compiled plan and an engine's memory as JSON, from which text is made too.
#pragma once

#include "model.hpp"

#include <nlohmann/json_fwd.hpp>

namespace program {

/// Instructions with operands, parameters and liveness; registers; states; weights; diagnostics.
[[nodiscard]] nlohmann::ordered_json plan_json(Model& model);

[[nodiscard]] nlohmann::ordered_json plan_json(const zrt::plan::CompiledPlan& plan, std::string_view backend,
                                               std::string_view isa);

/// The plan that a plan_json describes, for people.
[[nodiscard]] std::string plan_text(const nlohmann::ordered_json& plan);

/// Weights, states and both arenas of an open engine, and what it allocated in all.
[[nodiscard]] nlohmann::ordered_json memory_json(Model& model);

/// "f32 [tokens, 256]".
[[nodiscard]] std::string type_text(const zrt::plan::ExecutionPlan& plan, const zrt::TensorType& type);

}  // namespace program
