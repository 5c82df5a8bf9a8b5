// SPDX-License-Identifier: Apache-2.0
// zrt/model/vision_plan.hpp: from the file of a vision encoder to its compiled stage.
#pragma once

#include <zrt/model/check_tensors.hpp>
#include <zrt/model/vision_encoder.hpp>
#include <zrt/model/vision_inputs.hpp>
#include <zrt/plan/compile.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Compiles the stage vision_encode of `file`, whose config is `c`, for a backend's claims.
///
/// Errors: those of the builder and of plan::compile; Errc::unimplemented for a tensor that the encoder has no place for.
[[nodiscard]] inline Result<plan::CompiledPlan> compile_vision_encoder(
    const GgufFile& file, const VisionConfig& c, const ir::Ops& ops, const OpSet& claims,
    const Allocator& allocator = system_allocator()) noexcept {
  ir::Builder g(*ops.table, allocator, vision_weight_lookup(file));
  build_vision_encoder(g, c);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  auto compiled = plan::compile(*graph, ops, claims);
  // vision_inputs reads the positions.
  constexpr std::array elsewhere{kVisionPlaces};
  if (compiled)
    if (auto r = check_tensors(file, compiled->plan, {elsewhere.data(), elsewhere.size()}); !r) return pass(r);
  return compiled;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
