// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_shape.hpp: operators that make, rearrange and cut tensors.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_slice.hpp>
#include <zrt/ir/onnx/reader.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// Gives operand 0 with another shape of as many elements; a known value stays known.
inline void out_reshaped(NodeCall& n, const IntList& extents) noexcept {
  const Value v = n.value(0);
  if (n.failed()) return;
  if (product(extents) != product(n.shape(0)))
    return n.fail(Errc::shape_mismatch, "the new shape has ", product(extents), " elements, x has ",
                  product(n.shape(0)));
  if (v.known) return n.out_known_as(0, v, shape_of(n.b(), extents));
  const Tensor y = reshape(*v.tensor, extents);
  if (n.has_out(0)) n.bind(n.node().outputs[0], {y.type(), y, {}, false, v.source});
}

inline void reshape_(NodeCall& n) noexcept {
  const IntList from = n.shape(0);
  IntList to = n.ints_in(1, "shape");
  std::size_t open = IntList::kCapacity;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && n.integer("allowzero", 0) == 0) {
      if (i >= from.size()) return n.fail(Errc::shape_mismatch, "shape copies axis ", i, " of ", from.size());
      to[i] = from[i];
    }
    if (to[i] == -1) open = i;
    if (to[i] < -1) return n.fail(Errc::invalid_params, "shape has an extent of ", to[i]);
  }
  if (n.failed()) return;
  if (open < to.size()) {
    to[open] = 1;
    const std::int64_t others = product(to);
    if (others <= 0 || product(from) % others != 0)
      return n.fail(Errc::shape_mismatch, "the extent -1 does not come out whole");
    to[open] = product(from) / others;
  }
  out_reshaped(n, to);
}
inline void flatten(NodeCall& n) noexcept {
  const IntList shape = n.shape(0);
  const std::int64_t given = n.integer("axis", 1);
  const std::size_t axis =
      given == static_cast<std::int64_t>(shape.size()) ? shape.size() : n.axis_of(given, shape.size());
  out_reshaped(n, {product(shape, 0, axis), product(shape, axis, shape.size())});
}
/// Entry `i` of a list of axes counted from 0; one that stands in the list before is an error.
[[nodiscard]] inline std::size_t axis_named_once(NodeCall& n, const IntList& axes, std::size_t i,
                                                 std::size_t rank) noexcept {
  const std::size_t axis = n.axis_of(axes[i], rank);
  for (std::size_t before = 0; before < i && !n.failed(); ++before)
    if (n.axis_of(axes[before], rank) == axis) n.fail(Errc::invalid_params, "axes names axis ", axis, " twice");
  return axis;
}
/// `given` counted from 0 among `rank` axes.
[[nodiscard]] inline IntList axes_of(NodeCall& n, const IntList& given, std::size_t rank) noexcept {
  IntList axes;
  for (const std::int64_t axis : given) axes.push(static_cast<std::int64_t>(n.axis_of(axis, rank)));
  return axes;
}
inline void squeeze(NodeCall& n) noexcept {
  const IntList shape = n.shape(0);
  const IntList axes = axes_of(n, n.ints_said(1, "axes"), shape.size());
  IntList left;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool named = axes.has(static_cast<std::int64_t>(i));
    if (named && shape[i] != 1) return n.fail(Errc::shape_mismatch, "axis ", i, " has ", shape[i], " elements");
    if (axes.empty() ? shape[i] != 1 : !named) left.push(shape[i]);
  }
  out_reshaped(n, left);
}
inline void unsqueeze(NodeCall& n) noexcept {
  const IntList shape = n.shape(0);
  const IntList given = n.ints_said(1, "axes");
  const std::size_t more = given.size();
  const IntList axes = axes_of(n, given, shape.size() + more);
  IntList result;
  std::size_t from = 0;
  for (std::size_t i = 0; i < shape.size() + more; ++i)
    result.push(axes.has(static_cast<std::int64_t>(i)) ? 1 : shape[from++]);
  out_reshaped(n, result);
}
/// A small known value keeps being known. False where `perm` is no order of the axes.
[[nodiscard]] inline bool out_transposed(NodeCall& n, const Value& v, const IntList& from,
                                         const IntList& perm) noexcept {
  IntList to;
  IntList strides;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (perm.size() != from.size() || !perm.has(static_cast<std::int64_t>(axis))) return false;
    const auto source = static_cast<std::size_t>(perm[axis]);
    to.push(from[source]);
    strides.push(product(from, source + 1, from.size()));
  }
  const std::size_t width = info(v.type.dtype).block_bytes;
  Vector<std::byte> bytes(n.allocator());
  for (std::int64_t i = 0; i < product(from); ++i) {
    std::int64_t at = 0;
    std::int64_t left = i;
    for (std::size_t axis = to.size(); axis-- > 0; left /= to[axis]) at += left % to[axis] * strides[axis];
    if (auto put = bytes.append(v.data.subspan(static_cast<std::size_t>(at) * width, width)); !put) {
      n.fail(put.error());
      return true;
    }
  }
  n.out_known(0, {v.type.dtype, shape_of(n.b(), to)}, bytes.span());
  return true;
}
inline void transpose_(NodeCall& n) noexcept {
  IntList perm = n.ints("perm");
  const Value v = n.value(0);
  const IntList shape = n.shape(0);
  if (!n.has_attribute("perm"))
    for (std::size_t i = shape.size(); i > 0; --i) perm.push(static_cast<std::int64_t>(i - 1));
  if (n.failed()) return;
  if (is_small_known(v) && out_transposed(n, v, shape, perm)) return;
  n.out(0, transpose(n.in(0), perm));
}
inline void shape_(NodeCall& n) noexcept {
  const IntList shape = n.shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto clamp = [&](std::int64_t at) {
    if (at < 0) at += rank;
    return at < 0 ? 0 : at > rank ? rank : at;
  };
  const std::int64_t first = clamp(n.integer("start", 0));
  const std::int64_t last = clamp(n.integer("end", rank));
  IntList part;
  for (std::int64_t i = first; i < last; ++i) part.push(shape[static_cast<std::size_t>(i)]);
  n.out_integers(0, part.view());
}
inline void size(NodeCall& n) noexcept {
  const std::int64_t count = product(n.shape(0));
  n.out_integers(0, {&count, 1}, true);
}

inline void constant_strings(NodeCall& n, Span<const std::string_view> texts, const ptir::Shape& shape) noexcept {
  Vector<std::int64_t> numbers(n.allocator());
  for (const std::string_view text : texts) {
    const auto number = n.reader().number_of(text);
    if (!number) return n.fail(number.error());
    if (auto r = numbers.push_back(*number); !r) return n.fail(r.error());
  }
  n.out_known(0, {kStringNumbers, shape}, as_bytes(numbers.span()));
  n.mark_strings(0);
}
inline void constant(NodeCall& n) noexcept {
  if (const AttributeView* a = n.attribute("value", AttributeType::tensor); a != nullptr) {
    const auto tensor = n.tensor_in(*a);
    if (!tensor) return n.fail(tensor.error());
    if (n.has_out(0)) n.bind(n.node().outputs[0], {tensor->type, {}, tensor->data, true});
    if (tensor->strings) n.mark_strings(0);
    return;
  }
  if (const AttributeView* a = n.attribute("value_int", AttributeType::integer); a != nullptr)
    return n.out_integers(0, {&a->integer, 1}, true);
  if (const AttributeView* a = n.attribute("value_ints", AttributeType::integers); a != nullptr)
    return n.out_integers(0, a->integers.span());
  if (const AttributeView* a = n.attribute("value_string", AttributeType::text); a != nullptr)
    return constant_strings(n, {&a->text, 1}, {});
  if (const AttributeView* a = n.attribute("value_strings", AttributeType::texts); a != nullptr)
    return constant_strings(n, a->texts.span(), {Dim(static_cast<std::int64_t>(a->texts.size()))});
  const AttributeView* one = n.attribute("value_float", AttributeType::real);
  const AttributeView* list = n.attribute("value_floats", AttributeType::reals);
  if (n.failed()) return;
  if (one == nullptr && list == nullptr) return n.unsupported("a constant of a sparse tensor");
  Vector<float> values(n.allocator());
  for (const double value : list != nullptr ? list->reals.span() : Span(&one->real, 1))
    if (auto r = values.push_back(static_cast<float>(value)); !r) return n.fail(r.error());
  ptir::TensorType type{DType::f32, {}};
  if (list != nullptr) type.shape.append(Dim(static_cast<std::int64_t>(values.size())));
  n.out_known(0, type, as_bytes(values.span()));
}
inline void constant_of_shape(NodeCall& n) noexcept {
  const IntList shape = n.ints_in(0, "shape");
  if (n.failed()) return;
  ptir::TensorType one{DType::f32, {Dim(1)}};
  std::array<std::byte, 16> zero{};
  Span<const std::byte> data(zero.data(), 4);
  if (const AttributeView* a = n.attribute("value", AttributeType::tensor); a != nullptr) {
    const auto tensor = n.tensor_in(*a);
    if (!tensor) return n.fail(tensor.error());
    if (tensor->strings) return n.unsupported("a value of strings");
    one = tensor->type;
    data = tensor->data;
    if (data.size() != bytes_of(one.dtype, 1))
      return n.fail(Errc::invalid_params, "value has ", data.size(), " bytes, expected the ", bytes_of(one.dtype, 1),
                    " of one element");
  }
  const std::int64_t count = product(shape);
  if (count >= 0 && count <= 4096 && info(one.dtype).block_elems == 1) {
    Vector<std::byte> bytes(n.allocator());
    for (std::int64_t i = 0; i < count; ++i)
      if (auto r = bytes.append(data); !r) return n.fail(r.error());
    return n.out_known(0, {one.dtype, shape_of(n.b(), shape)}, bytes.span());
  }
  const Tensor value = n.b().literal({one.dtype, {}}, data);
  n.out(0, n.b().broadcast_to(value, shape_of(n.b(), shape)));
}
inline void expand(NodeCall& n) noexcept {
  const IntList from = n.shape(0);
  const IntList wanted = n.ints_in(1, "shape");
  const std::size_t rank = from.size() > wanted.size() ? from.size() : wanted.size();
  IntList to = IntList::of(rank, 1);
  for (const IntList* list : {&wanted, &from})
    for (std::size_t i = 0; i < list->size(); ++i)
      if ((*list)[i] != 1) to[rank - list->size() + i] = (*list)[i];
  const std::int64_t count = rank == 0 ? 1 : to[0];
  if (rank <= 1 && count >= 0 && count <= std::int64_t{IntList::kCapacity} && is_known_list(n.value(0))) {
    const IntList x = n.ints_in(0, "x");
    if (x.size() == 1 || x.size() == static_cast<std::size_t>(count)) {
      IntList list;
      for (std::int64_t i = 0; i < count; ++i) list.push(element(x, i));
      return n.out_integers(0, list.view(), rank == 0);
    }
  }
  n.out(0, broadcast(n.in(0), to));
}
inline void tile_(NodeCall& n) noexcept { n.out(0, tile(n.in(0), n.ints_in(1, "repeats"))); }
inline void concat_(NodeCall& n) noexcept {
  Vector<Tensor> xs(n.allocator());
  bool known = true;
  for (std::size_t i = 0; i < n.inputs(); ++i) {
    const Value v = n.value(i);
    known = known && v.known && v.type.shape.size() == 1 && v.type.dtype == DType::si64;
    if (auto r = xs.push_back(n.tensor_of(v)); !r) return n.fail(r.error());
  }
  if (xs.empty() || n.failed()) return n.fail(Errc::invalid_file, "nothing to concatenate");
  if (!known) return n.out(0, concat(xs.span(), static_cast<std::int64_t>(n.axis("axis", 0, n.rank(0))), n.b()));
  Vector<std::byte> all(n.allocator());
  for (std::size_t i = 0; i < n.inputs(); ++i)
    if (auto r = all.append(n.value(i).data); !r) return n.fail(r.error());
  n.out_known(0, {DType::si64, {Dim(static_cast<std::int64_t>(all.size() / sizeof(std::int64_t)))}}, all.span());
}
inline void split(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  const IntList shape = n.shape(0);
  const std::size_t axis = n.axis("axis", 0, shape.size());
  IntList parts = n.ints_said(1, "split");
  if (n.failed() || n.outputs() == 0) return;
  if (n.outputs() > IntList::kCapacity)
    return n.fail(Errc::limit_exceeded, n.outputs(), " parts, at most ", IntList::kCapacity, " are read");
  if (parts.empty()) {
    const auto count = static_cast<std::int64_t>(n.outputs());
    // Only where the number of parts is said may the last be smaller.
    const bool uneven = n.has_attribute("num_outputs");
    if (n.integer("num_outputs", count) != count)
      return n.fail(Errc::invalid_file, "num_outputs is ", n.integer("num_outputs", count), ", the node has ", count);
    const std::int64_t part = (shape[axis] + count - 1) / count;
    const std::int64_t last = shape[axis] - part * (count - 1);
    if (last < 0 || (!uneven && last != part))
      return n.fail(Errc::shape_mismatch, "axis ", axis, " of ", shape[axis], " does not split into ", count);
    parts = IntList::of(n.outputs(), part);
    parts[parts.size() - 1] = last;
  }
  const bool known = shape.size() == 1 && is_known_list(n.value(0));
  std::int64_t first = 0;
  for (std::size_t i = 0; i < parts.size() && i < n.outputs(); ++i) {
    if (parts[i] < 0 || parts[i] > shape[axis] - first)
      return n.fail(Errc::shape_mismatch, "the parts of axis ", axis, " leave its ", shape[axis], " elements");
    if (known)
      n.out_known(i, {DType::si64, {Dim(parts[i])}},
                  n.value(0).data.subspan(static_cast<std::size_t>(first) * sizeof(std::int64_t),
                                          static_cast<std::size_t>(parts[i]) * sizeof(std::int64_t)));
    else
      n.out(i, slice_axis(x, shape, axis, first, parts[i]));
    first += parts[i];
  }
  if (first != shape[axis] || parts.size() != n.outputs())
    n.fail(Errc::shape_mismatch, parts.size(), " parts of ", first, " elements for ", n.outputs(),
           " results of an axis of ", shape[axis]);
}

/// Where an element beyond an edge is read: mirrored at the edge's element, from the other end, or the edge's element.
[[nodiscard]] inline std::int64_t padded_place(std::int64_t at, std::int64_t extent, std::string_view mode) noexcept {
  if (mode == "edge") return at < 0 ? 0 : at >= extent ? extent - 1 : at;
  if (mode == "wrap") return (at % extent + extent) % extent;
  if (extent == 1) return 0;
  const std::int64_t period = 2 * (extent - 1);
  at = (at % period + period) % period;
  return at < extent ? at : period - at;
}
/// The first element of operand `i`, which must be known, as a literal of `dtype`: whole numbers stay exact.
[[nodiscard]] inline Tensor known_scalar(NodeCall& n, std::size_t i, DType dtype, std::string_view what) noexcept {
  const Value v = n.value(i);
  std::array<std::byte, 16> element{};
  if (n.need_known(v, i, what) && v.type.shape.constant_elements().raw() >= 1 && is_computed(dtype) &&
      is_computed(v.type.dtype) && info(dtype).block_elems == 1 && info(v.type.dtype).block_elems == 1) {
    cast_elements(v.type.dtype, v.data.data(), dtype, element.data(), 0, 1);
  } else {
    n.fail(Errc::invalid_params, what, " is ", v.type.shape.constant_elements().raw(), " elements of ",
           name(v.type.dtype), ", expected a number of ", name(dtype));
  }
  return n.b().literal({dtype, {}}, Span(element).first(info(dtype).block_bytes));
}
inline void pad_(NodeCall& n) noexcept {
  Tensor x = n.in(0);
  const IntList shape = n.shape(0);
  IntList pads = n.ints_said(1, "pads");
  const std::string_view mode = n.text("mode", "constant");
  if (n.has(3)) {
    const IntList axes = n.ints_in(3, "axes");
    if (!n.failed() && pads.size() != 2 * axes.size())
      return n.fail(Errc::invalid_params, "pads has ", pads.size(), " entries for ", axes.size(), " axes");
    IntList all = IntList::of(2 * shape.size(), 0);
    for (std::size_t i = 0; i < axes.size() && !n.failed(); ++i) {
      const std::size_t axis = axis_named_once(n, axes, i, shape.size());
      all[axis] = pads[i];
      all[axis + shape.size()] = pads[i + axes.size()];
    }
    pads = all;
  }
  if (n.failed()) return;
  if (pads.size() != 2 * shape.size())
    return n.fail(Errc::invalid_params, "pads has ", pads.size(), " entries, expected ", 2 * shape.size());
  IntList low = IntList::of(shape.size(), 0);
  IntList high = low;
  IntList first = low;
  IntList sizes = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t before = pads[i];
    const std::int64_t after = pads[i + shape.size()];
    if (before > kMaxExtent || after > kMaxExtent || before < -shape[i] || after < -shape[i] ||
        before + after < -shape[i])
      return n.fail(Errc::invalid_params, "pads are ", before, " and ", after, " for an axis of ", shape[i]);
    low[i] = before > 0 ? before : 0;
    high[i] = after > 0 ? after : 0;
    first[i] = before < 0 ? -before : 0;
    sizes[i] = shape[i] + (before < 0 ? before : 0) + (after < 0 ? after : 0);
  }
  if (mode == "constant") {
    const Tensor value =
        n.has(2) ? known_scalar(n, 2, x.dtype(), "constant_value") : scalar_like(x, n.real("value", 0));
    return n.out(0, pad(slice(x, first, sizes), low, high, IntList::of(shape.size(), 0), value));
  }
  if (mode != "reflect" && mode != "edge" && mode != "wrap") return n.unsupported("mode ", zrt::slice(mode, 0, 20));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (pads[axis] == 0 && pads[axis + shape.size()] == 0) continue;
    if (shape[axis] == 0) return n.fail(Errc::shape_mismatch, "an empty axis has no edge");
    if (!n.fits_table(shape[axis] + pads[axis] + pads[axis + shape.size()])) return;
    Vector<std::int64_t> places(n.allocator());
    for (std::int64_t at = -pads[axis]; at < shape[axis] + pads[axis + shape.size()]; ++at)
      if (auto r = places.push_back(padded_place(at, shape[axis], mode)); !r) return n.fail(r.error());
    x = pick(n, x, places.span(), axis);
  }
  n.out(0, x);
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
