// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_quantize.hpp: quantised tensors: to them, from them, and products of them.
#pragma once

#include <zrt/ir/onnx/ops_window.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// Operand `i`, a scalar or one number for each entry of `axis`, laid along an axis of `rank`.
[[nodiscard]] inline Tensor along(NodeCall& n, const Tensor& x, std::size_t axis, std::size_t rank) noexcept {
  const IntList shape = n.shape(x);
  if (product(shape) == 1) return reshape(x, {});
  IntList to = IntList::of(rank, 1);
  to[axis] = product(shape);
  return reshape(x, to);
}
/// Scales or zero points of operand 0 as it takes them: one for all, one for each entry of `axis`, or one for each run
/// of block_size entries.
[[nodiscard]] inline Tensor per_block(NodeCall& n, const Tensor& x) noexcept {
  const IntList shape = n.shape(0);
  const IntList given = n.shape(x);
  const std::int64_t block = n.integer("block_size", 0);
  if (n.failed() || product(given) == 1) return reshape(x, {});
  const std::size_t axis = n.axis("axis", 1, shape.size());
  if (n.failed()) return x;
  if (block == 0 && product(given) != shape[axis]) {
    n.fail(Errc::shape_mismatch, product(given), " scales or zero points for an axis of ", shape[axis]);
    return x;
  }
  if (block == 0) return along(n, x, axis, shape.size());
  bool fits = block > 0 && block <= kMaxExtent && given.size() == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i)
    fits = given[i] == (i == axis ? (shape[i] + block - 1) / block : shape[i]);
  if (!fits) {
    n.fail(Errc::shape_mismatch, "scales must have the extents of x, on axis ", axis, " one for each ", block);
    return x;
  }
  IntList once, often, joined = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    once.push(given[i]), often.push(given[i]);
    if (i == axis) once.push(1), often.push(block);
  }
  joined[axis] = given[axis] * block;
  const Tensor all = reshape(broadcast(reshape(x, once), often), joined);
  return slice_axis(all, joined, axis, 0, shape[axis]);
}
/// x / scale, divided in `at`, + zero in f32, rounded and saturated to whole numbers, or to floats as they are.
[[nodiscard]] inline Tensor quantized(NodeCall& n, const Tensor& x, const Tensor& scale,
                                      const std::optional<Tensor>& zero, DType to, DType at = DType::f32) noexcept {
  Tensor y = as_type(as_type(x, at) / as_type(scale, at), DType::f32);
  if (!is_float(to)) y = kernel_of<kernels::Round>(n, y);
  if (zero) y = y + n.b().cast(*zero, DType::f32);
  return n.b().cast(saturated(y, to), to);
}
inline void quantize_linear(NodeCall& n) noexcept {
  Builder& b = n.b();
  DType to = n.has(2) ? n.dtype(2) : DType::ui8;
  if (const std::int64_t number = n.integer("output_dtype", 0); number != 0) {
    const auto said = dtype_of(number);
    if (!said) return n.fail(said.error());
    if (n.has(2) && *said != to)
      return n.fail(Errc::dtype_mismatch, "output_dtype is ", name(*said), ", the zero point is of ", name(to));
    to = *said;
  }
  if (n.integer("saturate", 1) == 0 && is_float(to)) return n.unsupported("floats of 8 bits that do not saturate");
  DType at = is_float(n.dtype(1)) ? n.dtype(1) : DType::f32;
  if (const std::int64_t number = n.integer("precision", 0); number != 0) {
    const auto said = dtype_of(number);
    if (!said) return n.fail(said.error());
    if (!is_float(*said)) return n.fail(Errc::invalid_params, "precision is ", name(*said), ", expected a float");
    at = *said;
  }
  std::optional<Tensor> zero;
  if (n.has(2)) zero = per_block(n, n.in(2));
  n.out(0, quantized(n, b.cast(n.in(0), DType::f32), per_block(n, b.cast(n.in(1), DType::f32)), zero, to, at));
}
inline void dequantize_linear(NodeCall& n) noexcept {
  Builder& b = n.b();
  DType to = n.dtype(1);
  if (const std::int64_t number = n.integer("output_dtype", 0); number != 0) {
    const auto said = dtype_of(number);
    if (!said) return n.fail(said.error());
    to = *said;
  }
  // Whole numbers differ exactly.
  const DType wide = is_float(n.dtype(0)) ? DType::f32 : DType::si32;
  Tensor x = b.cast(n.in(0), wide);
  if (n.has(2)) x = x - b.cast(per_block(n, n.in(2)), wide);
  n.out(0, as_type(as_type(x, DType::f32) * per_block(n, b.cast(n.in(1), DType::f32)), to));
}
/// To ui8 by the extremes of x, zero among them.
inline void dynamic_quantize_linear(NodeCall& n) noexcept {
  Builder& b = n.b();
  const Tensor x = n.in(0);
  const IntList axes = ascending(n.rank(0));
  const Tensor none = scalar_like(x, 0);
  const Tensor least = b.minimum(reduce(kMin, x, axes, false), none);
  const Tensor most = b.maximum(reduce(kMax, x, axes, false), none);
  const Tensor scale = (most - least) / 255.0;
  const Tensor zero =
      b.cast(kernel_of<kernels::Round>(n, b.clamp(-(least / scale), none, scalar_like(x, 255))), DType::ui8);
  n.out(0, quantized(n, x, scale, zero, DType::ui8));
  n.out(1, scale);
  n.out(2, zero);
}
/// An exact product of whole numbers, in f32, times the scales of both sides, over that of the result.
inline void q_linear_mat_mul(NodeCall& n) noexcept {
  Builder& b = n.b();
  const std::size_t rank = n.rank(0);
  const std::size_t columns = n.rank(3);
  const Tensor sum =
      mat_mul_of(n, less_zero(n, 0, 2, rank < 2 ? 0 : rank - 2), less_zero(n, 3, 5, columns < 1 ? 0 : columns - 1));
  if (product(n.shape(1)) != 1 || product(n.shape(4)) != 1) return n.unsupported("scales of rows or columns");
  const auto scale_in = [&](std::size_t i) { return reshape(as_type(n.in(i), DType::f32), {}); };
  const Tensor scale = scale_in(1) * scale_in(4);
  n.out(0, quantized(n, b.cast(sum, DType::f32) * scale, scale_in(6), reshape(n.in(7), {}), n.dtype(7)));
}
inline void q_linear_conv(NodeCall& n) noexcept {
  Builder& b = n.b();
  const Tensor x = less_zero(n, 0, 2, 1);
  const Tensor weights = less_zero(n, 3, 5, 0);
  Tensor sum = convolve(n, x, weights, n.integer("group", 1), window_of(n, n.shape(x), window_extents(n, weights)));
  if (n.has(8)) sum = add_channels(n, sum, n.in(8));
  const std::size_t rank = n.rank(0);
  const Tensor scale = along(n, n.in(1), 1, rank) * along(n, n.in(4), 1, rank);
  n.out(0, quantized(n, b.cast(sum, DType::f32) * scale, along(n, n.in(6), 1, rank), along(n, n.in(7), 1, rank),
                     n.dtype(7)));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
