// SPDX-License-Identifier: Apache-2.0
// zrt/ops/lm_head_logits.hpp: final norm and vocabulary projection.
#pragma once

#include <zrt/ops/lm_head.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/shape_rule.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

struct LmHeadLogitsParams {
  float norm_eps = 1e-5f;
  float norm_weight_offset = 0.0f;
  float scale = 1.0f;
  float soft_cap = 0.0f;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&LmHeadLogitsParams::norm_eps, "norm_eps"},
                 Member{&LmHeadLogitsParams::norm_weight_offset, "norm_weight_offset"},
                 Member{&LmHeadLogitsParams::scale, "scale"}, Member{&LmHeadLogitsParams::soft_cap, "soft_cap"});
};

/// logits = lm_head(rms_norm(x)): x f32 [R, d], norm f32 [d], weight [V, d] -> f32 [R, V].
struct LmHeadLogits {
  using Params = LmHeadLogitsParams;
  static constexpr Opcode opcode{10};
  static constexpr std::string_view name = "lm_head_logits";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"logits"}});
  static constexpr auto weight_roles = std::to_array({Role{"norm"}, Role{"weight"}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<RmsNorm, LmHead>;

  static constexpr Result<void> infer(const TypeCall<LmHeadLogits>& c, OutputTypes<LmHeadLogits>& out) noexcept {
    if (auto r = expect_input<LmHeadLogits>(c.in[0], "x", DType::f32, 2); !r) return r;
    const Dim width = c.in[0].type.shape.last();
    if (auto r = expect_vector<LmHeadLogits>(c.w[0], "norm", width.extent, true); !r) return r;
    if (auto r = expect_matrix<LmHeadLogits>(c.w[1], "weight", width.extent); !r) return r;
    out[0] = {DType::f32, c.in[0].type.shape.with_last(c.w[1].shape[0])};
    return {};
  }

  template <class G> static constexpr Result<Outputs<G, LmHeadLogits>> expand(G& g, const Call<G, LmHeadLogits>& c) {
    const Params& p = c.params;
    const RmsNormParams norm{p.norm_eps, p.norm_weight_offset, g.type_of(c.in[0]).shape.last().extent};
    const auto x = g.template emit<RmsNorm>({.in = c.in, .w = {c.w[0]}, .params = norm})[0];
    return g.template emit<LmHead>({.in = {x}, .w = {c.w[1]}, .params = {.scale = p.scale, .soft_cap = p.soft_cap}});
  }
};
static_assert(Op<LmHeadLogits> && !HasReference<LmHeadLogits>);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
