// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/scatter_add.hpp: the gradient of scatter_add, which takes what came back for its places.
#pragma once

#include <zrt/ir/gradient/call.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::gradient {

namespace detail {

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
    return b.scalar(DType::si64, static_cast<double>(c.product(x.shape, axis + 1, x.shape.size())));
  };
  Shape over_places;
  for (std::size_t axis = 0; axis < updates.shape.size(); ++axis)
    over_places.append(window.has(static_cast<std::int64_t>(axis)) ? ptir::Dim(1) : updates.shape[axis]);
  Tensor at = c.zeros(b, {DType::si64, updates.shape});
  for (std::size_t i = 0; i < places.count; ++i) {
    Numbers starts = Numbers::all(indices.shape.size(), 0);
    Shape one = indices.shape;
    if (depth < one.size()) {
      starts[depth] = static_cast<std::int64_t>(i);
      one.dims[depth] = ptir::Dim(1);
    }
    const Tensor along_x = b.cast(c.reshape(c.slice(c.in(1), starts, one), over_places), DType::si64);
    at = at + along_x * stride(static_cast<std::size_t>(places[i]));
  }
  std::size_t in_x = 0;
  for (std::size_t i = 0; i < window.count; ++i, ++in_x) {
    while (inserted.has(static_cast<std::int64_t>(in_x))) ++in_x;
    at = at + b.iota(updates.shape, DType::si64, window[i]) * stride(in_x);
  }
  return at;
}

}  // namespace detail

/// Updates get what came back where they were added.
inline void scatter_add_gradient(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const Tensor g = c.cotangent();
  if (c.wants(0)) c.give(0, g);
  if (!c.wants(2)) return;
  if (detail::takes_rows(c)) return c.give(2, b.take(g, c.in(1)));
  c.give(2, b.take(b.reshape(g, {c.product(g.shape(), 0, g.shape().size())}), detail::scattered_places(c)));
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient

ZRT_LOAD_TIME_END
