// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_selection.hpp: operators whose data decides how much they give; it must be known.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_shape.hpp>
#include <zrt/ir/onnx/scalar_math.hpp>

#include <algorithm>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// The elements of operand `i`, which must be known, as numbers of `to`; empty after an error.
template <class T>
[[nodiscard]] Vector<T> known_elements(NodeCall& n, std::size_t i, DType to, std::string_view what) noexcept {
  Vector<T> elements(n.allocator());
  const Value v = n.value(i);
  if (!n.need_known(v, i, what)) return elements;
  const std::int64_t count = product(n.shape(i));
  if (!is_computed(v.type.dtype)) {
    n.unsupported(what, " of ", name(v.type.dtype));
    return elements;
  }
  if (!n.fits_table(count)) return elements;
  if (auto r = elements.resize(static_cast<std::size_t>(count)); !r)
    n.fail(r.error());
  else if (count != 0)
    cast_elements(v.type.dtype, v.data.data(), to, reinterpret_cast<std::byte*>(elements.data()), 0,
                  static_cast<std::uint64_t>(count));
  return elements;
}
inline void append_place(NodeCall& n, Vector<std::int64_t>& to, std::int64_t place) noexcept {
  if (auto r = to.push_back(place); !r) n.fail(r.error());
}
inline void out_places(NodeCall& n, std::size_t i, const Vector<std::int64_t>& places) noexcept {
  n.out_known(i, {DType::si64, shape_of(n.b(), {static_cast<std::int64_t>(places.size())})}, as_bytes(places.span()));
}

/// The places of the elements that are not zero.
inline void non_zero(NodeCall& n) noexcept {
  const Vector<double> x = known_elements<double>(n, 0, DType::f64, "x");
  if (n.failed()) return;
  const IntList shape = n.shape(0);
  Vector<std::int64_t> found(n.allocator());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != 0) append_place(n, found, static_cast<std::int64_t>(i));
  Vector<std::int64_t> places(n.allocator());
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    for (const std::int64_t i : found)
      append_place(n, places, i / product(shape, axis + 1, shape.size()) % shape[axis]);
  if (n.failed()) return;
  n.out_known(0,
              {DType::si64,
               shape_of(n.b(), {static_cast<std::int64_t>(shape.size()), static_cast<std::int64_t>(found.size())})},
              as_bytes(places.span()));
}

/// The entries of an axis, or of x as one list, where the condition holds; behind its end it does not.
inline void compress(NodeCall& n) noexcept {
  const Vector<std::int64_t> condition = known_elements<std::int64_t>(n, 1, DType::si64, "condition");
  Tensor x = n.in(0);
  IntList shape = n.shape(0);
  if (n.failed()) return;
  const bool flat = !n.has_attribute("axis");
  if (flat) shape = {product(shape)};
  const std::size_t axis = flat ? 0 : n.axis("axis", 0, shape.size());
  if (n.failed()) return;
  if (n.rank(1) != 1 || static_cast<std::int64_t>(condition.size()) > shape[axis])
    return n.fail(Errc::shape_mismatch, "condition has ", n.rank(1), " axes and ", condition.size(),
                  " elements, expected one axis of at most ", shape[axis]);
  Vector<std::int64_t> places(n.allocator());
  for (std::size_t i = 0; i < condition.size(); ++i)
    if (condition[i] != 0) append_place(n, places, static_cast<std::int64_t>(i));
  if (!n.failed()) n.out(0, pick(n, flat ? reshape(x, shape) : x, places.span(), axis));
}

/// Rows of elements in an order: along an axis of a tensor, each row all that has one place on it.
template <class T> struct OrderedRows {
  Span<const T> elements;
  std::int64_t outer, count, inner;

  [[nodiscard]] static int order(T a, T b) noexcept {
    // NaN comes last, and all NaN are one.
    if (a != a || b != b) return int{a != a} - int{b != b};
    return int{a > b} - int{a < b};
  }
  [[nodiscard]] int order_rows(std::int64_t p, std::int64_t q) const noexcept {
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        const auto at = [&](std::int64_t row) {
          return elements[static_cast<std::size_t>((o * count + row) * inner + i)];
        };
        if (const int differs = order(at(p), at(q)); differs != 0) return differs;
      }
    return 0;
  }
};
/// Rows that are equal, together.
struct EqualRows {
  std::int64_t first;  ///< the first of them
  std::int64_t count;
};
/// The distinct rows, by value or in the order in which they come first; `which` gets for each row its place among them.
template <class T>
[[nodiscard]] Vector<EqualRows> distinct_rows(NodeCall& n, const OrderedRows<T>& rows, bool sorted,
                                              Vector<std::int64_t>& which) noexcept {
  Vector<EqualRows> groups(n.allocator());
  Vector<std::int64_t> order(n.allocator());
  Vector<std::int64_t> group_of(n.allocator());
  for (std::int64_t i = 0; i < rows.count; ++i) append_place(n, order, i);
  if (auto r = which.resize(static_cast<std::size_t>(rows.count)); !r) n.fail(r.error());
  if (auto r = group_of.resize(static_cast<std::size_t>(rows.count)); !r) n.fail(r.error());
  if (n.failed()) return groups;
  std::sort(order.begin(), order.end(), [&](std::int64_t p, std::int64_t q) {
    const int differs = rows.order_rows(p, q);
    return differs != 0 ? differs < 0 : p < q;
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || rows.order_rows(order[i - 1], order[i]) != 0)
      if (auto r = groups.push_back({order[i], 0}); !r) n.fail(r.error());
    if (n.failed()) return groups;
    ++groups.back().count;
    which[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(groups.size()) - 1;
  }
  if (sorted) return groups;
  std::sort(groups.begin(), groups.end(), [](const EqualRows& a, const EqualRows& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < groups.size(); ++i)
    group_of[static_cast<std::size_t>(which[static_cast<std::size_t>(groups[i].first)])] = static_cast<std::int64_t>(i);
  for (std::int64_t& place : which) place = group_of[static_cast<std::size_t>(place)];
  return groups;
}
template <class T> void unique_of(NodeCall& n, DType as) noexcept {
  const Vector<T> elements = known_elements<T>(n, 0, as, "x");
  if (n.failed()) return;
  const Value v = n.value(0);
  const bool flat = !n.has_attribute("axis");
  IntList shape = flat ? IntList{product(n.shape(0))} : n.shape(0);
  const std::size_t axis = flat ? 0 : n.axis("axis", 0, shape.size());
  if (n.failed()) return;
  if (info(v.type.dtype).block_elems != 1) return n.unsupported("x of ", name(v.type.dtype));
  const OrderedRows<T> rows{elements.span(), product(shape, 0, axis), shape[axis],
                            product(shape, axis + 1, shape.size())};
  Vector<std::int64_t> which(n.allocator());
  const Vector<EqualRows> groups = distinct_rows(n, rows, n.integer("sorted", 1) != 0, which);
  Vector<std::int64_t> firsts(n.allocator());
  Vector<std::int64_t> counts(n.allocator());
  for (const EqualRows& group : groups) {
    append_place(n, firsts, group.first);
    append_place(n, counts, group.count);
  }
  const std::size_t width = info(v.type.dtype).block_bytes * static_cast<std::size_t>(rows.inner);
  Vector<std::byte> bytes(n.allocator());
  for (std::int64_t o = 0; o < rows.outer && !n.failed(); ++o)
    for (const std::int64_t row : firsts)
      if (auto r = bytes.append(v.data.subspan(static_cast<std::size_t>(o * rows.count + row) * width, width)); !r)
        return n.fail(r.error());
  if (n.failed()) return;
  shape[axis] = static_cast<std::int64_t>(groups.size());
  n.out_known(0, {v.type.dtype, shape_of(n.b(), shape)}, bytes.span());
  out_places(n, 1, firsts);
  out_places(n, 2, which);
  out_places(n, 3, counts);
}
/// The distinct elements of x, or its distinct entries along an axis.
inline void unique(NodeCall& n) noexcept {
  const DType dtype = n.dtype(0);
  if (is_float(dtype)) return unique_of<double>(n, DType::f64);
  if (info(dtype).kind == DTypeKind::unsigned_integer) return unique_of<std::uint64_t>(n, DType::ui64);
  unique_of<std::int64_t>(n, DType::si64);
}

/// A box by two of its corners.
struct BoxCorners {
  double top, left, bottom, right;

  [[nodiscard]] double area() const noexcept { return math::sealed((bottom - top) * (right - left)); }
};
/// A box of four numbers: two opposite corners, or its middle and its extents, x before y.
[[nodiscard]] inline BoxCorners box_at(const double* c, bool by_middle) noexcept {
  if (by_middle)
    return {c[1] - math::sealed(c[3] / 2), c[0] - math::sealed(c[2] / 2), c[1] + math::sealed(c[3] / 2),
            c[0] + math::sealed(c[2] / 2)};
  return {std::min(c[0], c[2]), std::min(c[1], c[3]), std::max(c[0], c[2]), std::max(c[1], c[3])};
}
/// What two boxes share, of what both cover.
[[nodiscard]] inline double overlap(const BoxCorners& a, const BoxCorners& b) noexcept {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0 && width > 0)) return 0;
  const double shared = math::sealed(height * width);
  return shared / (a.area() + b.area() - shared);
}
/// Pairs of boxes that one node compares.
inline constexpr std::size_t kMaxBoxPairs = std::size_t{1} << 26;
/// The boxes of each class that have a higher score than all that they overlap too much: [batch, class, box] for each.
inline void non_max_suppression(NodeCall& n) noexcept {
  const Vector<double> boxes = known_elements<double>(n, 0, DType::f64, "boxes");
  const Vector<double> scores = known_elements<double>(n, 1, DType::f64, "scores");
  const std::int64_t most = n.has(2) ? n.int_in(2, "max_output_boxes_per_class") : 0;
  const double threshold = n.has(3) ? n.real_in(3, 0, "iou_threshold") : 0;
  const double least = n.has(4) ? n.real_in(4, 0, "score_threshold") : -std::numeric_limits<double>::infinity();
  const bool by_middle = n.integer("center_point_box", 0) != 0;
  const IntList b = n.shape(0);
  const IntList s = n.shape(1);
  if (n.failed()) return;
  if (b.size() != 3 || s.size() != 3 || b[2] != 4 || b[0] != s[0] || b[1] != s[2])
    return n.fail(Errc::shape_mismatch, "boxes must be [N, count, 4] and scores [N, classes, count]");
  Vector<std::int64_t> selected(n.allocator());
  Vector<std::int64_t> order(n.allocator());
  Vector<BoxCorners> kept(n.allocator());
  std::size_t pairs = 0;
  for (std::int64_t line = 0; line < s[0] * s[1] && !n.failed(); ++line) {
    const double* score = scores.data() + line * s[2];
    order.clear();
    kept.clear();
    for (std::int64_t i = 0; i < s[2]; ++i)
      if (score[i] > least) append_place(n, order, i);
    std::sort(order.begin(), order.end(),
              [&](std::int64_t p, std::int64_t q) { return score[p] != score[q] ? score[p] > score[q] : p < q; });
    for (const std::int64_t i : order) {
      if (static_cast<std::int64_t>(kept.size()) >= most || n.failed()) break;
      pairs += kept.size();
      if (pairs > kMaxBoxPairs)
        return n.fail(Errc::limit_exceeded, "more than ", kMaxBoxPairs, " pairs of boxes are compared");
      const BoxCorners box = box_at(boxes.data() + (line / s[1] * b[1] + i) * 4, by_middle);
      if (std::any_of(kept.begin(), kept.end(), [&](const BoxCorners& had) { return overlap(box, had) > threshold; }))
        continue;
      if (auto r = kept.push_back(box); !r) return n.fail(r.error());
      for (const std::int64_t place : {line / s[1], line % s[1], i}) append_place(n, selected, place);
    }
  }
  if (n.failed()) return;
  n.out_known(0, {DType::si64, shape_of(n.b(), {static_cast<std::int64_t>(selected.size() / 3), 3})},
              as_bytes(selected.span()));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
