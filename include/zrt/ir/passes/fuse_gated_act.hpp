// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/fuse_gated_act.hpp: SiLU, GELU, ReLU and its square from primitives, with the gate's product.
#pragma once

#include <zrt/ir/passes/pattern.hpp>
#include <zrt/ops/gated_act.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// A product taken apart: a number and the values that it multiplies.
struct ProductFactors {
  double number = 1;
  std::array<std::uint32_t, 8> value{};
  std::uint32_t count = 0;
};

/// Takes the product `v` apart as far as products, and quotients by a number, go; `whole` stays in one piece.
[[nodiscard]] inline bool factors(Pattern& p, std::uint32_t v, std::uint32_t whole, ProductFactors& into,
                                  int depth = 0) noexcept {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  if (depth > 6) return false;
  if (v != whole) {
    if (const auto number = p.splat(v)) {
      into.number *= *number;
      return true;
    }
    if (p.binary(v, ops::BinaryKind::mul, a, b))
      return factors(p, a, whole, into, depth + 1) && factors(p, b, whole, into, depth + 1);
    const std::uint32_t at = p.mark();
    if (p.binary(v, ops::BinaryKind::div, a, b)) {
      const auto number = p.splat(b);
      if (number && *number != 0) {
        into.number /= *number;
        return factors(p, a, whole, into, depth + 1);
      }
      p.back(at);
    }
  }
  if (into.count == into.value.size()) return false;
  into.value[into.count++] = v;
  return true;
}

/// `v` = number · x^power.
[[nodiscard]] inline bool is_power(Pattern& p, std::uint32_t v, std::uint32_t x, double number,
                                   std::uint32_t power) noexcept {
  ProductFactors f;
  if (!factors(p, v, x, f) || f.count != power || !is_near(f.number, number)) return false;
  for (std::uint32_t i = 0; i < power; ++i)
    if (f.value[i] != x) return false;
  return true;
}

/// `v` = x / (1 + exp(-x)), or x times what that divides by, inverted.
[[nodiscard]] inline bool silu(Pattern& p, std::uint32_t v, std::uint32_t& x) noexcept {
  return p.quotient(v, [&](std::uint32_t a, std::uint32_t b) {
    x = a;
    return p.commutes(b, ops::BinaryKind::add, [&](std::uint32_t one, std::uint32_t power) {
      std::uint32_t minus = 0;
      std::uint32_t of = 0;
      if (!p.is_splat(one, 1.0) || !p.unary(power, ops::UnaryKind::exp, minus)) return false;
      if (p.unary(minus, ops::UnaryKind::neg, of)) return of == a;
      return p.commutes(minus, ops::BinaryKind::mul,
                        [&](std::uint32_t c, std::uint32_t d) { return c == a && p.splat(d) == -1.0; });
    });
  });
}

inline constexpr double kSqrtHalf = 0.70710678118654752;
inline constexpr double kSqrtTwoOverPi = 0.79788456080286536;
inline constexpr double kGeluCubic = 0.044715;

/// `u` = sqrt(2 / pi) · (x + 0.044715 · x³), or with x taken out of the sum.
[[nodiscard]] inline bool gelu_inner(Pattern& p, std::uint32_t u, std::uint32_t& x) noexcept {
  const auto sum = [&](std::uint32_t v, std::uint32_t of) {
    return p.commutes(v, ops::BinaryKind::add,
                      [&](std::uint32_t a, std::uint32_t b) { return a == of && is_power(p, b, of, kGeluCubic, 3); });
  };
  const auto bracket = [&](std::uint32_t v, std::uint32_t of) {
    return p.commutes(v, ops::BinaryKind::add, [&](std::uint32_t a, std::uint32_t b) {
      return p.is_splat(a, 1.0) && is_power(p, b, of, kGeluCubic, 2);
    });
  };
  // The sum is a factor of u, and x one of its operands.
  const std::uint32_t at = p.mark();
  ProductFactors f;
  if (!factors(p, u, kNone, f) || !is_near(f.number, kSqrtTwoOverPi)) return false;
  if (f.count == 1) {
    const std::uint32_t v = f.value[0];
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    if (!p.binary(v, ops::BinaryKind::add, a, b)) return false;
    for (std::uint32_t of : {a, b}) {
      x = of;
      if (p.attempt([&] { return sum(v, of); })) return true;
    }
    return false;
  }
  // x may be a product itself, which only the bracket tells apart.
  for (std::uint32_t i = 0; i < f.count; ++i) {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    if (!p.attempt([&] { return p.binary(f.value[i], ops::BinaryKind::add, a, b); })) continue;
    for (std::uint32_t k = 0; k < f.count; ++k) {
      if (k == i) continue;
      p.back(at);
      x = f.value[k];
      ProductFactors again;
      if (factors(p, u, x, again) && again.count == 2 && bracket(f.value[i], x)) return true;
    }
  }
  return false;
}

/// `v` = 0.5 · x · (1 + g(x)), in any order of the factors, with g what `inner` says of the value in brackets.
template <class Inner> [[nodiscard]] bool gelu_product(Pattern& p, std::uint32_t v, Inner&& inner) noexcept {
  const std::uint32_t at = p.mark();
  ProductFactors open;
  if (!factors(p, v, kNone, open)) {
    p.back(at);
    return false;
  }
  for (std::uint32_t i = 0; i < open.count; ++i) {
    p.back(at);
    std::uint32_t x = kNone;
    const std::uint32_t bracket = open.value[i];
    const bool found = p.commutes(bracket, ops::BinaryKind::add, [&](std::uint32_t one, std::uint32_t g) {
      return p.is_splat(one, 1.0) && inner(g, x);
    });
    if (!found) continue;
    ProductFactors f;
    if (factors(p, v, x, f) && is_near(f.number, 0.5) && f.count == 2 &&
        ((f.value[0] == x && f.value[1] == bracket) || (f.value[1] == x && f.value[0] == bracket)))
      return true;
  }
  p.back(at);
  return false;
}

/// Which activation `v` is, and of what.
[[nodiscard]] inline std::optional<Activation> activation(Pattern& p, std::uint32_t v, std::uint32_t& x) noexcept {
  const std::uint32_t at = p.mark();
  if (silu(p, v, x)) return Activation::silu;
  p.back(at);
  if (gelu_product(p, v, [&](std::uint32_t g, std::uint32_t& of) {
        std::uint32_t u = 0;
        if (!p.unary(g, ops::UnaryKind::erf, u)) return false;
        // x · c or x / c, and not further: x may be a product.
        std::uint32_t by = 0;
        const bool scaled = p.commutes(u, ops::BinaryKind::mul, [&](std::uint32_t a, std::uint32_t b) {
          of = a;
          return p.is_splat(b, kSqrtHalf);
        }) || p.attempt([&] { return p.binary(u, ops::BinaryKind::div, of, by) && p.is_splat(by, 1.0 / kSqrtHalf); });
        x = of;
        return scaled;
      }))
    return Activation::gelu;
  if (gelu_product(p, v, [&](std::uint32_t g, std::uint32_t& of) {
        std::uint32_t u = 0;
        const bool found = p.unary(g, ops::UnaryKind::tanh, u) && gelu_inner(p, u, of);
        x = of;
        return found;
      }))
    return Activation::gelu_tanh;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  const auto relu = [&](std::uint32_t of) {
    return p.commutes(of, ops::BinaryKind::maximum, [&](std::uint32_t y, std::uint32_t zero) {
      x = y;
      return p.splat(zero) == 0.0;
    });
  };
  if (relu(v)) return Activation::relu;
  if (p.binary(v, ops::BinaryKind::mul, a, b) && a == b) {
    // The maximum may have become relu before its square is met.
    Span<const std::uint32_t> act;
    const auto params = p.made_by<ops::GatedAct>(a, act);
    if (params && params->act == Activation::relu && act[1] == kNone) {
      x = act[0];
      return Activation::relu2;
    }
    if (relu(a)) return Activation::relu2;
  }
  p.back(at);
  return std::nullopt;
}

}  // namespace detail

/// Replaces SiLU, GELU (with erf or tanh), ReLU and its square by gated_act, and takes the product with another
/// value behind it in as `up`. Within 2e-6 of max(1, |activation|), times |up|.
[[nodiscard]] inline Result<bool> fuse_gated_act(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    const auto binary = r.params<ops::ElementwiseBinary>(node);
    if (!binary) return {};
    using enum ops::BinaryKind;
    if (binary->kind != mul && binary->kind != div && binary->kind != maximum) return {};
    Pattern p(r, node);
    const std::uint32_t result = p.result();
    if (!p.is_f32(result)) return {};
    const auto settle = [](const Result<bool>& done) { return done ? Result<void>() : pass(done); };
    std::uint32_t x = 0;
    if (const auto kind = detail::activation(p, result, x)) {
      if (!p.closed()) return {};
      return settle(r.replace<ops::GatedAct>(node, {x, kNone}, {}, {*kind}));
    }
    Span<const std::uint32_t> act;
    std::optional<ops::GatedActParams> params;
    std::uint32_t up = 0;
    const bool found = p.commutes(result, ops::BinaryKind::mul, [&](std::uint32_t a, std::uint32_t b) {
      params = p.made_by<ops::GatedAct>(a, act);
      up = b;
      return params && a != b && act[1] == kNone && !p.splat(b);
    });
    if (!found || !p.closed()) return {};
    return settle(r.replace<ops::GatedAct>(node, {act[0], up}, {}, *params));
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
