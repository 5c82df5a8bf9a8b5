// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/emit.hpp: instructions of the portable tensor IR with lists of any length.
#pragma once

#include <zrt/core/accumulator.hpp>
#include <zrt/ir/onnx/call.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

using ptir::Attribute;
using ptir::AttributeKind;
using ptir::choice_index;
using ptir::Dim;

/// The shape of these extents; one below 0 or above kMaxExtent is an error of the builder.
[[nodiscard]] inline ptir::Shape shape_of(Builder& b, const IntList& extents) noexcept {
  ptir::Shape shape;
  for (const std::int64_t extent : extents) {
    const bool fits = extent >= 0 && extent <= kMaxExtent;
    if (!fits) b.set(Error::of(Errc::limit_exceeded, "an extent is ", extent, ", expected 0 to ", kMaxExtent));
    shape.append(Dim(fits ? extent : 0));
  }
  return shape;
}
[[nodiscard]] inline Attribute shape_attribute(Builder& b, const IntList& extents) noexcept {
  Attribute a = b.ints(extents.view());
  a.kind = AttributeKind::shape;
  return a;
}
/// The product of the extents; -1 when it does not fit.
[[nodiscard]] inline std::int64_t product(const IntList& list, std::size_t first, std::size_t last) noexcept {
  CheckedSize count = 1;
  for (std::size_t i = first; i < last && i < list.size(); ++i)
    count *= CheckedSize(list[i] < 0 ? 0 : static_cast<std::uint64_t>(list[i]));
  return count.ok() && count.raw() < (std::uint64_t{1} << 62) ? static_cast<std::int64_t>(count.raw()) : -1;
}
[[nodiscard]] inline std::int64_t product(const IntList& list) noexcept { return product(list, 0, list.size()); }
[[nodiscard]] inline IntList ascending(std::size_t count) noexcept {
  IntList list;
  for (std::size_t i = 0; i < count; ++i) list.push(static_cast<std::int64_t>(i));
  return list;
}

[[nodiscard]] inline Tensor emit1(Builder& b, std::string_view op, const Tensor& x,
                                  std::initializer_list<Attribute> attributes) noexcept {
  return b.emit(op, ptir::Tensors(&x, 1), attributes)[0];
}
[[nodiscard]] inline Tensor reshape(const Tensor& x, const IntList& extents) noexcept {
  const ptir::Shape shape = shape_of(x.builder(), extents);
  return x.shape() == shape ? x : x.builder().reshape(x, shape);
}
[[nodiscard]] inline Tensor broadcast(const Tensor& x, const IntList& extents) noexcept {
  const ptir::Shape shape = shape_of(x.builder(), extents);
  return x.shape() == shape ? x : x.builder().broadcast_to(x, shape);
}
[[nodiscard]] inline Tensor transpose(const Tensor& x, const IntList& perm) noexcept {
  bool same = perm.size() == x.shape().size();
  for (std::size_t axis = 0; same && axis < perm.size(); ++axis) same = perm[axis] == static_cast<std::int64_t>(axis);
  if (same) return x;
  return emit1(x.builder(), "transpose", x, {x.builder().ints(perm.view())});
}
[[nodiscard]] inline Tensor slice(const Tensor& x, const IntList& starts, const IntList& sizes) noexcept {
  bool whole = sizes.size() == x.shape().size();
  for (std::size_t axis = 0; whole && axis < sizes.size(); ++axis)
    whole = starts[axis] == 0 && x.shape()[axis] == Dim(sizes[axis]);
  if (whole) return x;
  return emit1(x.builder(), "slice", x, {x.builder().ints(starts.view()), shape_attribute(x.builder(), sizes)});
}
/// Elements [first, first + size) along one axis of x, whose extents are `extents`.
[[nodiscard]] inline Tensor slice_axis(const Tensor& x, IntList extents, std::size_t axis, std::int64_t first,
                                       std::int64_t size) noexcept {
  IntList starts = IntList::of(extents.size(), 0);
  starts[axis] = first;
  extents[axis] = size;
  return slice(x, starts, extents);
}
[[nodiscard]] inline Tensor concat(ptir::Tensors xs, std::int64_t axis, Builder& b) noexcept {
  return xs.size() == 1 ? xs[0] : b.emit("concat", xs, {Attribute::integer(axis)})[0];
}
/// `value` is a literal, as `Builder::scalar` makes one.
[[nodiscard]] inline Tensor pad(const Tensor& x, const IntList& low, const IntList& high, const IntList& interior,
                                const Tensor& value) noexcept {
  Builder& b = x.builder();
  return emit1(
      b, "pad", x,
      {b.ints(low.view()), b.ints(high.view()), b.ints(interior.view()), Attribute::literal(value.operand().id)});
}
[[nodiscard]] inline Tensor tile(const Tensor& x, const IntList& repeats) noexcept {
  return emit1(x.builder(), "tile", x, {x.builder().ints(repeats.view())});
}

/// x as it is where it is of that type, else cast.
[[nodiscard]] inline Tensor as_type(const Tensor& x, DType dtype) noexcept {
  return x.dtype() == dtype ? x : x.builder().cast(x, dtype);
}
/// x in the type in which sums that are worked on further are taken: f32 for f16, whose sums leave its range, and for
/// bf16, whose sums lose their last places.
[[nodiscard]] inline Tensor widened(const Tensor& x) noexcept { return as_type(x, default_accumulator(x.dtype())); }

/// A fold of x accumulates in `result` and gives it where that is another type than x's; else both are x's own.
[[nodiscard]] inline ptir::FoldTypes fold_types(const Tensor& x, std::optional<DType> result) noexcept {
  if (result == x.dtype()) result = {};
  return {result, result};
}
/// Kind is an index of reduce's choices; the result is of x's type or of `result`.
[[nodiscard]] inline Tensor reduce(std::uint64_t kind, const Tensor& x, const IntList& axes, bool keep,
                                   std::optional<DType> result = {}) noexcept {
  Builder& b = x.builder();
  const std::optional<DType> given = fold_types(x, result).result;
  const Attribute type = given ? Attribute::dtype(*given) : Attribute{};
  return emit1(b, "reduce", x, {Attribute::choice(kind), b.ints(axes.view()), Attribute::boolean(keep), type, type});
}
inline constexpr std::uint64_t kSum = choice_index("reduce", "kind", "sum");
inline constexpr std::uint64_t kMax = choice_index("reduce", "kind", "max");
inline constexpr std::uint64_t kMin = choice_index("reduce", "kind", "min");
/// The sum of x in its wide type, of which a mean or a root is made before it is cast back.
[[nodiscard]] inline Tensor wide_sum(const Tensor& x, const IntList& axes, bool keep) noexcept {
  return reduce(kSum, x, axes, keep, default_accumulator(x.dtype()));
}

/// Contracts the listed axes; results are batch, free lhs, free rhs.
[[nodiscard]] inline Tensor dot(const Tensor& lhs, const Tensor& rhs, const IntList& batch_lhs,
                                const IntList& batch_rhs, const IntList& contract_lhs, const IntList& contract_rhs,
                                std::optional<DType> result = {}) noexcept {
  Builder& b = lhs.builder();
  const Tensor operands[]{lhs, rhs};
  const Attribute type = result ? Attribute::dtype(*result) : Attribute{};
  return b.emit("dot_general", operands,
                {b.ints(batch_lhs.view()), b.ints(batch_rhs.view()), b.ints(contract_lhs.view()),
                 b.ints(contract_rhs.view()), type, type})[0];
}

/// Integers as a constant of the program.
[[nodiscard]] inline Tensor integers(Builder& b, const IntList& values) noexcept {
  return b.literal({DType::si64, {Dim(static_cast<std::int64_t>(values.size()))}}, as_bytes(values.view()));
}
[[nodiscard]] inline Tensor integers(Builder& b, Span<const std::int64_t> values) noexcept {
  return b.literal({DType::si64, {Dim(static_cast<std::int64_t>(values.size()))}}, as_bytes(values));
}
/// The rows of `axis` that `indices` (whatever rank) names, in its place: ONNX Gather.
[[nodiscard]] inline Tensor take_axis(NodeCall& n, const Tensor& x, const Tensor& indices, std::size_t axis) noexcept {
  Builder& b = n.b();
  if (axis == 0) return b.take(x, indices);
  const std::size_t rank = x.shape().size();
  IntList front{static_cast<std::int64_t>(axis)};
  for (std::size_t i = 0; i < rank; ++i)
    if (i != axis) front.push(static_cast<std::int64_t>(i));
  const Tensor taken = b.take(transpose(x, front), indices);
  const std::size_t more = indices.shape().size();
  IntList back;
  for (std::size_t i = 0; i < axis; ++i) back.push(static_cast<std::int64_t>(more + i));
  for (std::size_t i = 0; i < more; ++i) back.push(static_cast<std::int64_t>(i));
  for (std::size_t i = more + axis; i < more + rank - 1; ++i) back.push(static_cast<std::int64_t>(i));
  return transpose(taken, back);
}
/// The elements of an axis at places that are known, in that order.
[[nodiscard]] inline Tensor pick(NodeCall& n, const Tensor& x, Span<const std::int64_t> places,
                                 std::size_t axis) noexcept {
  return take_axis(n, x, integers(n.b(), places), axis);
}
[[nodiscard]] inline Tensor reverse(NodeCall& n, const Tensor& x, std::size_t axis) noexcept {
  const IntList extents = n.shape(x);
  if (!n.fits_table(extents[axis])) return x;
  Vector<std::int64_t> places(n.allocator());
  for (std::int64_t i = extents[axis]; i > 0 && !n.failed(); --i)
    if (auto r = places.push_back(i - 1); !r) n.fail(r.error());
  return pick(n, x, places.span(), axis);
}

/// Calls a kernel of the ONNX targets; `name` is its target's.
[[nodiscard]] inline ptir::Results custom(NodeCall& n, std::string_view target, ptir::Tensors operands,
                                          std::initializer_list<ptir::MapEntry> attributes,
                                          Span<const ptir::TensorType> results) noexcept {
  return n.b().custom_call(target, operands, attributes, results, results.size() != 1);
}
[[nodiscard]] inline Tensor custom1(NodeCall& n, std::string_view target, std::initializer_list<Tensor> operands,
                                    std::initializer_list<ptir::MapEntry> attributes,
                                    const ptir::TensorType& result) noexcept {
  return custom(n, target, ptir::Tensors(operands.begin(), operands.size()), attributes, {&result, 1})[0];
}

/// Brings two tensors to their common shape.
inline void align(NodeCall& n, Tensor& x, Tensor& y) noexcept {
  const IntList a = n.shape(x);
  const IntList c = n.shape(y);
  const std::size_t rank = a.size() > c.size() ? a.size() : c.size();
  IntList common = IntList::of(rank, 1);
  for (const IntList* list : {&a, &c})
    for (std::size_t i = 0; i < list->size(); ++i) {
      std::int64_t& extent = common[rank - list->size() + i];
      if ((*list)[i] != 1) extent = (*list)[i];
    }
  if (n.failed()) return;
  x = broadcast(x, common);
  y = broadcast(y, common);
}
/// A whole number as an inline literal of si64, exactly.
[[nodiscard]] inline Tensor whole(Builder& b, std::int64_t value) noexcept {
  return b.literal({DType::si64, {}}, as_bytes(Span(&value, 1)));
}
[[nodiscard]] inline Tensor scalar_like(const Tensor& x, double value) noexcept {
  return x.builder().scalar(x.dtype(), value);
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
