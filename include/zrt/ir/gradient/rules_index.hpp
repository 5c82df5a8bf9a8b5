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

/// Covers places of one number along axis 0 with windows over all other axes, as take's gradient has them.
inline void scatter_add(GradientCall& c) noexcept {
  if (c.wants(0)) c.give(0, c.cotangent());
  if (!c.wants(2)) return;
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
  if (!rows) return c.unimplemented("for updates that are not whole rows");
  c.give(2, c.builder().take(c.cotangent(), c.in(1)));
}

/// The updates of replace have none: which of several stays is the last one's, and so is the gradient.
inline void scatter_reduce(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  const std::string_view kind = c.choice(ptir::field_index("scatter_reduce", "reduce"));
  const std::int64_t axis = c.integer(ptir::field_index("scatter_reduce", "axis"));
  const Tensor g = c.cotangent();
  if (kind == "add") {
    if (c.wants(0)) c.give(0, g);
    if (c.wants(2)) c.give(2, b.gather(g, c.in(1), axis));
  } else if (kind == "replace" && !c.wants(2)) {
    c.give(0, b.scatter_reduce(detail::kReplace, g, c.in(1), zeros(b, c.in_type(2)), axis));
  } else {
    c.unimplemented(kind == "replace" ? "for what it writes" : kind);
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
