// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/dot_general.hpp: the gradient of a contraction, by two others.
#pragma once

#include <zrt/ir/gradient/call.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::gradient {

/// Each operand's gradient contracts the cotangent with the other operand over the other's free axes.
inline void dot_general_gradient(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const Tensor g = c.cotangent_as_input();
  constexpr std::array<std::size_t, 2> kBatch{ptir::field_index("dot_general", "batch_lhs"),
                                              ptir::field_index("dot_general", "batch_rhs")};
  constexpr std::array<std::size_t, 2> kContract{ptir::field_index("dot_general", "contract_lhs"),
                                                 ptir::field_index("dot_general", "contract_rhs")};
  std::array<Numbers, 2> batch, contract, free;
  for (std::size_t side = 0; side < 2; ++side) {
    const std::int64_t rank = c.in_type(side).shape.rank;
    for (const std::int64_t word : c.words(kBatch[side])) batch[side].append(c.from_first(word, rank));
    for (const std::int64_t word : c.words(kContract[side])) contract[side].append(c.from_first(word, rank));
    for (std::int64_t axis = 0; axis < rank; ++axis)
      if (!batch[side].has(axis) && !contract[side].has(axis)) free[side].append(axis);
  }
  // Axes of the cotangent: batch, free of lhs, free of rhs.
  Numbers in_batch;
  std::array<Numbers, 2> in_free;
  std::int64_t next = 0;
  for (std::size_t i = 0; i < batch[0].count; ++i) in_batch.append(next++);
  for (std::size_t side = 0; side < 2; ++side)
    for (std::size_t i = 0; i < free[side].count; ++i) in_free[side].append(next++);
  const auto product_of = [&](const Tensor& x, const Numbers& x_batch, const Numbers& x_over, const Tensor& y,
                              const Numbers& y_batch, const Numbers& y_over) {
    const std::array<Tensor, 2> both{x, y};
    return b.emit("dot_general", both,
                  {b.ints(x_batch.span()), b.ints(y_batch.span()), b.ints(x_over.span()), b.ints(y_over.span()),
                   c.attributes()[ptir::field_index("dot_general", "accum_dtype")], ptir::Attribute{}})[0];
  };
  for (std::size_t side = 0; side < 2; ++side) {
    if (!c.wants(side)) continue;
    const std::size_t other = 1 - side;
    // lhs keeps its free axes before the contracted ones, rhs the other way round.
    const Tensor found = side == 0 ? product_of(g, in_batch, in_free[1], c.in(1), batch[1], free[1])
                                   : product_of(c.in(0), batch[0], free[0], g, in_batch, in_free[0]);
    const auto batches = static_cast<std::int64_t>(batch[0].count);
    const auto frees = static_cast<std::int64_t>(free[side].count);
    const auto contracted = static_cast<std::int64_t>(contract[side].count);
    Numbers perm = Numbers::all(c.in_type(side).shape.size(), 0);
    const auto place = [&](std::int64_t axis, std::int64_t at) { perm[static_cast<std::size_t>(axis)] = at; };
    for (std::size_t i = 0; i < batch[side].count; ++i) place(batch[side][i], static_cast<std::int64_t>(i));
    for (std::size_t i = 0; i < free[side].count; ++i)
      place(free[side][i], batches + (side == 0 ? 0 : contracted) + static_cast<std::int64_t>(i));
    for (std::size_t i = 0; i < contract[side].count; ++i)
      place(contract[side][i], batches + (side == 0 ? frees : 0) + contract[other].below(contract[other][i]));
    c.give(side, c.transpose(found, perm));
  }
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient

ZRT_LOAD_TIME_END
