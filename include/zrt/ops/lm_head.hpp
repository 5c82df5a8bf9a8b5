// SPDX-License-Identifier: Apache-2.0
// zrt/ops/lm_head.hpp: vocabulary projection with soft cap and scale.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct LmHeadParams {
  float scale = 1.0f;     ///< logits are multiplied by it
  float soft_cap = 0.0f;  ///< then become cap · tanh(y / cap); 0 for none
  quant::Act act = quant::Act::none;
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&LmHeadParams::scale, "scale"}, Member{&LmHeadParams::soft_cap, "soft_cap"},
                 Member{&LmHeadParams::act, "act"}, Member{&LmHeadParams::reserved, "reserved"});
};

/// logits = cap · tanh(scale · (W x) / cap): x f32 [R, d], weight [V, d] -> f32 [R, V].
struct LmHead {
  using Params = LmHeadParams;
  static constexpr Opcode opcode{48};
  static constexpr std::string_view name = "lm_head";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"logits"}});
  static constexpr auto weight_roles = std::to_array({Role{"weight"}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr auto act_fields = std::to_array({ActField<LmHeadParams>{0, &LmHeadParams::act}});
  using expands_to = boost::mp11::mp_list<Linear, Constant, BroadcastTo, ElementwiseUnary, ElementwiseBinary>;

  static constexpr Result<void> infer(const TypeCall<LmHead>& c, OutputTypes<LmHead>& out) noexcept {
    if (auto r = expect_input<LmHead>(c.in[0], "x", DType::f32, 2); !r) return r;
    return Linear::infer({c.in, {}, {c.w[0], {}}, {}, {c.params.act, {}}}, out);
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<LmHead>& c, const Extents&) noexcept {
    return projection_scratch(c.in[0].type.shape.last().extent);
  }

  /// Scale and soft cap of one logit.
  [[nodiscard]] static float finish(const Params& p, float y) noexcept {
    const float scaled = math::sealed(p.scale == 1.0f ? y : y * p.scale);
    return p.soft_cap == 0.0f ? scaled : math::sealed(p.soft_cap * math::tanh(scaled / p.soft_cap));
  }

  static void reference(const HostCall<LmHead>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    Linear::reference({c.in, c.out, {c.w[0], {}}, {}, {c.params.act, {}}}, step, worker);
    if (c.params.scale == 1.0f && c.params.soft_cap == 0.0f) return;
    float* y = c.out[0].as<float>();
    for (std::uint64_t i = 0; i < c.out[0].elements(step); ++i) y[i] = finish(c.params, y[i]);
  }

  template <class G> static constexpr Result<Outputs<G, LmHead>> expand(G& g, const Call<G, LmHead>& c) {
    auto y = g.template emit<Linear>({.in = c.in, .w = {c.w[0], {}}, .params = {c.params.act, {}}})[0];
    const Shape shape = g.type_of(y).shape;
    auto with = [&](BinaryKind kind, auto x, float value) {
      const auto one = g.template emit<Constant>({.in = {}, .w = {g.constant({&value, 1})}})[0];
      const auto wide = g.template emit<BroadcastTo>({.in = {one}, .params = {ShapeParams::of(shape)}})[0];
      return g.template emit<ElementwiseBinary>({.in = {x, wide}, .params = {kind}})[0];
    };
    if (c.params.scale != 1.0f) y = with(BinaryKind::mul, y, c.params.scale);
    if (c.params.soft_cap != 0.0f) {
      y = with(BinaryKind::div, y, c.params.soft_cap);
      y = g.template emit<ElementwiseUnary>({.in = {y}, .params = {UnaryKind::tanh}})[0];
      y = with(BinaryKind::mul, y, c.params.soft_cap);
    }
    return Outputs<G, LmHead>{y};
  }
};
static_assert(Op<LmHead> && HasReference<LmHead> && HasExpansion<LmHead>);

}  // namespace zrt::inline ZRT_ABI::ops
