// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/axes.hpp: expressions over lists of axes and extents that gradient rules compute.
#pragma once

#include <zrt/ir/ptir/builder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::gradient {

using ptir::Shape;
using ptir::Tensor;

/// One number for each of at most kMaxRank axes.
struct Numbers {
  std::array<std::int64_t, kMaxRank> items{};
  std::size_t count = 0;

  /// `count` times `value`.
  [[nodiscard]] static constexpr Numbers all(std::size_t count, std::int64_t value) noexcept {
    Numbers made;
    for (std::size_t i = 0; i < count; ++i) made.append(value);
    return made;
  }
  constexpr void append(std::int64_t value) noexcept {
    if (count < kMaxRank) items[count++] = value;
  }
  [[nodiscard]] constexpr bool has(std::int64_t value) const noexcept {
    for (std::size_t i = 0; i < count; ++i)
      if (items[i] == value) return true;
    return false;
  }
  /// How many entries are smaller.
  [[nodiscard]] constexpr std::int64_t below(std::int64_t value) const noexcept {
    std::int64_t smaller = 0;
    for (std::size_t i = 0; i < count; ++i) smaller += items[i] < value ? 1 : 0;
    return smaller;
  }
  [[nodiscard]] constexpr std::int64_t& operator[](std::size_t i) noexcept { return items[i]; }
  [[nodiscard]] constexpr std::int64_t operator[](std::size_t i) const noexcept { return items[i]; }
  [[nodiscard]] constexpr ptir::Ints span() const noexcept { return {items.data(), count}; }
};

/// Expressions over lists of axes and extents. A GradientCall has them as its own, where the header of an op finds them.
struct Expressions {
  using Numbers = gradient::Numbers;
  using Shape = ptir::Shape;
  using Dim = ptir::Dim;

  [[nodiscard]] static constexpr std::int64_t extent(const Shape& shape, std::size_t axis) noexcept {
    return static_cast<std::int64_t>(shape[axis].constant());
  }
  /// The product of the extents of axes first..last-1, of a tensor that is not empty: then it fits.
  [[nodiscard]] static constexpr std::int64_t product(const Shape& shape, std::size_t first,
                                                      std::size_t last) noexcept {
    std::int64_t all = 1;
    for (std::size_t axis = first; axis < last; ++axis) all *= extent(shape, axis);
    return all;
  }

  [[nodiscard]] static bool is_empty(const Shape& shape) noexcept {
    for (const ptir::Dim dim : shape.view())
      if (dim.is_constant(0)) return true;
    return false;
  }
  [[nodiscard]] static Tensor zeros(ptir::Builder& b, const ptir::TensorType& type) noexcept {
    return b.broadcast_to(b.scalar(type.dtype, 0), type.shape);
  }
  /// Ones where `mask` holds, of `dtype`.
  [[nodiscard]] static Tensor ones_where(const Tensor& mask, DType dtype) noexcept {
    ptir::Builder& b = mask.builder();
    return b.select(mask, b.scalar(dtype, 1), b.scalar(dtype, 0));
  }
  [[nodiscard]] static Tensor sum(const Tensor& x, const Numbers& axes, bool keepdims) noexcept {
    ptir::Builder& b = x.builder();
    if (axes.count == 0) return x;
    return b.emit("reduce", {&x, 1},
                  {ptir::Attribute::choice(ptir::choice_index("reduce", "kind", "sum")), b.ints(axes.span()),
                   ptir::Attribute::boolean(keepdims), ptir::Attribute{}, ptir::Attribute{}})[0];
  }
  [[nodiscard]] static Tensor slice(const Tensor& x, const Numbers& starts, const Shape& sizes) noexcept {
    ptir::Builder& b = x.builder();
    if (x.shape() == sizes) return x;
    Numbers words;
    for (const ptir::Dim dim : sizes.view()) words.append(dim.code());
    ptir::Attribute shape = b.ints(words.span());
    shape.kind = ptir::AttributeKind::shape;
    return b.emit("slice", {&x, 1}, {b.ints(starts.span()), shape})[0];
  }
  /// Pads with `value`, a number that every float type holds.
  [[nodiscard]] static Tensor pad(const Tensor& x, const Numbers& low, const Numbers& high, const Numbers& interior,
                                  double value) noexcept {
    ptir::Builder& b = x.builder();
    return b.emit("pad", {&x, 1},
                  {b.ints(low.span()), b.ints(high.span()), b.ints(interior.span()),
                   ptir::Attribute::literal(b.scalar(x.dtype(), value).operand().id)})[0];
  }
  [[nodiscard]] static Tensor transpose(const Tensor& x, const Numbers& perm) noexcept {
    ptir::Builder& b = x.builder();
    bool moves = false;
    for (std::size_t i = 0; i < perm.count; ++i) moves = moves || perm[i] != static_cast<std::int64_t>(i);
    return moves ? b.emit("transpose", {&x, 1}, {b.ints(perm.span())})[0] : x;
  }
  [[nodiscard]] static Tensor reshape(const Tensor& x, const Shape& shape) noexcept {
    return x.shape() == shape ? x : x.builder().reshape(x, shape);
  }

  /// Sums over the axes along which `from` was stretched to x's shape, as broadcast_to stretches.
  [[nodiscard]] static Tensor unbroadcast(const Tensor& x, const Shape& from) noexcept {
    Numbers axes;
    const std::size_t leading = x.shape().size() - from.size();
    for (std::size_t axis = 0; axis < x.shape().size(); ++axis)
      if (axis < leading || (from[axis - leading].is_constant(1) && !x.shape()[axis].is_constant(1)))
        axes.append(static_cast<std::int64_t>(axis));
    return reshape(sum(x, axes, false), from);
  }

  /// A vector along `axis` of `shape`, stretched to it.
  [[nodiscard]] static Tensor along(const Tensor& v, std::size_t axis, const Shape& shape) noexcept {
    Shape spread;
    for (std::size_t a = 0; a < shape.size(); ++a) spread.append(a == axis ? shape[a] : ptir::Dim(1));
    return v.builder().broadcast_to(v.builder().reshape(v, spread), shape);
  }

  /// Every step-th element along each axis, from the first on; extents are 1 + (n - 1) * step.
  [[nodiscard]] static Tensor every(Tensor x, const Numbers& steps) noexcept {
    for (std::size_t axis = 0; axis < steps.count; ++axis) {
      const std::int64_t step = steps[axis];
      const Shape shape = x.shape();
      if (step == 1 || shape[axis].is_constant(1)) continue;
      const std::int64_t kept = (extent(shape, axis) - 1) / step + 1;
      Numbers none = Numbers::all(shape.size(), 0), high = none;
      high[axis] = step - 1;
      const Tensor whole = pad(x, none, high, none, 0);
      const std::int64_t outer = product(shape, 0, axis), inner = product(shape, axis + 1, shape.size());
      const Tensor parted = x.builder().reshape(whole, {outer, kept, step, inner});
      Shape left = shape;
      left.dims[axis] = ptir::Dim(kept);
      x = x.builder().reshape(slice(parted, Numbers::all(4, 0), {outer, kept, 1, inner}), left);
    }
    return x;
  }
};

}  // namespace zrt::inline ZRT_ABI::ir::gradient

ZRT_LOAD_TIME_END
