// SPDX-License-Identifier: Apache-2.0
// zrt/ops/vision_deepstack_extract.hpp: features of a layer of a vision encoder, for a layer of the decoder.
#pragma once

#include <zrt/ops/merged_rows.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

/// Puts `rows` rows side by side, normalises them as one, and passes them through an MLP. Source: the deepstack mergers
/// of the Qwen 3 VL family.
///
/// x f32 [rows·M, d] -> f32 [M, rows of down]; `norm` and `norm_bias` f32 [rows·d].
struct VisionDeepstackExtract {
  using Params = MergedRowsParams;
  using Shared = MergedRows<VisionDeepstackExtract>;
  static constexpr Opcode opcode{18};
  static constexpr std::string_view name = "vision_deepstack_extract";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = Shared::kWeights;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = Shared::Expansion;

  static constexpr Result<void> infer(const TypeCall<VisionDeepstackExtract>& c,
                                      OutputTypes<VisionDeepstackExtract>& out) noexcept {
    return Shared::infer(c, c.params.rows, out);
  }

  template <class G>
  static constexpr Result<Outputs<G, VisionDeepstackExtract>> expand(G& g, const Call<G, VisionDeepstackExtract>& c) {
    return Shared::mlp(g, c, Shared::normed(g, c, Shared::side_by_side(g, c, c.in[0])));
  }
};
static_assert(Op<VisionDeepstackExtract> && !HasReference<VisionDeepstackExtract>);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
