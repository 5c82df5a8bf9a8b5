// SPDX-License-Identifier: Apache-2.0
// zrt/plan/layer_of.hpp: which layer of a model each instruction of its plan belongs to.
#pragma once

#include <zrt/plan/execution_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// The layer of an instruction that belongs to none: embedding, head, sampler.
inline constexpr std::uint32_t kNoLayer = ~std::uint32_t{0};

/// The layer that a weight's name says: 12 for `blk.12.attn_q.weight`; kNoLayer for a name without a layer.
[[nodiscard]] constexpr std::uint32_t layer_of(std::string_view weight) noexcept {
  constexpr std::string_view kPrefix = "blk.";
  if (!weight.starts_with(kPrefix)) return kNoLayer;
  std::uint32_t layer = 0;
  std::size_t at = kPrefix.size();
  for (; at < weight.size() && weight[at] >= '0' && weight[at] <= '9' && layer < 100000; ++at)
    layer = layer * 10 + static_cast<std::uint32_t>(weight[at] - '0');
  return at > kPrefix.size() && at < weight.size() && weight[at] == '.' ? layer : kNoLayer;
}
static_assert(layer_of("blk.12.attn_q.weight") == 12 && layer_of("blk.0.x") == 0);
static_assert(layer_of("output.weight") == kNoLayer && layer_of("blk.") == kNoLayer && layer_of("blk.1") == kNoLayer &&
              layer_of("blk.x.y") == kNoLayer);

/// By instruction: its layer, or kNoLayer.
///
/// An instruction belongs to the layer that its weights name. One without weights belongs to the layer of the
/// instruction before it, as attention and sums do in every decoder.
[[nodiscard]] inline Result<Vector<std::uint32_t>> layers(const ExecutionPlan& plan) noexcept {
  Vector<std::uint32_t> out(plan.allocator);
  std::uint32_t last = kNoLayer;
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction insn = plan.instruction(i);
    bool named = false;
    std::uint32_t layer = kNoLayer;
    for (const WeightRef w : insn.weights) {
      if (w == kNoWeight || plan.weights[index(w)].inline_data()) continue;
      named = true;
      if (layer == kNoLayer) layer = layer_of(plan.weights[index(w)].name.view());
    }
    if (named) last = layer;
    if (auto r = out.push_back(last); !r) return pass(r);
  }
  return out;
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
