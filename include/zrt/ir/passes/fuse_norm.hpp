// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/fuse_norm.hpp: RMS norm and layer norm of the last axis from primitives.
#pragma once

#include <zrt/ir/passes/pattern.hpp>
#include <zrt/ops/layer_norm.hpp>
#include <zrt/ops/rms_norm.hpp>

#include <bit>
#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// `v` = x / sqrt(mean(x²) + eps) over the last axis. The square root, which has no op, is the reciprocal of
/// rsqrt, or t · rsqrt(t).
[[nodiscard]] inline bool root_mean_square(Pattern& p, std::uint32_t v, std::uint32_t& x, double& eps) noexcept {
  std::uint32_t rows = 0;
  std::uint32_t shifted = 0;
  std::uint32_t squares = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  // shifted = mean(of²) + eps.
  const auto mean_square = [&](std::uint32_t of) {
    return p.commutes(p.through(shifted), ops::BinaryKind::add, [&](std::uint32_t mean, std::uint32_t offset) {
      const auto number = p.splat(offset);
      if (!number || !(*number >= 0)) return false;
      eps = *number;
      return p.mean_of_rows(mean, squares) && p.binary(squares, ops::BinaryKind::mul, a, b) && a == of && b == of;
    });
  };
  const auto square_root = [&](std::uint32_t root) {
    std::uint32_t inverse = 0;
    return p.attempt([&] { return p.reciprocal(root, inverse) && p.unary(inverse, ops::UnaryKind::rsqrt, shifted); }) ||
           p.commutes(root, ops::BinaryKind::mul, [&](std::uint32_t t, std::uint32_t scale) {
             return p.unary(scale, ops::UnaryKind::rsqrt, shifted) && shifted == t;
           });
  };
  // An inverse root: rsqrt, or 1 / sqrt.
  const auto inverse_root = [&](std::uint32_t scale) {
    std::uint32_t root = 0;
    return p.unary(scale, ops::UnaryKind::rsqrt, shifted) ||
           p.attempt([&] { return p.reciprocal(scale, root) && square_root(root); });
  };
  return p.commutes(v, ops::BinaryKind::mul, [&](std::uint32_t of, std::uint32_t scale) {
    x = of;
    return p.spread_rows(scale, rows) && inverse_root(rows) && mean_square(of);
  }) || p.attempt([&] {
    std::uint32_t divisor = 0;
    return p.binary(v, ops::BinaryKind::div, x, divisor) && p.spread_rows(divisor, rows) && square_root(rows) &&
           mean_square(x);
  });
}

/// `v` = x - mean(x) over the last axis.
[[nodiscard]] inline bool centred(Pattern& p, std::uint32_t v, std::uint32_t& x) noexcept {
  std::uint32_t spread = 0;
  std::uint32_t mean = 0;
  std::uint32_t of = 0;
  return p.binary(v, ops::BinaryKind::sub, x, spread) && p.spread_rows(spread, mean) && p.mean_of_rows(mean, of) &&
         of == x;
}

/// What changes no bit: a sum with +0 would make -0 of it.
inline constexpr float kNoScale = 1.0f, kNoShift = -0.0f;

[[nodiscard]] constexpr bool is_bits_of(const std::optional<double>& found, double wanted) noexcept {
  return found && std::bit_cast<std::uint64_t>(*found) == std::bit_cast<std::uint64_t>(wanted);
}

/// A value of `count` numbers, all `number`, before node `at`.
[[nodiscard]] inline Result<ValueId> uniform(Rewriter& r, std::uint32_t at, std::uint32_t count,
                                             float number) noexcept {
  Vector<float> data(r.allocator());
  if (auto done = data.resize(count); !done) return pass(done);
  for (float& x : data) x = number;
  const auto weight = r.constant(as_bytes(Span<const float>(data.span())), DType::f32, Shape{count});
  if (!weight) return pass(weight);
  return r.insert<ops::Constant>(at, {}, {*weight}, {ops::ConstantForm::stored});
}

/// `v` of `extent` elements as a value of rank 1, before node `at`.
[[nodiscard]] inline Result<ValueId> flat(Rewriter& r, std::uint32_t at, std::uint32_t v, Dim extent) noexcept {
  if (r.type(v).shape == Shape{extent}) return ValueId{v};
  return r.insert<ops::Reshape>(at, {v}, {}, {ShapeParams::of(Shape{extent})});
}

}  // namespace detail

/// Replaces (x - mean) / sqrt(mean((x - mean)²) + eps) over the last axis by layer_norm, and takes the scale
/// and the shift behind it into the op. The same bits where the mean is a quotient and the root rsqrt; else
/// within 2e-6 of max(1, |y|) · (1 + |mean| / spread): means of a last place more or less, divided by the spread.
[[nodiscard]] inline Result<bool> fuse_layer_norm(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    const auto binary = r.params<ops::ElementwiseBinary>(node);
    if (!binary) return {};
    Pattern p(r, node);
    const std::uint32_t result = p.result();
    if (!p.is_f32(result) || p.type(result).shape.rank == 0) return {};
    const Dim features = p.type(result).shape.last();
    const auto settle = [](const Result<bool>& done) { return done ? Result<void>() : pass(done); };
    std::uint32_t x = 0;
    std::uint32_t middle = 0;
    double eps = 0;
    if (p.attempt([&] {
          return detail::root_mean_square(p, result, middle, eps) && detail::centred(p, middle, x) && p.closed();
        })) {
      if (features.symbol != 0 || !r.claims(ops::LayerNorm::opcode)) return {};
      const auto gamma = detail::uniform(r, node, features.extent, detail::kNoScale);
      if (!gamma) return pass(gamma);
      const auto beta = detail::uniform(r, node, features.extent, detail::kNoShift);
      if (!beta) return pass(beta);
      const ops::LayerNormParams params{eps, p.type(result).shape.rank - 1u, 0};
      return settle(r.replace<ops::LayerNorm>(node, {x, gamma->index, beta->index}, {}, params));
    }
    // The scale and the shift of a norm that has none yet.
    const bool scales = binary->kind == ops::BinaryKind::mul;
    if (!scales && binary->kind != ops::BinaryKind::add) return {};
    Span<const std::uint32_t> norm;
    std::optional<ops::LayerNormParams> params;
    std::uint32_t vector = 0;
    const bool found = p.commutes(result, binary->kind, [&](std::uint32_t a, std::uint32_t b) {
      params = p.made_by<ops::LayerNorm>(a, norm);
      return params && params->feature_axis + 1u == p.type(a).shape.rank &&
             detail::is_bits_of(p.splat(norm[2]), detail::kNoShift) &&
             (!scales || detail::is_bits_of(p.splat(norm[1]), detail::kNoScale)) && p.spread_columns(b, vector);
    });
    if (!found || !p.closed()) return {};
    const std::array<std::uint32_t, 3> in{norm[0], norm[1], norm[2]};
    const auto row = detail::flat(r, node, vector, features);
    if (!row) return pass(row);
    if (!row->present()) return {};
    return settle(r.replace<ops::LayerNorm>(node, {in[0], scales ? row->index : in[1], scales ? in[2] : row->index}, {},
                                            *params));
  });
}

/// Replaces x / sqrt(mean(x²) + eps) over the last axis by rms_norm, and takes a constant scale behind it
/// into the op. Within 2e-6 of max(1, |y|): the op does not round the squares.
[[nodiscard]] inline Result<bool> fuse_rms_norm(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    if (!r.params<ops::ElementwiseBinary>(node)) return {};
    Pattern p(r, node);
    const std::uint32_t result = p.result();
    if (!p.is_f32(result)) return {};
    const Dim features = p.type(result).shape.last();
    const auto settle = [](const Result<bool>& done) { return done ? Result<void>() : pass(done); };
    std::uint32_t x = 0;
    double eps = 0;
    if (p.attempt([&] { return detail::root_mean_square(p, result, x, eps) && p.closed(); })) {
      const ops::RmsNormParams params{static_cast<float>(eps), detail::kNoShift, features.extent};
      return settle(r.replace<ops::RmsNorm>(node, {x}, {WeightId{}}, params));
    }
    Span<const std::uint32_t> norm;
    std::optional<ops::RmsNormParams> params;
    std::uint32_t vector = 0;
    const bool found = p.commutes(result, ops::BinaryKind::mul, [&](std::uint32_t a, std::uint32_t b) {
      params = p.made_by<ops::RmsNorm>(a, norm);
      return params && params->dim == features.extent &&
             p.graph().node_weights(p.graph().nodes[r.producer(a)])[0] == kNone && p.spread_columns(b, vector) &&
             p.is_f32(vector) && p.constant(vector) != kNone;
    });
    if (!found || !p.closed()) return {};
    const std::uint32_t of = norm[0];
    const auto weight = r.reshaped(p.constant(vector), Shape{features});
    if (!weight) return pass(weight);
    return settle(r.replace<ops::RmsNorm>(node, {of}, {*weight}, *params));
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
