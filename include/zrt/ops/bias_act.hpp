// SPDX-License-Identifier: Apache-2.0
// zrt/ops/bias_act.hpp: a bias along one axis, and the activation of the sum.
#pragma once

#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct BiasActParams {
  Activation act = Activation::none;
  std::uint8_t axis = 0;  ///< of x, as long as the bias

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&BiasActParams::act, "act"}, Member{&BiasActParams::axis, "axis"});
};

/// y = act(x + bias), element by element: x f32 of any shape, bias f32 with an element for each place of `axis`.
///
/// The sum is rounded to f32 before the activation.
struct BiasAct {
  using Params = BiasActParams;
  static constexpr Opcode opcode{104};
  static constexpr std::string_view name = "bias_act";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"bias"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<Reshape, BroadcastTo, ElementwiseBinary, GatedAct>;

  static constexpr Result<void> infer(const TypeCall<BiasAct>& c, OutputTypes<BiasAct>& out) noexcept {
    if (auto r = expect_input<BiasAct>(c.in[0], "x", DType::f32, 1); !r) return r;
    if (auto r = expect_input<BiasAct>(c.in[1], "bias", DType::f32, 1); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (c.params.axis >= x.rank) return bad_params<BiasAct>("axis is none of x");
    if (!(c.in[1].type.shape == Shape{x[c.params.axis]}))
      return bad_shape<BiasAct>("bias", "one axis, as long as x's at `axis`", c.in[1].type.shape);
    if (static_cast<std::uint8_t>(c.params.act) >= kActivations) return bad_params<BiasAct>("act is not known");
    out[0] = c.in[0].type;
    return {};
  }

  static void reference(const HostCall<BiasAct>& c, const ExecutionContext& step, const Worker&) noexcept {
    const AxisSplit x(c.in[0], c.params.axis, step);
    const float* from = c.in[0].as<float>();
    const float* bias = c.in[1].as<float>();
    float* y = c.out[0].as<float>();
    std::uint64_t i = 0;
    for (std::uint64_t outer = 0; outer < x.outer; ++outer)
      for (std::uint64_t at = 0; at < x.extent; ++at)
        for (std::uint64_t inner = 0; inner < x.inner; ++inner, ++i) y[i] = activate(c.params.act, from[i] + bias[at]);
  }

  template <class G> static constexpr Result<Outputs<G, BiasAct>> expand(G& g, const Call<G, BiasAct>& c) {
    const Shape shape = g.type_of(c.in[0]).shape;
    // The bias has extents of 1 behind its own, so that spreading lays it along the axis.
    Shape along{shape[c.params.axis]};
    for (std::size_t axis = c.params.axis + std::size_t{1}; axis < shape.rank; ++axis) along = along.appended(1);
    const auto column = g.template emit<Reshape>({.in = {c.in[1]}, .params = {ShapeParams::of(along)}})[0];
    const auto wide = g.template emit<BroadcastTo>({.in = {column}, .params = {ShapeParams::of(shape)}})[0];
    const auto sum = g.template emit<ElementwiseBinary>({.in = {c.in[0], wide}, .params = {BinaryKind::add}})[0];
    return g.template emit<GatedAct>({.in = {sum, {}}, .params = {c.params.act}});
  }
};
static_assert(Op<BiasAct> && HasReference<BiasAct> && HasExpansion<BiasAct>);

}  // namespace zrt::inline ZRT_ABI::ops
