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
/// round(x / scale) + zero, saturated; all f32, `to` the result's type.
[[nodiscard]] inline Tensor quantized(NodeCall& n, const Tensor& x, const Tensor& scale, const Tensor& zero,
                                      DType to) noexcept {
  return n.b().cast(kernel_of<kernels::Round>(n, x / scale) + n.b().cast(zero, DType::f32), to);
}
[[nodiscard]] inline std::size_t scale_axis(NodeCall& n) noexcept {
  const IntList scale = n.shape(1);
  return product(scale) == 1 ? 0 : n.axis("axis", 1, n.rank(0));
}
inline void quantize_linear(NodeCall& n) noexcept {
  const std::size_t rank = n.rank(0);
  const std::size_t axis = scale_axis(n);
  const DType to = n.has(2) ? n.dtype(2) : DType::ui8;
  const Tensor zero = n.has(2) ? along(n, n.in(2), axis, rank) : n.b().scalar(to, 0);
  n.out(0, quantized(n, n.b().cast(n.in(0), DType::f32), along(n, n.in(1), axis, rank), zero, to));
}
inline void dequantize_linear(NodeCall& n) noexcept {
  Builder& b = n.b();
  const std::size_t rank = n.rank(0);
  const std::size_t axis = scale_axis(n);
  Tensor x = b.cast(n.in(0), DType::si32);
  if (n.has(2)) x = x - b.cast(along(n, n.in(2), axis, rank), DType::si32);
  n.out(0, b.cast(x, DType::f32) * along(n, n.in(1), axis, rank));
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
  const Tensor scale = reshape(n.in(1), {}) * reshape(n.in(4), {});
  n.out(0, quantized(n, b.cast(sum, DType::f32) * scale, reshape(n.in(6), {}), reshape(n.in(7), {}), n.dtype(7)));
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
