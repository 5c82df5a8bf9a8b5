// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/rules_fold.hpp: type rules of what combines elements: reductions, contractions, windows.
#pragma once

#include <zrt/ir/ptir/rule.hpp>

namespace zrt::inline ZRT_ABI::ir::ptir::rules {

/// A fold of `dtype` in `accumulator` into `result`: max and min need an order, sum needs numbers.
[[nodiscard]] inline Result<void> folds(const RuleCall& c, std::string_view kind, DType accumulator,
                                        DType result) noexcept {
  const DType dtype = c.in[0].dtype;
  if (is_complex(dtype) && kind != "sum") return c.wrong(Errc::dtype_mismatch, 0, "a dtype that has an order");
  if (is_boolean(accumulator) && kind == "sum")
    return c.no(Errc::dtype_mismatch, "a sum accumulates in i1, expected a dtype of numbers");
  if (!is_castable(dtype, accumulator) || !is_castable(accumulator, result))
    return c.no(Errc::dtype_mismatch, name(dtype), " is accumulated in ", name(accumulator), " and given as ",
                name(result), ", expected no cast from complex to real");
  return {};
}

/// `shape` without the axes in `axes`, or with extent 1 there.
[[nodiscard]] constexpr Shape without(const Shape& shape, const AxisList& axes, bool keep) noexcept {
  Shape left;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!axes.has(axis))
      left.append(shape[axis]);
    else if (keep)
      left.append(Dim(1));
  }
  return left;
}

[[nodiscard]] inline Result<void> reduce(RuleCall& c) noexcept {
  constexpr std::size_t kKind = field_index("reduce", "kind");
  const auto axes = axes_of(c, field_index("reduce", "axes"), c.in[0].shape.rank);
  if (!axes) return pass(axes);
  const DType dtype = c.in[0].dtype;
  const DType accumulator = c.dtype_or(field_index("reduce", "accum_dtype"), default_accumulator(dtype));
  const DType result = c.dtype_or(field_index("reduce", "out_dtype"), dtype);
  if (auto r = folds(c, c.op.fields_[kKind].choices[c.choice(kKind)], accumulator, result); !r) return r;
  return c.give(result, without(c.in[0].shape, *axes, c.boolean(field_index("reduce", "keepdims"))));
}

[[nodiscard]] inline Result<void> arg_max(RuleCall& c) noexcept {
  const auto axis = axis_of(c, "axis", c.integer(field_index("arg_max", "axis")), c.in[0].shape.rank);
  if (!axis) return pass(axis);
  const DType index = c.dtype(field_index("arg_max", "output_dtype"));
  if (!is_index(index)) return c.no(Errc::dtype_mismatch, "output_dtype is ", name(index), ", expected si32 or si64");
  if (is_complex(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "a dtype that has an order");
  if (c.in[0].shape[*axis].is_constant(0)) return c.wrong(Errc::shape_mismatch, 0, "1 or more on axis ", *axis);
  AxisList one;
  one.axes[one.count++] = *axis;
  return c.give(index, without(c.in[0].shape, one, c.boolean(field_index("arg_max", "keepdims"))));
}

[[nodiscard]] inline Result<void> dot_general(RuleCall& c) noexcept {
  const TensorType& lhs = c.in[0];
  const TensorType& rhs = c.in[1];
  if (lhs.dtype != rhs.dtype) return c.differs(Errc::dtype_mismatch, 1, 0);
  const auto batch_lhs = axes_of(c, field_index("dot_general", "batch_lhs"), lhs.shape.rank);
  if (!batch_lhs) return pass(batch_lhs);
  const auto batch_rhs = axes_of(c, field_index("dot_general", "batch_rhs"), rhs.shape.rank);
  if (!batch_rhs) return pass(batch_rhs);
  const auto contract_lhs = axes_of(c, field_index("dot_general", "contract_lhs"), lhs.shape.rank);
  if (!contract_lhs) return pass(contract_lhs);
  const auto contract_rhs = axes_of(c, field_index("dot_general", "contract_rhs"), rhs.shape.rank);
  if (!contract_rhs) return pass(contract_rhs);
  Shape result;
  const auto pairs = [&](const AxisList& l, const AxisList& r, std::string_view what, bool batch) -> Result<void> {
    if (l.count != r.count)
      return c.no(Errc::invalid_params, what, "_lhs has ", l.count, " axes, ", what, "_rhs ", r.count);
    for (std::size_t i = 0; i < l.count; ++i) {
      Dim both;
      if (!unify(lhs.shape[l.axes[i]], rhs.shape[r.axes[i]], both))
        return c.wrong(Errc::shape_mismatch, 1, lhs.shape[l.axes[i]].constant(), " on axis ", r.axes[i],
                       ", as lhs on axis ", l.axes[i]);
      if (batch) result.append(both);
    }
    return {};
  };
  if (auto r = pairs(*batch_lhs, *batch_rhs, "batch", true); !r) return r;
  if (auto r = pairs(*contract_lhs, *contract_rhs, "contract", false); !r) return r;
  const auto rest = [&](const Shape& shape, const AxisList& batch, const AxisList& contract,
                        std::string_view side) -> Result<void> {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (batch.has(axis) && contract.has(axis))
        return c.no(Errc::invalid_params, "axis ", axis, " of ", side, " is both batched and contracted");
      if (!batch.has(axis) && !contract.has(axis)) result.append(shape[axis]);
    }
    return {};
  };
  if (auto r = rest(lhs.shape, *batch_lhs, *contract_lhs, "lhs"); !r) return r;
  if (auto r = rest(rhs.shape, *batch_rhs, *contract_rhs, "rhs"); !r) return r;
  const DType accumulator = c.dtype_or(field_index("dot_general", "accum_dtype"), default_accumulator(lhs.dtype));
  const DType given = c.dtype_or(field_index("dot_general", "out_dtype"), lhs.dtype);
  if (auto r = folds(c, "sum", accumulator, given); !r) return r;
  return c.give(given, result);
}

/// The extents of one axis of a sliding window; all but dilations and strides may be 0.
struct WindowAxis {
  std::uint64_t window, stride, low, high, base_dilation, window_dilation;
};

/// How many places a window has along `in`.
[[nodiscard]] inline Result<Dim> window_places(const RuleCall& c, Dim in, const WindowAxis& w) noexcept {
  if (in.is_dynamic()) {
    const bool whole = w.window == 1 && w.stride == 1 && w.low == 0 && w.high == 0 && w.base_dilation == 1;
    return whole ? in : Dim::any();
  }
  const CheckedSize spread = in.constant() == 0
                                 ? CheckedSize(0)
                                 : CheckedSize(in.constant() - 1) * CheckedSize(w.base_dilation) + CheckedSize(1);
  const CheckedSize padded = CheckedSize(w.low) + CheckedSize(w.high) + spread;
  const CheckedSize span = CheckedSize(w.window - 1) * CheckedSize(w.window_dilation) + CheckedSize(1);
  if (!padded.ok() || !span.ok()) return c.no(Errc::size_overflow, "a padded extent does not fit 64 bits");
  return extent_of(c, padded.raw() < span.raw() ? 0 : (padded.raw() - span.raw()) / w.stride + 1);
}

[[nodiscard]] inline Result<void> reduce_window(RuleCall& c) noexcept {
  constexpr std::size_t kKind = field_index("reduce_window", "kind");
  constexpr std::size_t kWindow = field_index("reduce_window", "window");
  constexpr std::size_t kStrides = field_index("reduce_window", "strides");
  constexpr std::size_t kLow = field_index("reduce_window", "pad_low");
  constexpr std::size_t kHigh = field_index("reduce_window", "pad_high");
  constexpr std::size_t kBase = field_index("reduce_window", "base_dilation");
  constexpr std::size_t kDilation = field_index("reduce_window", "window_dilation");
  Shape shape = c.in[0].shape;
  for (const std::size_t field : {kWindow, kStrides, kBase, kDilation})
    if (auto r = per_axis(c, field, shape.rank, 1); !r) return r;
  for (const std::size_t field : {kLow, kHigh})
    if (auto r = per_axis(c, field, shape.rank, 0); !r) return r;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto at = [&](std::size_t field) { return static_cast<std::uint64_t>(c.words(field)[axis]); };
    const auto places =
        window_places(c, shape[axis], {at(kWindow), at(kStrides), at(kLow), at(kHigh), at(kBase), at(kDilation)});
    if (!places) return pass(places);
    shape.dims[axis] = *places;
  }
  const DType dtype = c.in[0].dtype;
  const DType accumulator = c.dtype_or(field_index("reduce_window", "accum_dtype"), default_accumulator(dtype));
  const DType result = c.dtype_or(field_index("reduce_window", "out_dtype"), dtype);
  if (auto r = folds(c, c.op.fields_[kKind].choices[c.choice(kKind)], accumulator, result); !r) return r;
  return c.give(result, shape);
}

[[nodiscard]] inline Result<void> extract_patches(RuleCall& c) noexcept {
  constexpr std::size_t kWindow = field_index("extract_patches", "window");
  constexpr std::size_t kStrides = field_index("extract_patches", "strides");
  constexpr std::size_t kLow = field_index("extract_patches", "pad_low");
  constexpr std::size_t kHigh = field_index("extract_patches", "pad_high");
  constexpr std::size_t kDilation = field_index("extract_patches", "dilation");
  constexpr std::size_t kValue = field_index("extract_patches", "pad_value");
  Shape shape = c.in[0].shape;
  if (shape.rank < 3) return c.wrong(Errc::shape_mismatch, 0, "[N, spatial..., C]");
  const std::size_t spatial = shape.size() - 2;
  for (const std::size_t field : {kWindow, kStrides, kDilation})
    if (auto r = per_axis(c, field, spatial, 1); !r) return r;
  for (const std::size_t field : {kLow, kHigh})
    if (auto r = per_axis(c, field, spatial, 0); !r) return r;
  if (c.has(kValue)) {
    const TensorType& value = c.program.literal(c.attributes[kValue].bits)->type;
    if (value.dtype != c.in[0].dtype || value.shape.rank != 0)
      return c.no(Errc::dtype_mismatch, "pad_value must be a scalar of ", name(c.in[0].dtype));
  }
  CheckedSize elements = 1;
  for (std::size_t i = 0; i < spatial; ++i) {
    const auto at = [&](std::size_t field) { return static_cast<std::uint64_t>(c.words(field)[i]); };
    const auto places =
        window_places(c, shape[i + 1], {at(kWindow), at(kStrides), at(kLow), at(kHigh), 1, at(kDilation)});
    if (!places) return pass(places);
    shape.dims[i + 1] = *places;
    elements *= CheckedSize(at(kWindow));
  }
  Dim& channel = shape.dims[spatial + 1];
  const auto patch = extent_of(c, elements * CheckedSize(channel.is_constant() ? channel.constant() : 1));
  if (!patch) return pass(patch);
  if (channel.is_constant())
    channel = *patch;
  else if (elements.raw() != 1)
    channel = Dim::any();
  return c.give(c.in[0].dtype, shape);
}

[[nodiscard]] inline Result<void> top_k(RuleCall& c) noexcept {
  Shape shape = c.in[0].shape;
  const std::int64_t k = c.integer(field_index("top_k", "k"));
  const DType index = c.dtype(field_index("top_k", "indices_dtype"));
  const auto axis = axis_of(c, "axis", c.integer(field_index("top_k", "axis")), shape.rank);
  if (!axis) return pass(axis);
  if (k < 0) return c.no(Errc::invalid_params, "k is ", k, ", expected 0 or more");
  if (!is_index(index)) return c.no(Errc::dtype_mismatch, "indices_dtype is ", name(index), ", expected si32 or si64");
  if (is_complex(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "a dtype that has an order");
  if (shape[*axis].is_constant() && shape[*axis].constant() < static_cast<std::uint64_t>(k))
    return c.wrong(Errc::shape_mismatch, 0, "at least k = ", k, " on axis ", *axis);
  shape.dims[*axis] = Dim(k);
  c.tuple = true;
  if (auto r = c.give(c.in[0].dtype, shape); !r) return r;
  return c.give(index, shape);
}

[[nodiscard]] inline Result<void> segment_reduce(RuleCall& c) noexcept {
  constexpr std::size_t kKind = field_index("segment_reduce", "kind");
  Shape shape = c.in[0].shape;
  const std::int64_t segments = c.integer(field_index("segment_reduce", "num_segments"));
  if (auto r = index_operand(c, 1); !r) return r;
  if (shape.rank == 0) return c.wrong(Errc::shape_mismatch, 0, "at least one axis");
  Dim both;
  if (c.in[1].shape.rank != 1 || !unify(c.in[1].shape[0], shape[0], both))
    return c.wrong(Errc::shape_mismatch, 1, "one id for each row of x");
  if (segments < 0) return c.no(Errc::invalid_params, "num_segments is ", segments, ", expected 0 or more");
  const DType dtype = c.in[0].dtype;
  const DType accumulator = c.dtype_or(field_index("segment_reduce", "accum_dtype"), default_accumulator(dtype));
  if (auto r = folds(c, c.op.fields_[kKind].choices[c.choice(kKind)], accumulator, dtype); !r) return r;
  shape.dims[0] = Dim(segments);
  return c.give(dtype, shape);
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir::rules
