// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/rules_index.hpp: type rules of what reads or writes where an index tensor says.
#pragma once

#include <zrt/ir/ptir/rule.hpp>

namespace zrt::inline ZRT_ABI::ir::ptir::rules {

[[nodiscard]] inline Result<void> take(RuleCall& c) noexcept {
  if (auto r = index_operand(c, 1); !r) return r;
  if (c.in[0].shape.rank == 0) return c.wrong(Errc::shape_mismatch, 0, "at least one axis");
  Shape shape = c.in[1].shape;
  for (std::size_t axis = 1; axis < c.in[0].shape.size(); ++axis) shape.append(c.in[0].shape[axis]);
  return c.give(c.in[0].dtype, shape);
}

/// `indices` (operand `indices`) has the shape of x but for `axis`; gives it with what x knows better.
[[nodiscard]] inline Result<Shape> along_axis(const RuleCall& c, std::size_t field, std::size_t indices) noexcept {
  const Shape& x = c.in[0].shape;
  const auto axis = axis_of(c, "axis", c.integer(field), x.rank);
  if (!axis) return pass(axis);
  Shape shape = c.in[indices].shape;
  bool agree = shape.rank == x.rank;
  for (std::size_t d = 0; agree && d < shape.size(); ++d)
    if (d != *axis) agree = unify(shape[d], x[d], shape.dims[d]);
  if (!agree) {
    Error error = c.wrong(Errc::shape_mismatch, indices, "but on axis ", *axis, " the extents of x, ").error();
    return std::unexpected<Error>(append_type(error, c.program, c.in[0]));
  }
  return shape;
}

[[nodiscard]] inline Result<void> gather(RuleCall& c) noexcept {
  if (auto r = index_operand(c, 1); !r) return r;
  const auto shape = along_axis(c, field_index("gather", "axis"), 1);
  if (!shape) return pass(shape);
  return c.give(c.in[0].dtype, *shape);
}

[[nodiscard]] inline Result<void> scatter_reduce(RuleCall& c) noexcept {
  constexpr std::size_t kReduce = field_index("scatter_reduce", "reduce");
  if (auto r = index_operand(c, 1); !r) return r;
  if (c.in[2].dtype != c.in[0].dtype) return c.differs(Errc::dtype_mismatch, 2, 0);
  const auto shape = along_axis(c, field_index("scatter_reduce", "axis"), 1);
  if (!shape) return pass(shape);
  Shape both;
  if (!unify(*shape, c.in[2].shape, both)) return c.differs(Errc::shape_mismatch, 2, 1);
  const std::string_view kind = c.op.fields_[kReduce].choices[c.choice(kReduce)];
  const DType dtype = c.in[0].dtype;
  if ((is_complex(dtype) && (kind == "max" || kind == "min")) || (is_boolean(dtype) && kind == "add"))
    return c.wrong(Errc::dtype_mismatch, 0, "a dtype that ", kind, " is defined for");
  return c.give(c.in[0]);
}

/// XLA's dimension numbers; see attributes.hpp.
[[nodiscard]] inline Result<void> scatter_add(RuleCall& c) noexcept {
  const Shape& x = c.in[0].shape;
  const Shape& indices = c.in[1].shape;
  const Shape& updates = c.in[2].shape;
  if (auto r = index_operand(c, 1); !r) return r;
  if (c.in[2].dtype != c.in[0].dtype) return c.differs(Errc::dtype_mismatch, 2, 0);
  if (is_boolean(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "a dtype of numbers");
  const auto window = axes_of(c, field_index("scatter_add", "update_window_dims"), updates.rank);
  if (!window) return pass(window);
  const auto inserted = axes_of(c, field_index("scatter_add", "inserted_window_dims"), x.rank);
  if (!inserted) return pass(inserted);
  const auto places = axes_of(c, field_index("scatter_add", "scatter_dims_to_operand_dims"), x.rank);
  if (!places) return pass(places);
  constexpr std::size_t kVector = field_index("scatter_add", "index_vector_dim");
  std::size_t vector = indices.rank;
  if (c.has(kVector) && c.integer(kVector) != static_cast<std::int64_t>(indices.rank)) {
    const auto axis = axis_of(c, "index_vector_dim", c.integer(kVector), indices.rank);
    if (!axis) return pass(axis);
    vector = *axis;
  }
  const Dim depth = vector == indices.rank ? Dim(1) : indices[vector];
  if (depth.is_constant() && !depth.is_constant(places->count))
    return c.no(Errc::invalid_params, "scatter_dims_to_operand_dims has ", places->count, " entries, expected ",
                depth.constant());
  for (std::size_t i = 1; i < window->count; ++i)
    if (window->axes[i - 1] > window->axes[i]) return c.no(Errc::invalid_params, "update_window_dims must ascend");
  if (window->count + inserted->count != x.rank)
    return c.no(Errc::invalid_params, "update_window_dims and inserted_window_dims have ",
                window->count + inserted->count, " entries, expected ", unsigned{x.rank});
  const std::size_t outer = indices.rank - (vector == indices.rank ? 0u : 1u);
  if (updates.rank != outer + window->count) return c.wrong(Errc::shape_mismatch, 2, outer + window->count, " axes");
  std::size_t in_x = 0;
  std::size_t in_indices = 0;
  for (std::size_t axis = 0; axis < updates.size(); ++axis) {
    if (window->has(axis)) {
      while (inserted->has(in_x)) ++in_x;
      const Dim extent = x[in_x];
      if (updates[axis].is_constant() && extent.is_constant() && updates[axis].constant() > extent.constant())
        return c.wrong(Errc::shape_mismatch, 2, "at most ", extent.constant(), " on axis ", axis);
      ++in_x;
    } else {
      if (in_indices == vector) ++in_indices;
      Dim both;
      if (!unify(updates[axis], indices[in_indices], both))
        return c.wrong(Errc::shape_mismatch, 2, indices[in_indices].constant(), " on axis ", axis);
      ++in_indices;
    }
  }
  return c.give(c.in[0]);
}

/// `start` (operand `start`) holds one index per axis of x, and no size is larger than x.
[[nodiscard]] inline Result<void> window_in(const RuleCall& c, const Shape& sizes, std::size_t start) noexcept {
  const Shape& x = c.in[0].shape;
  if (auto r = index_operand(c, start); !r) return r;
  Dim both;
  if (c.in[start].shape.rank != 1 || !unify(c.in[start].shape[0], Dim(x.rank), both))
    return c.wrong(Errc::shape_mismatch, start, "one entry for each of ", unsigned{x.rank}, " axes");
  if (sizes.rank != x.rank)
    return c.no(Errc::invalid_params, "sizes has ", unsigned{sizes.rank}, " entries, expected ", unsigned{x.rank});
  for (std::size_t axis = 0; axis < x.size(); ++axis)
    if (sizes[axis].is_constant() && x[axis].is_constant() && sizes[axis].constant() > x[axis].constant())
      return c.wrong(Errc::shape_mismatch, 0, "at least ", sizes[axis].constant(), " on axis ", axis);
  return {};
}

[[nodiscard]] inline Result<void> dynamic_slice(RuleCall& c) noexcept {
  const Shape sizes = c.shape(field_index("dynamic_slice", "sizes"));
  if (auto r = window_in(c, sizes, 1); !r) return r;
  return c.give(c.in[0].dtype, sizes);
}

[[nodiscard]] inline Result<void> dynamic_update_slice(RuleCall& c) noexcept {
  const Shape sizes = c.shape(field_index("dynamic_update_slice", "sizes"));
  if (auto r = window_in(c, sizes, 2); !r) return r;
  if (c.in[1].dtype != c.in[0].dtype) return c.differs(Errc::dtype_mismatch, 1, 0);
  Shape both;
  if (!unify(c.in[1].shape, sizes, both)) return c.wrong(Errc::shape_mismatch, 1, "the extents of sizes");
  return c.give(c.in[0]);
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir::rules
