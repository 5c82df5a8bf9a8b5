// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit_index.hpp: what ops whose places are data are written with, and the long forms among them.
#pragma once

#include <zrt/ops/gather.hpp>
#include <zrt/ops/scatter_add.hpp>
#include <zrt/ops/scatter_reduce.hpp>
#include <zrt/plan/c/emit.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// Opens loops over indices along an axis: `i` counts them, and `index` is what each says.
class AlongAxis {
 public:
  AlongAxis(const Tensor& x, const Tensor& indices, std::size_t axis) noexcept
      : into_(x.split(axis)), over_(indices.split(axis)), indices_(indices) {}

  void open(Source& w) const noexcept {
    w.loop({"o"}, over_.outer);
    w.loop({"n"}, over_.extent);
    w.loop({"r"}, over_.inner);
    w.line({"const uint64_t i = (o * ", over_.extent, " + n) * ", over_.inner, " + r;"});
    w.line({"const uint64_t index = ", load_index(indices_, {"i"}), ";"});
    w.open({"if (", below("index", into_.extent), ")"});
  }
  /// The element of x that the index names, between `open` and `otherwise`.
  [[nodiscard]] Expr place() const noexcept { return {"(o * ", into_.extent, " + index) * ", into_.inner, " + r"}; }
  void otherwise(Source& w) const noexcept {
    w.close();
    w.open({"else"});
  }
  void close(Source& w) const noexcept {
    for (int i = 0; i < 4; ++i) w.close();
  }

 private:
  ops::AxisSplit into_;
  ops::AxisSplit over_;
  const Tensor& indices_;
};

inline void emit_gather(Context& f, const EmitCall<ops::Gather>& c) noexcept {
  const DType dtype = c.in[0].dtype();
  const AlongAxis along(c.in[0], c.in[1], c.params.axis);
  along.open(f.w);
  copy(f.w, dtype, c.out[0].pointer(), {"i"}, c.in[0].pointer(), along.place(), {"1"});
  along.otherwise(f.w);
  copy(f.w, dtype, c.out[0].pointer(), {"i"}, f.element({}, dtype), {"0"}, {"1"});
  f.fail();
  along.close(f.w);
}

/// Updates of x in its domain, which the scratch holds (ops/scatter.hpp).
class ScatterText {
 public:
  ScatterText(ops::ScatterKind kind, const Tensor& x, const Tensor& y, const Expr& scratch) noexcept
      : kind_(kind), x_(x), y_(y), scratch_(scratch), domain_(domain_of(x.dtype())) {}

  void begin(Source& w) const noexcept {
    w.loop({"i"}, x_.elements());
    store(w, dtype_of(domain_), scratch_, {"i"}, load(x_, {"i"}));
    w.close();
  }
  /// Combines element `i` of updates into element `place`.
  void put(Source& w, const Tensor& updates, const Expr& i, const Expr& place) const noexcept {
    w.line({"const ", c_type(domain_), " update = ", load(updates, i), ";"});
    w.line({"const ", c_type(domain_), " value = ", load(dtype_of(domain_), scratch_, place), ";"});
    Expr next;
    if (kind_ == ops::ScatterKind::add)
      next = domain_ == Domain::i64 ? Expr{"(int64_t)((uint64_t)value + (uint64_t)update)"} : Expr{"value + update"};
    else
      next = {is_float(x_.dtype()) ? "update != update || " : "", "update ",
              kind_ == ops::ScatterKind::maximum ? ">" : "<", " value ? update : value"};
    store(w, dtype_of(domain_), scratch_, place, next);
  }
  void end(Source& w) const noexcept {
    w.loop({"i"}, y_.elements());
    store(w, y_, {"i"}, load(dtype_of(domain_), scratch_, {"i"}));
    w.close();
  }

 private:
  ops::ScatterKind kind_;
  const Tensor& x_;
  const Tensor& y_;
  const Expr& scratch_;
  Domain domain_;
};

inline void emit_scatter_reduce(Context& f, const EmitCall<ops::ScatterReduce>& c) noexcept {
  const bool replaces = c.params.reduce == ops::ScatterKind::replace;
  const ScatterText scatter(c.params.reduce, c.in[0], c.out[0], f.scratch);
  if (replaces)
    copy_whole(f.w, c.in[0], c.out[0]);
  else
    scatter.begin(f.w);
  const AlongAxis along(c.in[0], c.in[1], c.params.axis);
  along.open(f.w);
  if (replaces)
    copy(f.w, c.in[0].dtype(), c.out[0].pointer(), along.place(), c.in[2].pointer(), {"i"}, {"1"});
  else
    scatter.put(f.w, c.in[2], {"i"}, along.place());
  along.otherwise(f.w);
  f.fail();
  along.close(f.w);
  if (!replaces) scatter.end(f.w);
}

inline void emit_scatter_add(Context& f, const EmitCall<ops::ScatterAdd>& c) noexcept {
  const ops::ScatterAddParams& p = c.params;
  const ops::RowMajor x = c.in[0].extents();
  const ops::RowMajor indices = c.in[1].extents();
  const ops::RowMajor updates = c.in[2].extents();
  const auto listed = [](const auto& list, std::size_t count, std::size_t axis) {
    for (std::size_t i = 0; i < count; ++i)
      if (list[i] == axis) return true;
    return false;
  };
  // An axis of updates runs over one of x in the window, or over one of indices.
  Nest nest('u');
  std::array<std::uint64_t, kMaxRank> span{};
  span.fill(1);
  std::size_t in_x = 0;
  std::size_t in_indices = 0;
  for (std::size_t axis = 0; axis < updates.rank; ++axis) {
    if (listed(p.update_window_dims, p.update_window_count, axis)) {
      while (listed(p.inserted_window_dims, p.inserted_window_count, in_x)) ++in_x;
      span[in_x] = updates.extent[axis];
      nest.add(updates.extent[axis], {updates.stride[axis], x.stride[in_x++], 0});
    } else {
      if (in_indices == p.index_vector_dim) ++in_indices;
      nest.add(updates.extent[axis], {updates.stride[axis], 0, indices.stride[in_indices++]});
    }
  }
  const std::uint64_t step = p.index_vector_dim == indices.rank ? 0 : indices.stride[p.index_vector_dim];
  const ScatterText scatter(ops::ScatterKind::add, c.in[0], c.out[0], f.scratch);
  scatter.begin(f.w);
  nest.open(f.w);
  Expr outside;
  Expr place = nest.at(1);
  for (std::size_t n = 0; n < p.scatter_dims_count; ++n) {
    const std::size_t axis = p.scatter_dims_to_operand_dims[n];
    f.w.line({"const uint64_t s", n, " = ", load_index(c.in[1], nest.at(2, Expr{n * step})), ";"});
    if (span[axis] > x.extent[axis])
      outside.append({outside.empty() ? "" : " || ", "1"});
    else
      outside.append({outside.empty() ? "" : " || ", "s", n, " > ", x.extent[axis] - span[axis]});
    place.append({" + s", n, " * ", x.stride[axis]});
  }
  if (outside.empty()) outside = {"0"};
  f.w.open({"if (", outside, ")"});
  f.fail();
  f.w.close();
  f.w.open({"else"});
  scatter.put(f.w, c.in[2], nest.at(0), place);
  f.w.close();
  nest.close(f.w);
  scatter.end(f.w);
}

/// The first element of a window within x, as the variable `first`, and the window's axes from x to it.
inline std::array<ops::CopyAxis, kMaxRank> open_window(Source& w, const Tensor& x, const Tensor& window,
                                                       const Tensor& start) noexcept {
  const ops::RowMajor from = x.extents();
  const ops::RowMajor to = window.extents();
  std::array<ops::CopyAxis, kMaxRank> axes{};
  w.open({});
  w.line({"uint64_t first = 0;"});
  for (std::size_t axis = 0; axis < from.rank; ++axis) {
    w.line({"first += zrt_start(", load(start, Expr{axis}), ", ", from.extent[axis] - to.extent[axis], ") * ",
            from.stride[axis], ";"});
    axes[axis] = {to.extent[axis], from.stride[axis], to.stride[axis]};
  }
  return axes;
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
