// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/scale_absorption.hpp: a number times a projection becomes part of its weights, one times another product its alpha.
#pragma once

#include <zrt/ir/passes/pattern.hpp>
#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/linear.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// True when `weight` is data of f32 that the graph carries and only one node reads.
[[nodiscard]] inline bool is_own_data(const Graph& g, std::uint32_t weight) noexcept {
  if (!g.weights[weight].inline_data() || g.weights[weight].dtype != DType::f32) return false;
  std::uint32_t readers = 0;
  for (const Node& n : g.nodes)
    for (std::uint32_t w : g.node_weights(n)) readers += w == weight ? 1u : 0u;
  return readers == 1;
}

/// `number` times a weight, each element rounded once; none where one of them would no longer be a
/// finite number, or lose digits for being next to zero.
[[nodiscard]] inline Result<WeightId> scaled_weight(Rewriter& r, const Pattern& p, std::uint32_t weight,
                                                    double number) noexcept {
  const Span<const std::byte> data = p.data_of(weight);
  Vector<float> made(r.allocator());
  if (auto done = made.resize(data.size() / sizeof(float)); !done) return pass(done);
  for (std::size_t i = 0; i < made.size(); ++i) {
    float from = 0;
    std::memcpy(&from, data.data() + i * sizeof(float), sizeof(float));
    made[i] = static_cast<float>(double{from} * number);
    if (made[i] - made[i] != 0.0f) return WeightId{};
    if (from != 0.0f && made[i] < std::numeric_limits<float>::min() && made[i] > -std::numeric_limits<float>::min())
      return WeightId{};
  }
  const Shape shape = r.graph().weights[weight].shape;
  return r.constant(as_bytes(made.span()), DType::f32, shape);
}

}  // namespace detail

/// Multiplies the constant weights of linear, and a bias, by the number that its result is multiplied with or divided
/// by, and the weights by the one of its input. Weights that others read stay as they are. Within (K / 16 + 6) · 2^-23
/// of the sum of the magnitudes of the K products and the bias: weights and partial sums round anew, a lane has K / 16.
[[nodiscard]] inline Result<bool> absorb_scale(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    const bool behind = r.params<ops::ElementwiseBinary>(node).has_value();
    if (!behind && !r.params<ops::Linear>(node)) return {};
    Pattern p(r, node);
    double number = 1;
    Span<const std::uint32_t> in;
    const std::uint32_t product = behind ? detail::unscaled(p, p.result(), number) : p.result();
    const auto params = p.made_by<ops::Linear>(product, in);
    if (!params) return {};
    const std::uint32_t x = behind ? in[0] : detail::unscaled(p, in[0], number);
    const auto weights = p.graph().node_weights(p.graph().nodes[r.producer(product)]);
    const std::uint32_t weight = weights[0];
    const std::uint32_t bias = weights[1];
    if (number == 1 || !p.closed() || !detail::is_own_data(r.graph(), weight)) return {};
    const bool scales_bias = behind && bias != kNone;
    if (scales_bias && !detail::is_own_data(r.graph(), bias)) return {};
    const auto scaled = detail::scaled_weight(r, p, weight, number);
    if (!scaled) return pass(scaled);
    const auto added = scales_bias ? detail::scaled_weight(r, p, bias, number) : Result<WeightId>(WeightId{bias});
    if (!added) return pass(added);
    if (!scaled->present() || (scales_bias && !added->present())) return {};
    const auto done = r.replace<ops::Linear>(node, {x}, {*scaled, *added}, *params);
    return done ? Result<void>() : pass(done);
  });
}

/// Lets dot_general multiply its sum by the number that its result is multiplied with or divided by. The same bits for
/// a product, within 2^-22 of the result for a quotient. Goes after the fusions that take products with their scales.
[[nodiscard]] inline Result<bool> absorb_alpha(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    const auto binary = r.params<ops::ElementwiseBinary>(node);
    if (!binary) return {};
    Pattern p(r, node);
    const auto sides = p.graph().node_inputs(p.graph().nodes[node]);
    double alpha = 0;
    std::optional<ops::DotGeneralParams> dot;
    Span<const std::uint32_t> in;
    const auto taken = [&](std::uint32_t product, std::uint32_t number) {
      const auto by = p.splat(number);
      if (!by) return false;
      alpha = binary->kind == ops::BinaryKind::mul ? *by : 1.0 / *by;
      dot = p.made_by<ops::DotGeneral>(product, in);
      return dot.has_value() && dot->alpha == 1.0f && dot->accum_dtype == DType::f32 && dot->out_dtype == DType::f32;
    };
    const bool found = binary->kind == ops::BinaryKind::mul
                           ? p.commutes(p.result(), ops::BinaryKind::mul, taken)
                           : binary->kind == ops::BinaryKind::div && taken(sides[0], sides[1]);
    if (!found || !detail::is_f32_factor(alpha) || !p.closed()) return {};
    dot->alpha = static_cast<float>(alpha);
    const auto done = r.replace<ops::DotGeneral>(node, {in[0], in[1]}, {}, *dot);
    return done ? Result<void>() : pass(done);
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
