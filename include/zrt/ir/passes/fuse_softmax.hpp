// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/fuse_softmax.hpp: softmax of the last axis from its stable form.
#pragma once

#include <zrt/ir/passes/pattern.hpp>
#include <zrt/ops/softmax.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// `v` = exp(x - max(x)) over the last axis.
[[nodiscard]] inline bool shifted_exponential(Pattern& p, std::uint32_t v, std::uint32_t& x) noexcept {
  std::uint32_t shifted = 0;
  std::uint32_t spread = 0;
  std::uint32_t top = 0;
  std::uint32_t of = 0;
  return p.unary(v, ops::UnaryKind::exp, shifted) && p.binary(shifted, ops::BinaryKind::sub, x, spread) &&
         p.spread_rows(p.through(spread), top) && p.fold_rows(top, ops::ReduceKind::maximum, of) && of == x;
}

/// `v` = e / sum(e) over the last axis; the division may be a product with the reciprocal, taken before or
/// after the sum is spread.
[[nodiscard]] inline bool divided_by_sum(Pattern& p, std::uint32_t v, std::uint32_t& e) noexcept {
  std::uint32_t sum = 0;
  std::uint32_t of = 0;
  return p.quotient(v, [&](std::uint32_t a, std::uint32_t b) {
    e = a;
    return p.spread_rows(b, sum) && p.fold_rows(sum, ops::ReduceKind::sum, of) && of == a;
  }) || p.commutes(v, ops::BinaryKind::mul, [&](std::uint32_t a, std::uint32_t b) {
    std::uint32_t inverse = 0;
    e = a;
    return p.spread_rows(b, inverse) && p.reciprocal(inverse, sum) && p.fold_rows(sum, ops::ReduceKind::sum, of) &&
           of == a;
  });
}

}  // namespace detail

/// Replaces exp(x - max(x)) / sum(exp(x - max(x))) over the last axis by softmax. The same bits for the
/// quotient; within 2e-6 where the sum is inverted first.
[[nodiscard]] inline Result<bool> fuse_softmax(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    if (!r.params<ops::ElementwiseBinary>(node)) return {};
    Pattern p(r, node);
    std::uint32_t e = 0;
    std::uint32_t x = 0;
    if (!detail::divided_by_sum(p, p.result(), e) || !detail::shifted_exponential(p, e, x) || !p.closed()) return {};
    const auto done = r.replace<ops::Softmax>(node, {x}, {}, {});
    return done ? Result<void>() : pass(done);
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
