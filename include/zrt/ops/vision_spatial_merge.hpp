// SPDX-License-Identifier: Apache-2.0
// zrt/ops/vision_spatial_merge.hpp: neighbouring patches of a vision encoder as one row of the decoder's width.
#pragma once

#include <zrt/ops/merged_rows.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

/// Normalises every row, puts `rows` of them side by side, and passes them through an MLP. Source: the patch merger of
/// the Qwen 3 VL family.
///
/// x f32 [rows·M, d] -> f32 [M, rows of down]; `norm` and `norm_bias` f32 [d].
struct VisionSpatialMerge {
  using Params = MergedRowsParams;
  using Shared = MergedRows<VisionSpatialMerge>;
  static constexpr Opcode opcode{17};
  static constexpr std::string_view name = "vision_spatial_merge";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = Shared::kWeights;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = Shared::Expansion;

  static constexpr Result<void> infer(const TypeCall<VisionSpatialMerge>& c,
                                      OutputTypes<VisionSpatialMerge>& out) noexcept {
    return Shared::infer(c, 1, out);
  }

  template <class G>
  static constexpr Result<Outputs<G, VisionSpatialMerge>> expand(G& g, const Call<G, VisionSpatialMerge>& c) {
    return Shared::mlp(g, c, Shared::side_by_side(g, c, Shared::normed(g, c, c.in[0])));
  }
};
static_assert(Op<VisionSpatialMerge> && !HasReference<VisionSpatialMerge>);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
