// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/rules_elementwise.hpp: gradients of what works element by element.
#pragma once

#include <zrt/ir/gradient/axes.hpp>
#include <zrt/ir/gradient/call.hpp>

namespace zrt::inline ZRT_ABI::ir::gradient::rules {

/// y = op(x). The slope of abs at 0 is 0.
inline void elementwise_unary(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const std::string_view op = c.choice(ptir::field_index("elementwise_unary", "op"));
  const Tensor g = c.cotangent();
  if (op == "neg") return c.give(0, -g);
  if (op == "abs") {
    const Tensor x = c.in(0), zero = b.scalar(x.dtype(), 0);
    return c.give(0, b.select(b.gt(x, zero), g, b.select(b.lt(x, zero), -g, zero)));
  }
  if (op == "exp") return c.give(0, g * c.out());
  if (op == "log") return c.give(0, g / c.in(0));
  if (op == "tanh") return c.give(0, g * (b.scalar(g.dtype(), 1) - c.out() * c.out()));
  if (op == "erf") {
    constexpr double kTwoBySqrtPi = 0x1.20dd750429b6dp+0;
    const Tensor x = c.in(0);
    return c.give(0, g * (b.exp(-(x * x)) * kTwoBySqrtPi));
  }
  const Tensor y = c.out();
  if (op == "rsqrt") return c.give(0, g * (y * y * y * -0.5));
  if (op == "reciprocal") return c.give(0, -(g * (y * y)));
  c.unimplemented(op);
}

/// y = op(a, b). Where maximum and minimum find equals, each gets half.
inline void elementwise_binary(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const std::string_view op = c.choice(ptir::field_index("elementwise_binary", "op"));
  const Tensor g = c.cotangent();
  if (op == "add" || op == "sub") {
    if (c.wants(0)) c.give(0, g);
    if (c.wants(1)) c.give(1, op == "add" ? g : -g);
  } else if (op == "mul") {
    if (c.wants(0)) c.give(0, g * c.in(1));
    if (c.wants(1)) c.give(1, g * c.in(0));
  } else if (op == "div") {
    const Tensor share = g / c.in(1);
    if (c.wants(0)) c.give(0, share);
    if (c.wants(1)) c.give(1, -(share * c.out()));
  } else {
    const Tensor x = c.in(0), y = c.in(1), zero = b.scalar(g.dtype(), 0);
    const Tensor half = b.select(b.eq(x, y), g * 0.5, zero);
    const Tensor first = op == "maximum" ? b.gt(x, y) : b.lt(x, y);
    const Tensor second = op == "maximum" ? b.gt(y, x) : b.lt(y, x);
    if (c.wants(0)) c.give(0, b.select(first, g, half));
    if (c.wants(1)) c.give(1, b.select(second, g, half));
  }
}

inline void select(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const Tensor g = c.cotangent(), zero = b.scalar(g.dtype(), 0);
  if (c.wants(1)) c.give(1, b.select(c.in(0), g, zero));
  if (c.wants(2)) c.give(2, b.select(c.in(0), zero, g));
}

inline void cast(GradientCall& c) noexcept { c.give(0, c.builder().cast(c.cotangent(), c.in_type(0).dtype)); }

/// A value on a bound counts as inside.
inline void clamp(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const Tensor g = c.cotangent(), x = c.in(0), lo = c.in(1), hi = c.in(2), zero = b.scalar(g.dtype(), 0);
  const Tensor below = b.lt(x, lo), above = b.gt(b.maximum(x, lo), hi);
  if (c.wants(0)) c.give(0, b.select(above, zero, b.select(below, zero, g)));
  if (c.wants(1)) c.give(1, b.select(above, zero, b.select(below, g, zero)));
  if (c.wants(2)) c.give(2, b.select(above, g, zero));
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient::rules
