// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/dot_shape.hpp: a contraction as one matrix product per batch, where its axes lie so.
#pragma once

#include <zrt/ops/dot_general.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// y[b][m][n] = alpha · the sum over k of lhs[b][m][k] · rhs[b][n][k], each index with a stride of its own.
struct DotShape {
  ops::IndexSpace<2> batch;  ///< where the matrices of each batch begin in lhs and rhs
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t depth = 0;
  std::uint64_t lhs_row = 0;
  std::uint64_t lhs_depth = 0;
  std::uint64_t rhs_col = 0;
  std::uint64_t rhs_depth = 0;
  float alpha = 1.0f;

  [[nodiscard]] bool depth_is_contiguous() const noexcept { return lhs_depth == 1 && rhs_depth == 1; }
  /// True where the tiles of the kernels take the operands as they lie.
  [[nodiscard]] bool fits_tiles() const noexcept {
    return (depth_is_contiguous() || rhs_col == 1) && depth <= 0xffffffffu;
  }

  /// Measures a call in this step; false where the rows, the columns or the depth are more than one axis.
  [[nodiscard]] bool measure(const HostCall<ops::DotGeneral>& c, const ExecutionContext& step) noexcept {
    const ops::DotGeneralParams& p = c.params;
    const ops::RowMajor a(c.in[0], step);
    const ops::RowMajor b(c.in[1], step);
    ops::IndexSpace<1> m;
    ops::IndexSpace<1> n;
    ops::IndexSpace<2> k;
    for (std::uint32_t i = 0; i < p.batch_count; ++i)
      batch.add(a.extent[p.batch_lhs[i]], {a.stride[p.batch_lhs[i]], b.stride[p.batch_rhs[i]]});
    for (std::uint8_t axis = 0; axis < a.rank; ++axis)
      if (!ops::DotGeneral::listed(p, true, axis)) m.add(a.extent[axis], {a.stride[axis]});
    for (std::uint8_t axis = 0; axis < b.rank; ++axis)
      if (!ops::DotGeneral::listed(p, false, axis)) n.add(b.extent[axis], {b.stride[axis]});
    for (std::uint32_t i = 0; i < p.contract_count; ++i)
      k.add(a.extent[p.contract_lhs[i]], {a.stride[p.contract_lhs[i]], b.stride[p.contract_rhs[i]]});
    if (!m.is_line() || !n.is_line() || !k.is_line()) return false;
    rows = m.elements();
    cols = n.elements();
    depth = k.elements();
    lhs_row = m.line()[0];
    rhs_col = n.line()[0];
    lhs_depth = k.line()[0];
    rhs_depth = k.line()[1];
    alpha = p.alpha;
    return true;
  }
};

}  // namespace zrt::inline ZRT_ABI::cpu
