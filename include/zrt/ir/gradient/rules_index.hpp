// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/rules_index.hpp: gradients of what reads or writes where an index tensor says.
#pragma once

#include <zrt/ir/gradient/axes.hpp>
#include <zrt/ir/gradient/call.hpp>

namespace zrt::inline ZRT_ABI::ir::gradient::rules {

namespace detail {

inline constexpr std::uint64_t kAdd = ptir::choice_index("scatter_reduce", "reduce", "add");
inline constexpr std::uint64_t kReplace = ptir::choice_index("scatter_reduce", "reduce", "replace");

}  // namespace detail

/// The rows that were taken get what came back for them, summed where one was taken twice.
inline void take(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const std::int64_t places = c.in_type(1).shape.rank;
  Numbers window, first;
  for (std::int64_t axis = 1; axis < c.in_type(0).shape.rank; ++axis) window.append(places + axis - 1);
  first.append(0);
  const std::array<Tensor, 3> in{zeros(b, c.in_type(0)), c.in(1), c.cotangent()};
  c.give(0, b.emit("scatter_add", in,
                   {b.ints(window.span()), b.ints(first.span()), b.ints(first.span()), ptir::Attribute{}})[0]);
}

inline void gather(GradientCall& c) noexcept {
  c.give(0, c.builder().scatter_reduce(detail::kAdd, zeros(c.builder(), c.in_type(0)), c.in(1), c.cotangent(),
                                       c.integer(ptir::field_index("gather", "axis"))));
}

/// Whether scatter_add's places are one number along axis 0 and its windows all other axes, as take's gradient has
/// them.
[[nodiscard]] inline bool takes_rows(const GradientCall& c) noexcept {
  const auto inserted = c.words(ptir::field_index("scatter_add", "inserted_window_dims"));
  const auto places = c.words(ptir::field_index("scatter_add", "scatter_dims_to_operand_dims"));
  const auto window = c.words(ptir::field_index("scatter_add", "update_window_dims"));
  const ptir::TensorType x = c.in_type(0), indices = c.in_type(1), updates = c.in_type(2);
  const ptir::Attribute vector = c.attributes()[ptir::field_index("scatter_add", "index_vector_dim")];
  bool rows = inserted.size() == 1 && places.size() == 1 && c.from_first(inserted[0], x.shape.rank) == 0 &&
              c.from_first(places[0], x.shape.rank) == 0 &&
              (!vector.present() || vector.as_integer() == std::int64_t{indices.shape.rank});
  for (std::size_t i = 0; rows && i < window.size(); ++i) {
    const auto axis = static_cast<std::size_t>(c.from_first(window[i], updates.shape.rank));
    rows = axis == indices.shape.size() + i && updates.shape[axis] == x.shape[i + 1];
  }
  return rows;
}

/// Where each element of scatter_add's updates is added: numbers of si64, of the shape of updates, that count the
/// elements of x in row-major order.
[[nodiscard]] inline Tensor scattered_places(const GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const ptir::TensorType x = c.in_type(0), indices = c.in_type(1), updates = c.in_type(2);
  const auto from_first = [](Span<const std::int64_t> axes, std::int64_t rank) {
    Numbers all;
    for (const std::int64_t axis : axes) all.append(GradientCall::from_first(axis, rank));
    return all;
  };
  const Numbers window =
      from_first(c.words(ptir::field_index("scatter_add", "update_window_dims")), updates.shape.rank);
  const Numbers inserted = from_first(c.words(ptir::field_index("scatter_add", "inserted_window_dims")), x.shape.rank);
  const Numbers places =
      from_first(c.words(ptir::field_index("scatter_add", "scatter_dims_to_operand_dims")), x.shape.rank);
  const ptir::Attribute vector = c.attributes()[ptir::field_index("scatter_add", "index_vector_dim")];
  const std::size_t depth = vector.present()
                                ? static_cast<std::size_t>(c.from_first(vector.as_integer(), indices.shape.rank))
                                : indices.shape.size();
  const auto stride = [&](std::size_t axis) {
    return b.scalar(DType::si64, static_cast<double>(product(x.shape, axis + 1, x.shape.size())));
  };
  Shape over_places;
  for (std::size_t axis = 0; axis < updates.shape.size(); ++axis)
    over_places.append(window.has(static_cast<std::int64_t>(axis)) ? ptir::Dim(1) : updates.shape[axis]);
  Tensor at = zeros(b, {DType::si64, updates.shape});
  for (std::size_t i = 0; i < places.count; ++i) {
    Numbers starts = Numbers::all(indices.shape.size(), 0);
    Shape one = indices.shape;
    if (depth < one.size()) {
      starts[depth] = static_cast<std::int64_t>(i);
      one.dims[depth] = ptir::Dim(1);
    }
    const Tensor along_x = b.cast(gradient::reshape(gradient::slice(c.in(1), starts, one), over_places), DType::si64);
    at = at + along_x * stride(static_cast<std::size_t>(places[i]));
  }
  std::size_t in_x = 0;
  for (std::size_t i = 0; i < window.count; ++i, ++in_x) {
    while (inserted.has(static_cast<std::int64_t>(in_x))) ++in_x;
    at = at + b.iota(updates.shape, DType::si64, window[i]) * stride(in_x);
  }
  return at;
}

/// Updates get what came back where they were added.
inline void scatter_add(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const Tensor g = c.cotangent();
  if (c.wants(0)) c.give(0, g);
  if (!c.wants(2)) return;
  if (takes_rows(c)) return c.give(2, b.take(g, c.in(1)));
  c.give(2, b.take(b.reshape(g, {product(g.shape(), 0, g.shape().size())}), scattered_places(c)));
}

/// What replace writes gets what came back where it stayed: of several at one place that is the last. What is the largest
/// or smallest at its place, x's element among it, shares it in equal parts.
inline void scatter_reduce(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const std::string_view kind = c.choice(ptir::field_index("scatter_reduce", "reduce"));
  const std::int64_t axis = c.integer(ptir::field_index("scatter_reduce", "axis"));
  const Tensor g = c.cotangent();
  if (kind == "add") {
    if (c.wants(0)) c.give(0, g);
    if (c.wants(2)) c.give(2, b.gather(g, c.in(1), axis));
  } else if (kind == "replace") {
    const ptir::TensorType x = c.in_type(0), updates = c.in_type(2);
    const Tensor none = zeros(b, updates);
    if (c.wants(0)) c.give(0, b.scatter_reduce(detail::kReplace, g, c.in(1), none, axis));
    if (!c.wants(2)) return;
    const Tensor order = b.iota(updates.shape, DType::si64, axis);
    const Tensor last = b.scatter_reduce(detail::kReplace, zeros(b, {DType::si64, x.shape}), c.in(1), order, axis);
    c.give(2, b.select(b.eq(b.gather(last, c.in(1), axis), order), b.gather(g, c.in(1), axis), none));
  } else {
    const Tensor none = b.scalar(c.in_type(0).dtype, 0);
    const Tensor stayed = b.eq(c.in(0), c.out()), came = b.eq(c.in(2), b.gather(c.out(), c.in(1), axis));
    const Tensor sharers =
        b.scatter_reduce(detail::kAdd, ones_where(stayed, g.dtype()), c.in(1), ones_where(came, g.dtype()), axis);
    const Tensor share = g / sharers;
    if (c.wants(0)) c.give(0, b.select(stayed, share, none));
    if (c.wants(2)) c.give(2, b.select(came, b.gather(share, c.in(1), axis), none));
  }
}

inline void dynamic_slice(GradientCall& c) noexcept {
  c.give(0, c.builder().dynamic_update_slice(zeros(c.builder(), c.in_type(0)), c.cotangent(), c.in(1)));
}

inline void dynamic_update_slice(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const Tensor g = c.cotangent();
  if (c.wants(0)) c.give(0, b.dynamic_update_slice(g, zeros(b, c.in_type(1)), c.in(2)));
  if (c.wants(1)) c.give(1, b.dynamic_slice(g, c.in(2), c.in_type(1).shape));
}

/// The values' gradient goes back to where they stood.
inline void top_k(GradientCall& c) noexcept {
  c.give(0, c.builder().scatter_reduce(detail::kAdd, zeros(c.builder(), c.in_type(0)), c.out(1), c.cotangent(),
                                       c.integer(ptir::field_index("top_k", "axis"))));
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient::rules
