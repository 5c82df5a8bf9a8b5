// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_layout.hpp: blocks of a plane as channels and back, diagonals, ranges.
#pragma once

#include <zrt/ir/onnx/kernels_bits.hpp>
#include <zrt/ir/onnx/ops_shape.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// [N, C, H, W] to blocks of its channels laid over the plane, and back.
inline void depth_to_space(NodeCall& n) noexcept {
  const IntList s = n.shape(0);
  const std::int64_t k = n.integer("blocksize", 0);
  if (n.failed()) return;
  if (s.size() != 4 || k < 1 || k > 65535 || s[1] % (k * k) != 0)
    return n.fail(Errc::shape_mismatch, "x must be [N, C * blocksize^2, H, W]");
  const std::int64_t c = s[1] / (k * k);
  const bool crd = n.text("mode", "DCR") == "CRD";
  const Tensor split = reshape(n.in(0), crd ? IntList{s[0], c, k, k, s[2], s[3]} : IntList{s[0], k, k, c, s[2], s[3]});
  const Tensor moved = transpose(split, crd ? IntList{0, 1, 4, 2, 5, 3} : IntList{0, 3, 4, 1, 5, 2});
  n.out(0, reshape(moved, {s[0], c, s[2] * k, s[3] * k}));
}
inline void space_to_depth(NodeCall& n) noexcept {
  const IntList s = n.shape(0);
  const std::int64_t k = n.integer("blocksize", 0);
  if (n.failed()) return;
  if (s.size() != 4 || k < 1 || k > 65535 || s[2] % k != 0 || s[3] % k != 0)
    return n.fail(Errc::shape_mismatch, "x must be [N, C, H * blocksize, W * blocksize]");
  const Tensor split = reshape(n.in(0), {s[0], s[1], s[2] / k, k, s[3] / k, k});
  n.out(0, reshape(transpose(split, {0, 3, 5, 1, 2, 4}), {s[0], s[1] * k * k, s[2] / k, s[3] / k}));
}

inline void bit_cast(NodeCall& n) noexcept {
  const auto to = dtype_of(n.integer("to", 0));
  if (!to) return n.fail(to.error());
  const Tensor x = n.in(0);
  if (info(*to).block_bytes != info(x.dtype()).block_bytes || info(*to).block_elems != 1 ||
      info(x.dtype()).block_elems != 1)
    return n.fail(Errc::dtype_mismatch, "x is of ", name(x.dtype()), ", which has not the size of ", name(*to));
  n.out(0, custom1(n, kernels::BitCast::target, {x}, {}, {*to, x.shape()}));
}
/// Cuts or fills each axis evenly on both sides to a size; what is odd goes to the end.
inline void center_crop_pad(NodeCall& n) noexcept {
  const IntList shape = n.shape(0);
  const IntList wanted = n.ints_in(1, "shape");
  const IntList axes = n.has_attribute("axes") ? n.ints("axes") : ascending(shape.size());
  if (n.failed()) return;
  if (wanted.size() != axes.size())
    return n.fail(Errc::invalid_params, "shape has ", wanted.size(), " entries for ", axes.size(), " axes");
  const IntList none = IntList::of(shape.size(), 0);
  IntList first = none, low = none, high = none, sizes = shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = axis_named_once(n, axes, i, shape.size());
    if (n.failed()) return;
    if (wanted[i] < 0 || wanted[i] > kMaxExtent)
      return n.fail(Errc::invalid_params, "shape has an extent of ", wanted[i]);
    const std::int64_t more = wanted[i] - shape[axis];
    first[axis] = more < 0 ? -more / 2 : 0;
    sizes[axis] = more < 0 ? wanted[i] : shape[axis];
    low[axis] = more > 0 ? more / 2 : 0;
    high[axis] = more > 0 ? more - more / 2 : 0;
  }
  const Tensor x = n.in(0);
  n.out(0, pad(slice(x, first, sizes), low, high, none, scalar_like(x, 0)));
}

/// 1 where the column is `offset` or more to the right of the row's place, as i1 of [rows, columns].
[[nodiscard]] inline Tensor diagonal_compare(NodeCall& n, std::int64_t rows, std::int64_t columns, std::int64_t offset,
                                             bool equal) noexcept {
  Builder& b = n.b();
  const ptir::Shape plane{Dim(rows), Dim(columns)};
  const Tensor row = b.iota(plane, DType::si64, 0);
  const Tensor column = b.iota(plane, DType::si64, 1);
  const std::int64_t most = std::int64_t{1} << 40;
  const std::int64_t k = offset > most ? most : offset < -most ? -most : offset;
  const Tensor shifted = row + static_cast<double>(k);
  return equal ? b.eq(column, shifted) : b.ge(column, shifted);
}
inline void eye_like(NodeCall& n) noexcept {
  const IntList s = n.shape(0);
  if (s.size() != 2) return n.fail(Errc::shape_mismatch, "x has ", s.size(), " axes, expected 2");
  DType to = n.dtype(0);
  if (n.has_attribute("dtype")) {
    const auto given = dtype_of(n.integer("dtype", 0));
    if (!given) return n.fail(given.error());
    to = *given;
  }
  n.out(0, n.b().cast(diagonal_compare(n, s[0], s[1], n.integer("k", 0), true), to));
}
inline void trilu(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  const IntList s = n.shape(0);
  const std::int64_t k = n.has(1) ? n.int_in(1, "k") : 0;
  if (n.failed()) return;
  if (s.size() < 2) return n.fail(Errc::shape_mismatch, "x has ", s.size(), " axes, expected 2 or more");
  const bool upper = n.integer("upper", 1) != 0;
  const Tensor mask = diagonal_compare(n, s[s.size() - 2], s[s.size() - 1], upper || k == INT64_MAX ? k : k + 1, false);
  const Tensor zero = scalar_like(x, 0);
  n.out(0, upper ? n.b().select(mask, x, zero) : n.b().select(mask, zero, x));
}
/// The same of whole numbers, exactly.
inline void whole_range(NodeCall& n, DType dtype) noexcept {
  const std::int64_t start = n.int_in(0, "start");
  const std::int64_t limit = n.int_in(1, "limit");
  const std::int64_t delta = n.int_in(2, "delta");
  if (n.failed()) return;
  if (delta == 0) return n.fail(Errc::invalid_params, "delta is 0");
  // Differences of two numbers of 64 bits fit an unsigned one.
  const auto from = static_cast<std::uint64_t>(start);
  const auto step = static_cast<std::uint64_t>(delta);
  const bool up = delta > 0;
  const bool some = up ? start < limit : start > limit;
  const std::uint64_t way = up ? static_cast<std::uint64_t>(limit) - from : from - static_cast<std::uint64_t>(limit);
  const std::uint64_t count = some ? (way - 1) / (up ? step : 0 - step) + 1 : 0;
  if (count > std::uint64_t{kMaxTableElements})
    return n.fail(Errc::limit_exceeded, "the range has ", count, " elements, at most ", kMaxTableElements, " expected");
  Vector<std::int64_t> values(n.allocator());
  for (std::uint64_t i = 0; i < count; ++i)
    if (auto r = values.push_back(static_cast<std::int64_t>(from + i * step)); !r) return n.fail(r.error());
  Vector<std::byte> bytes(n.allocator());
  if (auto r = bytes.resize(static_cast<std::size_t>(bytes_of(dtype, values.size()))); !r) return n.fail(r.error());
  cast_elements(DType::si64, as_bytes(values.span()).data(), dtype, bytes.data(), 0, values.size());
  n.out_known(0, {dtype, {Dim(static_cast<std::int64_t>(values.size()))}}, bytes.span());
}
/// start, start + delta, ... below limit, all known when the program is made.
inline void range(NodeCall& n) noexcept {
  const DType dtype = n.dtype(0);
  if (is_integer(dtype)) return whole_range(n, dtype);
  const double start = n.real_in(0, 0, "start");
  const double limit = n.real_in(1, 0, "limit");
  const double delta = n.real_in(2, 0, "delta");
  if (n.failed()) return;
  const double steps = -scalar_math::floor(-((limit - start) / delta));
  if (!(steps <= static_cast<double>(kMaxTableElements)))
    return n.fail(Errc::limit_exceeded, "the range has more than ", kMaxTableElements, " elements");
  Vector<double> values(n.allocator());
  for (double i = 0; i < steps; ++i)
    if (auto r = values.push_back(__builtin_fma(i, delta, start)); !r) return n.fail(r.error());
  Vector<std::byte> bytes(n.allocator());
  if (auto r = bytes.resize(static_cast<std::size_t>(bytes_of(dtype, values.size()))); !r) return n.fail(r.error());
  cast_elements(DType::f64, as_bytes(values.span()).data(), dtype, bytes.data(), 0, values.size());
  n.out_known(0, {dtype, {Dim(static_cast<std::int64_t>(values.size()))}}, bytes.span());
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
