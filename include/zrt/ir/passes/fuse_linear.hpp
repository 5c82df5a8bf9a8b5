// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/fuse_linear.hpp: products with a constant matrix, and the bias behind them, become projections.
#pragma once

#include <zrt/ir/passes/pattern.hpp>
#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/linear.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// The matrix [rows, cols] of f32 in `data` with its axes changed over.
[[nodiscard]] inline Result<Vector<float>> transposed(const Allocator& allocator, Span<const std::byte> data,
                                                      std::size_t rows, std::size_t cols) noexcept {
  Vector<float> made(allocator);
  if (auto r = made.resize(rows * cols); !r) return pass(r);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < cols; ++k)
      std::memcpy(&made[k * rows + i], data.data() + (i * cols + k) * sizeof(float), sizeof(float));
  return made;
}

}  // namespace detail

/// Replaces the product of the last axis of f32 with a constant matrix by linear, and takes a constant
/// vector added behind it in as the bias. A matrix [K, N] is transposed here, once. The same bits: both sum
/// by dot16 over K.
[[nodiscard]] inline Result<bool> fuse_linear(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    if (!r.claims(ops::Linear::opcode)) return {};
    const auto settle = [](const Result<bool>& done) { return done ? Result<void>() : pass(done); };
    Pattern p(r, node);
    if (const auto dot = r.params<ops::DotGeneral>(node)) {
      const auto in = p.graph().node_inputs(p.graph().nodes[node]);
      const std::uint32_t x = in[0];
      const Shape matrix = p.type(in[1]).shape;
      const std::uint32_t constant = p.constant(in[1]);
      const bool projects = dot->batch_count == 0 && dot->contract_count == 1 && dot->accum_dtype == DType::f32 &&
                            dot->out_dtype == DType::f32 && dot->alpha == 1.0f && p.is_f32(x) && matrix.rank == 2 &&
                            constant != kNone && p.type(x).shape.rank <= kMaxActivationRank &&
                            dot->contract_lhs[0] + 1u == p.type(x).shape.rank;
      if (!projects) return {};
      const std::size_t rows = matrix[0].extent;
      const std::size_t cols = matrix[1].extent;
      if (rows == 0 || cols == 0) return {};
      if (dot->contract_rhs[0] == 1) {
        const auto weight = r.reshaped(constant, matrix);
        return weight ? settle(r.replace<ops::Linear>(node, {x}, {*weight, WeightId{}}, {})) : pass(weight);
      }
      const auto turned = detail::transposed(r.allocator(), p.data_of(constant), rows, cols);
      if (!turned) return pass(turned);
      const auto weight = r.constant(as_bytes(turned->span()), DType::f32, Shape{matrix[1], matrix[0]});
      return weight ? settle(r.replace<ops::Linear>(node, {x}, {*weight, WeightId{}}, {})) : pass(weight);
    }
    std::uint32_t x = 0;
    std::uint32_t vector = 0;
    WeightId weight;
    const bool found = p.commutes(p.result(), ops::BinaryKind::add, [&](std::uint32_t a, std::uint32_t b) {
      Span<const std::uint32_t> in;
      if (!p.made_by<ops::Linear>(a, in)) return false;
      x = in[0];
      const auto weights = p.graph().node_weights(p.graph().nodes[r.producer(a)]);
      weight = {weights[0]};
      return weights[1] == kNone && p.spread_columns(b, vector) && p.is_f32(vector) && p.constant(vector) != kNone;
    });
    if (!found || !p.closed()) return {};
    const auto bias = r.reshaped(p.constant(vector), Shape{p.type(p.result()).shape.last()});
    if (!bias) return pass(bias);
    return settle(r.replace<ops::Linear>(node, {x}, {weight, *bias}, {}));
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
