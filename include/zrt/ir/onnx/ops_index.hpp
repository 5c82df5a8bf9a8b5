// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_index.hpp: operators that read or write where an index tensor says.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_shape.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// Indices counted from 0: `extent` is added to negative ones.
[[nodiscard]] inline Tensor from_zero(const Tensor& indices, std::int64_t extent) noexcept {
  Builder& b = indices.builder();
  b.origin_indices(ptir::Origins::Indices::count_from_end);
  return b.select(b.lt(indices, scalar_like(indices, 0)), indices + static_cast<double>(extent), indices);
}
/// What an si64 index outside its axis is among places.
[[nodiscard]] inline Tensor outside_of_all(const Tensor& index) noexcept {
  using ptir::Origins;
  Builder& b = index.builder();
  const Tensor near = b.minimum(b.maximum(index, whole(b, -Origins::kFarthest)), whole(b, Origins::kFarthest));
  return near + whole(b, Origins::kOutside);
}
/// `places`, of which each was made of an index among others; where that is outside [-extent, extent), no place at all,
/// since the others may hide it. The file's index operand runs over `shape`.
[[nodiscard]] inline Tensor unless_outside(const Tensor& places, const Tensor& index, std::int64_t extent,
                                           const ptir::Shape& shape) noexcept {
  Builder& b = places.builder();
  b.origin_indices(ptir::Origins::Indices::as_places, shape);
  const Tensor outside = b.maximum(b.lt(index, scalar_like(index, static_cast<double>(-extent))),
                                   b.ge(index, scalar_like(index, static_cast<double>(extent))));
  return b.select(outside, outside_of_all(b.cast(index, DType::si64)), places);
}
/// Operand `i` as si32 or si64.
[[nodiscard]] inline Tensor index_operand(NodeCall& n, std::size_t i) noexcept {
  const Tensor x = n.in(i);
  return x.dtype() == DType::si32 || x.dtype() == DType::si64 ? x : n.b().cast(x, DType::si64);
}

inline void gather(NodeCall& n) noexcept {
  const Value x = n.value(0);
  const Value places = n.value(1);
  const IntList shape = n.shape(0);
  const std::size_t axis = n.axis("axis", 0, shape.size());
  if (n.failed()) return;
  if (x.known && places.known && shape.size() == 1 && shape[0] <= 64 && x.type.dtype == DType::si64 &&
      places.type.shape.constant_elements().raw() <= 64) {
    const IntList from = n.ints_in(0, "data");
    IntList picked;
    for (std::int64_t at : n.ints_in(1, "indices")) {
      if (at < 0) at += shape[0];
      if (at < 0 || at >= shape[0]) return n.fail(Errc::invalid_params, "an index is ", at, " of ", shape[0]);
      picked.push(from[static_cast<std::size_t>(at)]);
    }
    return n.out_known(0, {DType::si64, places.type.shape}, as_bytes(picked.view()));
  }
  n.out(0, take_axis(n, n.in(0), from_zero(index_operand(n, 1), shape[axis]), axis));
}
/// Where in a flat tensor of `shape` the elements lie that `indices` names along `axis`, its own place elsewhere.
[[nodiscard]] inline Tensor flat_places(NodeCall& n, const Tensor& indices, const IntList& shape,
                                        std::size_t axis) noexcept {
  Builder& b = n.b();
  const IntList extents = n.shape(indices);
  Tensor at =
      b.mul(b.cast(from_zero(indices, shape[axis]), DType::si64), whole(b, product(shape, axis + 1, shape.size())));
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (i != axis)
      at = at + b.mul(b.iota(shape_of(n.b(), extents), DType::si64, static_cast<std::int64_t>(i)),
                      whole(b, product(shape, i + 1, shape.size())));
  return unless_outside(at, indices, shape[axis], indices.shape());
}
inline void gather_elements(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  const IntList shape = n.shape(0);
  const Tensor indices = index_operand(n, 1);
  const IntList extents = n.shape(1);
  const std::size_t axis = n.axis("axis", 0, shape.size());
  if (n.failed()) return;
  if (extents.size() != shape.size()) return n.fail(Errc::shape_mismatch, "indices must have the axes of x");
  bool same = true;
  for (std::size_t i = 0; i < shape.size(); ++i) same = same && (i == axis || extents[i] == shape[i]);
  if (same) return n.out(0, n.b().gather(x, from_zero(indices, shape[axis]), static_cast<std::int64_t>(axis)));
  n.out(0, n.b().take(reshape(x, {product(shape)}), flat_places(n, indices, shape, axis)));
}
/// The attribute `reduction` of scatters, as a choice of scatter_reduce.
[[nodiscard]] inline std::uint64_t scatter_kind(NodeCall& n) noexcept {
  const std::string_view kind = n.text("reduction", "none");
  if (kind == "none") return choice_index("scatter_reduce", "reduce", "replace");
  if (kind == "max") return choice_index("scatter_reduce", "reduce", "max");
  if (kind == "min") return choice_index("scatter_reduce", "reduce", "min");
  if (kind != "add") n.unsupported("reduction ", zrt::slice(kind, 0, 20));
  return choice_index("scatter_reduce", "reduce", "add");
}
/// x [all, width] with row i of `updates` multiplied into the row that entry i of `places` names, one after the other.
[[nodiscard]] inline Tensor multiply_rows(NodeCall& n, const Tensor& x, const Tensor& places,
                                          const Tensor& updates) noexcept {
  Builder& b = n.b();
  const std::int64_t width = n.shape(x)[1];
  const ptir::RegionId step = b.region(Name("multiply"), [&] {
    const Tensor all = b.parameter(x.type());
    const Tensor place = reshape(b.parameter({DType::si64, {}}), {1});
    const Tensor update = b.parameter({x.dtype(), shape_of(b, {width})});
    const Tensor row = b.take(all, place) * reshape(update, {1, width});
    b.result(b.scatter_reduce(choice_index("scatter_reduce", "reduce", "replace"), all,
                              broadcast(reshape(place, {1, 1}), {1, width}), row, 0));
  });
  const Tensor operands[]{x, places, updates};
  return b.emit("scan", operands, {Attribute::region(step), Attribute::integer(1), Attribute::integer(0)})[0];
}
/// x [all, width] with row i of `updates` combined into the row that entry i of `places` names, as `reduction` says.
[[nodiscard]] inline Tensor scatter_rows(NodeCall& n, const Tensor& x, const Tensor& places,
                                         const Tensor& updates) noexcept {
  if (n.text("reduction", "none") == "mul") return multiply_rows(n, x, places, updates);
  const IntList rows = n.shape(updates);
  const Tensor at = broadcast(reshape(places, {rows[0], 1}), rows);
  return n.b().scatter_reduce(scatter_kind(n), x, at, updates, 0);
}
inline void scatter_elements(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  const IntList shape = n.shape(0);
  const IntList extents = n.shape(1);
  const std::size_t axis = n.axis("axis", 0, shape.size());
  if (n.failed()) return;
  if (extents.size() != shape.size()) return n.fail(Errc::shape_mismatch, "indices must have the axes of x");
  const Tensor places = flat_places(n, index_operand(n, 1), shape, axis);
  const std::int64_t count = product(extents);
  const Tensor flat =
      scatter_rows(n, reshape(x, {product(shape), 1}), reshape(places, {count}), reshape(n.in(2), {count, 1}));
  n.out(0, reshape(flat, shape));
}
/// Rows of x flattened over its first axes, named by the last axis of the indices.
struct RowPlaces {
  Tensor rows;         ///< si64 [count]
  std::int64_t count;  ///< of index tuples
  std::int64_t all;    ///< rows of x
  std::int64_t width;  ///< elements of a row
  IntList before;      ///< extents of the indices but the last
  IntList after;       ///< extents of a row
};
[[nodiscard]] inline RowPlaces row_places(NodeCall& n, std::size_t batch) noexcept {
  Builder& b = n.b();
  const IntList shape = n.shape(0);
  const IntList extents = n.shape(1);
  RowPlaces r{b.scalar(DType::si64, 0), 1, 1, 1, {}, {}};
  const auto depth = extents.empty() ? std::int64_t{-1} : extents[extents.size() - 1];
  if (depth < 0 || depth > static_cast<std::int64_t>(shape.size() - batch) || batch + 1 > extents.size() ||
      batch > shape.size()) {
    n.fail(Errc::shape_mismatch, "indices name ", depth, " axes of ", shape.size());
    return r;
  }
  const std::size_t used = batch + static_cast<std::size_t>(depth);
  for (std::size_t i = 0; i + 1 < extents.size(); ++i) r.before.push(extents[i]);
  for (std::size_t i = used; i < shape.size(); ++i) r.after.push(shape[i]);
  r.count = product(r.before);
  r.all = product(shape, 0, used);
  r.width = product(r.after);
  const Tensor tuples = reshape(b.cast(n.in(1), DType::si64), {r.count, depth});
  Tensor rows = reshape(b.broadcast_to(r.rows, shape_of(n.b(), {r.count})), {r.count});
  for (std::size_t i = 0; i < batch; ++i)
    rows =
        rows + b.mul(reshape(b.iota(shape_of(n.b(), r.before), DType::si64, static_cast<std::int64_t>(i)), {r.count}),
                     whole(b, product(shape, i + 1, used)));
  for (std::int64_t k = 0; k < depth; ++k) {
    const std::size_t axis = batch + static_cast<std::size_t>(k);
    const Tensor column = reshape(slice(tuples, {0, k}, {r.count, 1}), {r.count});
    rows = rows + b.mul(from_zero(column, shape[axis]), whole(b, product(shape, axis + 1, used)));
  }
  // The first of a tuple that is outside is the one that stays.
  for (std::int64_t k = depth; k-- > 0;)
    rows = unless_outside(rows, reshape(slice(tuples, {0, k}, {r.count, 1}), {r.count}),
                          shape[batch + static_cast<std::size_t>(k)], shape_of(b, r.before));
  r.rows = rows;
  return r;
}
inline void gather_nd(NodeCall& n) noexcept {
  const std::int64_t batch = n.integer("batch_dims", 0);
  if (batch < 0 || batch > 8) return n.fail(Errc::invalid_params, "batch_dims is ", batch);
  const RowPlaces r = row_places(n, static_cast<std::size_t>(batch));
  if (n.failed()) return;
  IntList result = r.before;
  for (const std::int64_t extent : r.after) result.push(extent);
  n.out(0, reshape(n.b().take(reshape(n.in(0), {r.all, r.width}), r.rows), result));
}
inline void scatter_nd(NodeCall& n) noexcept {
  const RowPlaces r = row_places(n, 0);
  if (n.failed()) return;
  const Tensor x = reshape(n.in(0), {r.all, r.width});
  n.out(0, reshape(scatter_rows(n, x, r.rows, reshape(n.in(2), {r.count, r.width})), n.shape(0)));
}

/// Writes `update` into a cache along an axis, from a place on that each batch entry names.
inline void tensor_scatter(NodeCall& n) noexcept {
  Builder& b = n.b();
  const IntList shape = n.shape(0);
  const IntList more = n.shape(1);
  const std::size_t axis = n.axis("axis", -2, shape.size());
  const std::string_view mode = n.text("mode", "linear");
  if (n.failed()) return;
  if (mode != "linear" && mode != "circular")
    return n.fail(Errc::invalid_params, "mode is ", zrt::slice(mode, 0, 20), ", expected linear or circular");
  bool fits = axis > 0 && more.size() == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = i == axis ? more[i] <= shape[i] : more[i] == shape[i];
  if (!fits) return n.fail(Errc::shape_mismatch, "the update must have the cache's extents but on axis ", axis);
  const std::int64_t length = more[axis];
  const std::int64_t before = product(shape, 1, axis);
  const std::int64_t width = product(shape, axis + 1, shape.size());
  const std::int64_t all = product(shape, 0, axis + 1);
  if (before < 0 || width < 0 || all < 0) return n.fail(Errc::size_overflow, "the cache's places do not fit");
  // Rows are [batch, axes between, place].
  const IntList rows{shape[0], before, length};
  Tensor first = whole(b, 0);
  if (n.has(2)) first = reshape(b.cast(n.in(2), DType::si64), {shape[0], 1, 1});
  Tensor place = b.iota(shape_of(b, rows), DType::si64, 2) + first;
  const Tensor extent = whole(b, shape[axis]);
  if (mode == "circular") place = b.select(b.ge(place, extent), place - extent, place);
  const Tensor line = b.add(b.mul(b.iota(shape_of(b, rows), DType::si64, 0), whole(b, before)),
                            b.iota(shape_of(b, rows), DType::si64, 1));
  const std::int64_t count = product(rows);
  // A place beyond its line would be one of the next.
  b.origin_indices(ptir::Origins::Indices::of_windows, shape_of(b, rows));
  const Tensor outside = b.maximum(b.lt(place, whole(b, 0)), b.ge(place, extent));
  const Tensor within = b.select(outside, outside_of_all(place), b.add(b.mul(line, extent), place));
  const Tensor at = reshape(within, {count, 1});
  const Tensor flat =
      b.scatter_reduce(choice_index("scatter_reduce", "reduce", "replace"), reshape(n.in(0), {all, width}),
                       b.broadcast_to(at, shape_of(b, {count, width})), reshape(n.in(1), {count, width}), 0);
  n.out(0, reshape(flat, shape));
}
inline void one_hot(NodeCall& n) noexcept {
  Builder& b = n.b();
  const IntList shape = n.shape(0);
  const auto depth = scalar_math::to_integer(n.real_in(1, 0, "depth"));
  const std::size_t axis = n.axis("axis", -1, shape.size() + 1);
  if (depth < 1 || depth > kMaxExtent) return n.fail(Errc::invalid_params, "depth is ", depth);
  IntList at;
  for (std::size_t i = 0; i <= shape.size(); ++i) {
    if (i == axis) at.push(1);
    if (i < shape.size()) at.push(shape[i]);
  }
  IntList result = at;
  result[axis] = depth;
  const Tensor indices = reshape(from_zero(b.cast(n.in(0), DType::si64), depth), at);
  const Tensor hot = b.eq(b.iota(shape_of(n.b(), result), DType::si64, static_cast<std::int64_t>(axis)), indices);
  const Tensor values = n.in(2);
  n.out(0, b.select(hot, reshape(slice(values, {1}, {1}), {}), reshape(slice(values, {0}, {1}), {})));
}
inline void top_k(NodeCall& n) noexcept {
  const std::int64_t k = n.has(1) ? n.int_in(1, "k") : n.integer("k", -1);
  const std::size_t axis = n.axis("axis", -1, n.rank(0));
  const ptir::Results r =
      n.b().top_k(n.in(0), k, static_cast<std::int64_t>(axis), n.integer("largest", 1) != 0, DType::si64);
  if (n.failed()) return;
  n.out(0, r[0]);
  n.out(1, r[1]);
}
/// Each sequence of a batch turned around up to its length.
inline void reverse_sequence(NodeCall& n) noexcept {
  Builder& b = n.b();
  const Tensor x = n.in(0);
  const IntList shape = n.shape(0);
  const std::size_t batch = n.axis("batch_axis", 1, shape.size());
  const std::size_t time = n.axis("time_axis", 0, shape.size());
  if (n.failed()) return;
  IntList along = IntList::of(shape.size(), 1);
  along[batch] = shape[batch];
  const Tensor lengths = broadcast(reshape(b.cast(n.in(1), DType::si64), along), shape);
  const Tensor at = b.iota(shape_of(n.b(), shape), DType::si64, static_cast<std::int64_t>(time));
  const Tensor places = b.select(b.lt(at, lengths), lengths - at - 1.0, at);
  n.out(0, b.gather(x, places, static_cast<std::int64_t>(time)));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
