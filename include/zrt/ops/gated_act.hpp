// SPDX-License-Identifier: Apache-2.0
// zrt/ops/gated_act.hpp: the activation of a gated block.
#pragma once

#include <zrt/ops/activation.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct GatedActParams {
  Activation act = Activation::silu;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&GatedActParams::act, "act"});
};

/// y = act(gate) · up, element by element; without `up`, y = act(gate). Activation::swiglu_oai clamps `up` too.
struct GatedAct {
  using Params = GatedActParams;
  static constexpr Opcode opcode{62};
  static constexpr std::string_view name = "gated_act";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"gate"}, Role{"up", true}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}, Alias{0, 1}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<Constant, BroadcastTo, ElementwiseUnary, ElementwiseBinary>;

  static constexpr Result<void> infer(const TypeCall<GatedAct>& c, OutputTypes<GatedAct>& out) noexcept {
    if (auto r = expect_input<GatedAct>(c.in[0], "gate", DType::f32, 0); !r) return r;
    if (c.in[1].present()) {
      if (auto r = expect_input<GatedAct>(c.in[1], "up", DType::f32, 0); !r) return r;
      if (!(c.in[0].type.shape == c.in[1].type.shape))
        return bad_shape<GatedAct>("up", "the shape of gate", c.in[1].type.shape);
    }
    if (static_cast<std::uint8_t>(c.params.act) >= kActivations) return bad_params<GatedAct>("act is not known");
    out[0] = c.in[0].type;
    return {};
  }

  static void reference(const HostCall<GatedAct>& c, const ExecutionContext& step, const Worker&) noexcept {
    const float* gate = c.in[0].as<float>();
    const float* up = c.in[1].as<float>();
    float* y = c.out[0].as<float>();
    for (std::uint64_t i = 0; i < c.in[0].elements(step); ++i) {
      y[i] = up == nullptr ? activate(c.params.act, gate[i]) : gated(c.params.act, gate[i], up[i]);
    }
  }

  template <class G> static constexpr Result<Outputs<G, GatedAct>> expand(G& g, const Call<G, GatedAct>& c) {
    const Shape shape = g.type_of(c.in[0]).shape;
    auto unary = [&](UnaryKind kind, auto x) {
      return g.template emit<ElementwiseUnary>({.in = {x}, .params = {kind}})[0];
    };
    auto binary = [&](BinaryKind kind, auto a, auto b) {
      return g.template emit<ElementwiseBinary>({.in = {a, b}, .params = {kind}})[0];
    };
    auto scalar = [&](float value) {
      const auto one = g.template emit<Constant>({.in = {}, .w = {g.constant({&value, 1})}})[0];
      return g.template emit<BroadcastTo>({.in = {one}, .params = {ShapeParams::of(shape)}})[0];
    };
    const auto x = c.in[0];
    auto y = x;
    switch (c.params.act) {
      case Activation::none:
        break;
      case Activation::silu: {
        const auto down = binary(BinaryKind::add, scalar(1.0f), unary(UnaryKind::exp, unary(UnaryKind::neg, x)));
        y = binary(BinaryKind::div, x, down);
        break;
      }
      case Activation::gelu: {
        const auto inner = unary(UnaryKind::erf, binary(BinaryKind::mul, x, scalar(0.70710678118654752f)));
        y = binary(BinaryKind::mul, binary(BinaryKind::mul, scalar(0.5f), x),
                   binary(BinaryKind::add, scalar(1.0f), inner));
        break;
      }
      case Activation::gelu_tanh: {
        const auto cube = binary(BinaryKind::mul, binary(BinaryKind::mul, x, x), x);
        const auto sum = binary(BinaryKind::add, x, binary(BinaryKind::mul, scalar(0.044715f), cube));
        const auto inner = unary(UnaryKind::tanh, binary(BinaryKind::mul, scalar(0.79788456080286536f), sum));
        y = binary(BinaryKind::mul, binary(BinaryKind::mul, scalar(0.5f), x),
                   binary(BinaryKind::add, scalar(1.0f), inner));
        break;
      }
      case Activation::relu2: {
        const auto positive = binary(BinaryKind::maximum, x, scalar(0.0f));
        y = binary(BinaryKind::mul, positive, positive);
        break;
      }
      case Activation::relu:
        y = binary(BinaryKind::maximum, x, scalar(0.0f));
        break;
      case Activation::swiglu_oai: {
        const auto clamped = binary(BinaryKind::minimum, x, scalar(7.0f));
        const auto turned = unary(UnaryKind::neg, binary(BinaryKind::mul, clamped, scalar(1.702f)));
        y = binary(BinaryKind::div, clamped, binary(BinaryKind::add, scalar(1.0f), unary(UnaryKind::exp, turned)));
        break;
      }
    }
    if (!c.in[1].present()) return Outputs<G, GatedAct>{y};
    auto up = c.in[1];
    if (c.params.act == Activation::swiglu_oai) {
      const auto clamped = binary(BinaryKind::maximum, binary(BinaryKind::minimum, up, scalar(7.0f)), scalar(-7.0f));
      up = binary(BinaryKind::add, clamped, scalar(1.0f));
    }
    y = binary(BinaryKind::mul, y, up);
    return Outputs<G, GatedAct>{y};
  }
};
static_assert(Op<GatedAct> && HasReference<GatedAct> && HasExpansion<GatedAct>);

}  // namespace zrt::inline ZRT_ABI::ops
