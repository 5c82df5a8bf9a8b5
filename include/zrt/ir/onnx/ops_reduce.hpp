// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_reduce.hpp: reductions, softmax and its relatives, argmax, cumulative sums.
#pragma once

#include <zrt/ir/onnx/kernels_reduce.hpp>
#include <zrt/ir/onnx/ops_elementwise.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// What a reduction works on.
struct ReduceArgs {
  Tensor x;
  IntList axes;
  bool keep;
  bool nothing;  ///< no axes given, and the operator says that nothing is reduced then
};

/// The axes are an attribute or, in later opsets, operand 1.
[[nodiscard]] inline ReduceArgs reduce_args(NodeCall& n) noexcept {
  ReduceArgs a{n.in(0), {}, n.integer("keepdims", 1) != 0, false};
  const std::size_t rank = n.rank(0);
  const IntList given = n.ints_said(1, "axes");
  if (given.empty() && n.integer("noop_with_empty_axes", 0) != 0) {
    a.nothing = true;
  } else if (given.empty()) {
    a.axes = ascending(rank);
  } else {
    for (const std::int64_t axis : given) a.axes.push(static_cast<std::int64_t>(n.axis_of(axis, rank)));
  }
  return a;
}
[[nodiscard]] inline double elements_of(NodeCall& n, const ReduceArgs& a) noexcept {
  const IntList shape = n.shape(a.x);
  double count = 1;
  for (const std::int64_t axis : a.axes) count *= static_cast<double>(shape[static_cast<std::size_t>(axis)]);
  return count;
}

inline void reduce_sum(NodeCall& n) noexcept {
  const ReduceArgs a = reduce_args(n);
  if (a.nothing) return identity(n);
  n.out(0, reduce(kSum, a.x, a.axes, a.keep));
}
template <std::uint64_t kKind> void reduce_order(NodeCall& n) noexcept {
  const ReduceArgs a = reduce_args(n);
  n.out(0, reduce(kKind, a.x, a.axes, a.keep));
}
inline void reduce_mean(NodeCall& n) noexcept {
  const ReduceArgs a = reduce_args(n);
  n.out(0, as_type(wide_sum(a.x, a.axes, a.keep) / elements_of(n, a), a.x.dtype()));
}
inline void reduce_l1(NodeCall& n) noexcept {
  const ReduceArgs a = reduce_args(n);
  n.out(0, reduce(kSum, n.b().abs(a.x), a.axes, a.keep));
}
[[nodiscard]] inline Tensor sum_of_squares(const ReduceArgs& a) noexcept {
  const Tensor x = widened(a.x);
  return reduce(kSum, x * x, a.axes, a.keep);
}
inline void reduce_sum_square(NodeCall& n) noexcept {
  const ReduceArgs a = reduce_args(n);
  n.out(0, as_type(sum_of_squares(a), a.x.dtype()));
}
inline void reduce_l2(NodeCall& n) noexcept {
  const ReduceArgs a = reduce_args(n);
  n.out(0, as_type(sqrt_of(n, sum_of_squares(a)), a.x.dtype()));
}
inline void reduce_log_sum(NodeCall& n) noexcept {
  const ReduceArgs a = reduce_args(n);
  n.out(0, as_type(n.b().log(wide_sum(a.x, a.axes, a.keep)), a.x.dtype()));
}
/// The maximum is taken out, so that nothing overflows.
inline void reduce_log_sum_exp(NodeCall& n) noexcept {
  const ReduceArgs a = reduce_args(n);
  const Tensor x = widened(a.x);
  const Tensor greatest = reduce(kMax, x, a.axes, true);
  // Infinities stay where they are: inf - inf is no number.
  const Tensor finite = n.b().eq(greatest - greatest, scalar_like(greatest, 0));
  const Tensor most = n.b().select(finite, greatest, scalar_like(greatest, 0));
  const Tensor sum = reduce(kSum, n.b().exp(x - most), a.axes, a.keep);
  n.out(0, as_type(n.b().log(sum) + (a.keep ? most : reshape(most, n.shape(sum))), a.x.dtype()));
}
/// The reduced axes are moved to the end and multiplied by a kernel.
inline void reduce_prod(NodeCall& n) noexcept {
  const ReduceArgs a = reduce_args(n);
  const IntList shape = n.shape(a.x);
  IntList perm;
  IntList left;
  IntList result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool reduced = a.axes.has(static_cast<std::int64_t>(axis));
    if (!reduced) perm.push(static_cast<std::int64_t>(axis));
    if (!reduced) left.push(shape[axis]);
    if (!reduced || a.keep) result.push(reduced ? 1 : shape[axis]);
  }
  for (const std::int64_t axis : a.axes) perm.push(axis);
  if (n.failed()) return;
  const std::int64_t rows = product(left);
  const std::int64_t all = product(shape);
  if (all < 0 || rows <= 0) return n.unsupported("a product over or of nothing");
  const Tensor flat = reshape(transpose(a.x, perm), {rows, all / rows});
  const Tensor y = custom1(n, kernels::RowProduct::target, {flat}, {}, {a.x.dtype(), {Dim(rows)}});
  n.out(0, reshape(y, result));
}

[[nodiscard]] inline Tensor softmax_of(NodeCall& n, const Tensor& x, std::int64_t axis) noexcept {
  const Tensor e = n.b().exp(x - reduce(kMax, x, {axis}, true));
  return e / reduce(kSum, e, {axis}, true);
}
[[nodiscard]] inline Tensor log_softmax_of(NodeCall& n, const Tensor& x, std::int64_t axis) noexcept {
  const Tensor shifted = x - reduce(kMax, x, {axis}, true);
  return shifted - n.b().log(reduce(kSum, n.b().exp(shifted), {axis}, true));
}
[[nodiscard]] inline Tensor hardmax_of(NodeCall& n, const Tensor& x, std::int64_t axis) noexcept {
  const Tensor most = n.b().arg_max(x, axis, true, DType::si64);
  return n.b().cast(n.b().eq(n.b().iota(x.shape(), DType::si64, axis), most), x.dtype());
}
/// A softmax or a relative of it, along one axis.
template <Tensor (*F)(NodeCall&, const Tensor&, std::int64_t) noexcept> void along_axis(NodeCall& n) noexcept {
  const auto axis = static_cast<std::int64_t>(n.axis("axis", -1, n.rank(0)));
  n.out(0, as_type(F(n, widened(n.in(0)), axis), n.dtype(0)));
}
/// The same before opset 13: along all axes from `axis` on together.
template <Tensor (*F)(NodeCall&, const Tensor&, std::int64_t) noexcept> void along_axes_from(NodeCall& n) noexcept {
  const IntList shape = n.shape(0);
  const std::size_t axis = n.axis("axis", 1, shape.size());
  const Tensor rows = reshape(widened(n.in(0)), {product(shape, 0, axis), product(shape, axis, shape.size())});
  n.out(0, as_type(reshape(F(n, rows, 1), shape), n.dtype(0)));
}

inline void arg_extreme(NodeCall& n, bool largest) noexcept {
  Tensor x = n.in(0);
  const IntList shape = n.shape(0);
  const std::size_t axis = n.axis("axis", 0, shape.size());
  const bool keep = n.integer("keepdims", 1) != 0;
  const bool last = n.integer("select_last_index", 0) != 0;
  // -1 - x turns the order of all integers, the unsigned among them, where -x has no room for the least.
  if (!largest) x = is_float(x.dtype()) ? -x : n.b().sub(known_ones(n, x.dtype()), x);
  if (last) x = reverse(n, x, axis);
  Tensor index = n.b().arg_max(x, static_cast<std::int64_t>(axis), keep, DType::si64);
  if (last) index = n.b().sub(n.b().scalar(DType::si64, static_cast<double>(shape[axis] - 1)), index);
  n.out(0, index);
}
inline void arg_max(NodeCall& n) noexcept { arg_extreme(n, true); }
inline void arg_min(NodeCall& n) noexcept { arg_extreme(n, false); }

/// Sums or products up to each place of an axis, by the kernel F.
template <class F> void cumulative(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  const IntList shape = n.shape(0);
  const std::size_t axis = n.axis_of(n.int_in(1, "axis"), shape.size());
  if (n.failed()) return;
  const IntList rows{product(shape, 0, axis), shape[axis], product(shape, axis + 1, shape.size())};
  const Tensor flat = reshape(x, rows);
  const Tensor y = custom1(n, F::target, {flat},
                           {n.b().entry("exclusive", Attribute::boolean(n.integer("exclusive", 0) != 0)),
                            n.b().entry("reverse", Attribute::boolean(n.integer("reverse", 0) != 0))},
                           flat.type());
  n.out(0, reshape(y, shape));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
