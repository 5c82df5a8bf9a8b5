// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_slice.hpp: slices with steps, of tensors and of values that are known.
#pragma once

#include <zrt/ir/onnx/ops_elementwise.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// Whether `v` is known and small, as what makes extents and pads is.
[[nodiscard]] inline bool is_small_known(const Value& v) noexcept {
  return v.known && info(v.type.dtype).block_elems == 1 && v.type.shape.constant_elements().raw() <= IntList::kCapacity;
}
/// Where a slice begins and how many elements it has along one axis.
struct SliceRange {
  std::int64_t first, step, count;
};
[[nodiscard]] inline SliceRange slice_range(std::int64_t extent, std::int64_t start, std::int64_t end,
                                            std::int64_t step) noexcept {
  const auto wrap = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
    if (at < 0) at = at < -extent ? -1 : at + extent;
    return at < low ? low : at > high ? high : at;
  };
  if (step > 0) {
    const std::int64_t first = wrap(start, 0, extent);
    const std::int64_t last = wrap(end, 0, extent);
    return {first, step, last > first ? (last - first - 1) / step + 1 : 0};
  }
  const std::int64_t first = start < -extent ? -1 : wrap(start, 0, extent - 1);
  const std::int64_t last = end < -extent ? -1 : wrap(end, -1, extent - 1);
  // -(step + 1) + 1 does not overflow where -step would.
  return {first, step, first > last ? (first - last - 1) / (step < -extent - 1 ? extent + 1 : -step) + 1 : 0};
}
/// Every `step`th of `count` elements of an axis from `first` on: as the columns of a matrix where the axis has
/// whole rows of `step` for them, else one by one.
[[nodiscard]] inline Tensor strided(NodeCall& n, Tensor x, std::size_t axis, const SliceRange& r) noexcept {
  IntList shape = n.shape(x);
  const std::int64_t rows = r.step > 1 ? shape[axis] / r.step : 0;
  if (r.step > 1 && r.count > 0 && r.first / r.step + r.count <= rows && shape.size() < kMaxRank) {
    x = slice_axis(x, shape, axis, 0, rows * r.step);
    IntList split;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      split.push(i == axis ? rows : shape[i]);
      if (i == axis) split.push(r.step);
    }
    x = slice_axis(reshape(x, split), split, axis + 1, r.first % r.step, 1);
    split[axis + 1] = 1;
    x = slice_axis(x, split, axis, r.first / r.step, r.count);
    shape[axis] = r.count;
    return reshape(x, shape);
  }
  if (!n.fits_table(r.count)) return x;
  Vector<std::int64_t> places(n.allocator());
  for (std::int64_t k = 0; k < r.count; ++k)
    if (auto put = places.push_back(r.first + k * r.step); !put) n.fail(put.error());
  return pick(n, x, places.span(), axis);
}
inline void slice_(NodeCall& n) noexcept {
  const Value v = n.value(0);
  const IntList shape = n.shape(0);
  const IntList starts = n.ints_said(1, "starts");
  const IntList ends = n.ints_said(2, "ends");
  IntList axes = n.ints_said(3, "axes");
  IntList steps = n.has(4) ? n.ints_in(4, "steps") : IntList{};
  if (axes.empty()) axes = ascending(starts.size());
  if (steps.empty()) steps = IntList::of(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return n.fail(Errc::invalid_params, "starts, ends, axes and steps differ in length");
  if (n.failed()) return;
  if (is_small_known(v) && starts.size() == 1 && steps[0] != 0) {
    const std::size_t axis = n.axis_of(axes[0], shape.size());
    if (n.failed()) return;
    const SliceRange r = slice_range(shape[axis], starts[0], ends[0], steps[0]);
    const std::int64_t rows = product(shape, 0, axis);
    const auto width =
        static_cast<std::size_t>(product(shape, axis + 1, shape.size())) * info(v.type.dtype).block_bytes;
    Vector<std::byte> bytes(n.allocator());
    for (std::int64_t i = 0; i < rows * r.count; ++i) {
      const std::int64_t at = i / r.count * shape[axis] + r.first + i % r.count * r.step;
      if (auto put = bytes.append(v.data.subspan(static_cast<std::size_t>(at) * width, width)); !put)
        return n.fail(put.error());
    }
    IntList sizes = shape;
    sizes[axis] = r.count;
    return n.out_known(0, {v.type.dtype, shape_of(n.b(), sizes)}, bytes.span());
  }
  Tensor x = n.in(0);
  IntList first = IntList::of(shape.size(), 0);
  IntList sizes = shape;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = n.axis_of(axes[i], shape.size());
    if (steps[i] == 0) return n.fail(Errc::invalid_params, "a step is 0");
    if (n.failed()) return;
    const SliceRange r = slice_range(shape[axis], starts[i], ends[i], steps[i]);
    if (steps[i] == 1) {
      first[axis] = r.count == 0 ? 0 : r.first;
      sizes[axis] = r.count;
      continue;
    }
    x = strided(n, x, axis, r);
    sizes[axis] = r.count;
  }
  n.out(0, slice(x, first, sizes));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
