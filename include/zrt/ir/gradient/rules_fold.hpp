// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/rules_fold.hpp: gradients of sums, extremes, contractions and layer norms.
#pragma once

#include <zrt/core/accumulator.hpp>
#include <zrt/ir/gradient/axes.hpp>
#include <zrt/ir/gradient/call.hpp>

namespace zrt::inline ZRT_ABI::ir::gradient::rules {

namespace detail {

/// The cotangent of result 0 in the dtype of input 0.
[[nodiscard]] inline Tensor cotangent_as_input(const GradientCall& c) noexcept {
  const Tensor g = c.cotangent();
  return g.dtype() == c.in_type(0).dtype ? g : c.builder().cast(g, c.in_type(0).dtype);
}

/// What a fold of one operand, or of rows and their ids, found as largest or smallest. Where its attributes name another
/// type than input 0 has, it is found anew in that: of what was rounded, no element is the equal.
[[nodiscard]] inline Tensor extreme_as_input(const GradientCall& c) noexcept {
  const auto fields = fused::find_op(c.op())->fields();
  std::array<ptir::Attribute, ptir::OpInfo::kMaxFields> attributes{};
  bool rounds = false;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const ptir::Attribute given = c.attributes()[f];
    const bool names_type = fields[f].name == "accum_dtype" || fields[f].name == "out_dtype";
    if (!names_type) attributes[f] = given;
    rounds = rounds || (names_type && given.kind == ptir::AttributeKind::dtype &&
                        static_cast<DType>(given.bits) != c.in_type(0).dtype);
  }
  if (!rounds) return c.out();
  const std::array<Tensor, 2> in{c.in(0), c.in(c.inputs() - 1)};
  return c.builder().apply(c.op(), {in.data(), c.inputs()}, {attributes.data(), fields.size()})[0];
}

}  // namespace detail

/// What is the largest or smallest shares the gradient in equal parts.
inline void reduce(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const ptir::TensorType type = c.in_type(0);
  Numbers axes;
  Shape kept = type.shape;
  for (const std::int64_t word : c.words(ptir::field_index("reduce", "axes"))) {
    axes.append(c.from_first(word, type.shape.rank));
    kept.dims[static_cast<std::size_t>(axes[axes.count - 1])] = ptir::Dim(1);
  }
  const auto spread = [&](const Tensor& x) { return b.broadcast_to(reshape(x, kept), type.shape); };
  const Tensor g = detail::cotangent_as_input(c);
  if (c.choice(ptir::field_index("reduce", "kind")) == "sum") return c.give(0, spread(g));
  const Tensor extreme = detail::extreme_as_input(c);
  const Tensor mask = b.eq(c.in(0), spread(extreme));
  const Tensor share = reshape(g, kept) / sum(ones_where(mask, type.dtype), axes, true);
  c.give(0, b.select(mask, spread(share), b.scalar(type.dtype, 0)));
}

inline void segment_reduce(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const Tensor g = c.cotangent(), ids = c.in(1);
  if (c.choice(ptir::field_index("segment_reduce", "kind")) == "sum") return c.give(0, b.take(g, ids));
  const Tensor mask = b.eq(c.in(0), b.take(detail::extreme_as_input(c), ids));
  const Tensor count =
      b.segment_reduce(ptir::choice_index("segment_reduce", "kind", "sum"), ones_where(mask, g.dtype()), ids,
                       c.integer(ptir::field_index("segment_reduce", "num_segments")));
  c.give(0, b.select(mask, b.take(g, ids) / b.take(count, ids), b.scalar(g.dtype(), 0)));
}

/// Each operand's gradient contracts the cotangent with the other operand over the other's free axes.
inline void dot_general(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const Tensor g = detail::cotangent_as_input(c);
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
    c.give(side, transpose(found, perm));
  }
}

/// With n = (x - mean) / sqrt(variance + epsilon) and h = g · gamma:
/// dx = (h - mean(h) - n · mean(h · n)) / sqrt(variance + epsilon), dgamma = sum(g · n), dbeta = sum(g), all in f32 where
/// the type is narrower, as layer_norm itself: sums of squares of f16 leave its range.
inline void layer_norm(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const DType type = c.in_type(0).dtype, wide = default_accumulator(type);
  const auto widened = [&](const Tensor& v) { return v.dtype() == wide ? v : b.cast(v, wide); };
  const auto give = [&](std::size_t i, const Tensor& v) { c.give(i, type == wide ? v : b.cast(v, type)); };
  const Tensor g = widened(c.cotangent()), x = widened(c.in(0));
  const auto axis = c.from_first(c.integer(ptir::field_index("layer_norm", "feature_axis")), x.rank());
  const auto at = static_cast<std::size_t>(axis);
  Numbers feature, others;
  for (std::int64_t a = 0; a < x.rank(); ++a) (a == axis ? feature : others).append(a);
  const auto n = static_cast<double>(x.shape()[at].constant());
  const auto mean = [&](const Tensor& v) { return sum(v, feature, true) / n; };
  const Tensor centred = x - mean(x);
  const double epsilon = c.attributes()[ptir::field_index("layer_norm", "epsilon")].as_real();
  const Tensor scale = b.rsqrt(mean(centred * centred) + epsilon);
  const Tensor normal = centred * scale;
  if (c.wants(0)) {
    const Tensor h = g * along(widened(c.in(1)), at, x.shape());
    give(0, (h - mean(h) - normal * mean(h * normal)) * scale);
  }
  if (c.wants(1)) give(1, sum(g * normal, others, false));
  if (c.wants(2)) give(2, sum(g, others, false));
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient::rules
