// SPDX-License-Identifier: Apache-2.0
// zrt/ops/elementwise_unary.hpp: one function applied to every element.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// PTIR's eight kinds; sin and cos are zrt's own, so that rope has a form in primitives.
enum class UnaryKind : std::uint8_t { neg, abs, exp, log, tanh, erf, rsqrt, reciprocal, sin, cos };
inline constexpr std::uint8_t kUnaryKinds = 10;

struct ElementwiseUnaryParams {
  UnaryKind kind = UnaryKind::neg;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&ElementwiseUnaryParams::kind, "kind"});
};

/// y[i] = f(x[i]) for f32. rsqrt(x) is 1 / sqrt(x), both IEEE.
struct ElementwiseUnary {
  using Params = ElementwiseUnaryParams;
  static constexpr Opcode opcode{65};
  static constexpr std::string_view name = "elementwise_unary";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<ElementwiseUnary>& c,
                                      OutputTypes<ElementwiseUnary>& out) noexcept {
    if (auto r = expect_input<ElementwiseUnary>(c.in[0], "x", DType::f32, 0); !r) return r;
    if (static_cast<std::uint8_t>(c.params.kind) >= kUnaryKinds)
      return bad_params<ElementwiseUnary>("kind is not known");
    out[0] = c.in[0].type;
    return {};
  }

  [[nodiscard]] static float apply(UnaryKind kind, float x) noexcept {
    switch (kind) {
      case UnaryKind::neg:
        return -x;
      case UnaryKind::abs:
        return __builtin_fabsf(x);
      case UnaryKind::exp:
        return math::exp(x);
      case UnaryKind::log:
        return math::log(x);
      case UnaryKind::tanh:
        return math::tanh(x);
      case UnaryKind::erf:
        return math::erf(x);
      case UnaryKind::rsqrt:
        return 1.0f / __builtin_sqrtf(x);
      case UnaryKind::reciprocal:
        return 1.0f / x;
      case UnaryKind::sin:
        return math::sin(x);
      case UnaryKind::cos:
        return math::cos(x);
    }
    return x;
  }

  static void reference(const HostCall<ElementwiseUnary>& c, const ExecutionContext& step, const Worker&) noexcept {
    const float* x = c.in[0].as<float>();
    float* y = c.out[0].as<float>();
    for (std::uint64_t i = 0; i < c.in[0].elements(step); ++i) y[i] = apply(c.params.kind, x[i]);
  }
};
static_assert(Op<ElementwiseUnary>);

}  // namespace zrt::inline ZRT_ABI::ops
