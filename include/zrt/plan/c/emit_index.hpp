// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit_index.hpp: ops whose places are data, in C.
#pragma once

#include <zrt/ops/dynamic_slice.hpp>
#include <zrt/ops/dynamic_update_slice.hpp>
#include <zrt/ops/gather.hpp>
#include <zrt/ops/scatter_add.hpp>
#include <zrt/ops/scatter_reduce.hpp>
#include <zrt/ops/take.hpp>
#include <zrt/ops/top_k.hpp>
#include <zrt/plan/c/emit.hpp>

namespace zrt::inline ZRT_ABI::plan::c {

template <> struct Emit<ops::Take> {
  static void emit(Context& f, const EmitCall<ops::Take>& c) noexcept {
    const ops::AxisSplit x = c.in[0].split(0);
    const DType dtype = c.in[0].dtype();
    const Expr y = c.out[0].pointer();
    f.w.loop({"i"}, c.in[1].elements());
    f.w.line({"const uint64_t index = ", load_index(c.in[1], {"i"}), ";"});
    f.w.open({"if (", below("index", x.extent), ")"});
    copy(f.w, dtype, y, {"i * ", x.inner}, c.in[0].pointer(), {"index * ", x.inner}, Expr{x.inner});
    f.w.close();
    f.w.open({"else"});
    f.w.loop({"k"}, x.inner);
    copy(f.w, dtype, y, {"i * ", x.inner, " + k"}, f.element({}, dtype), {"0"}, {"1"});
    f.w.close();
    f.fail();
    f.w.close();
    f.w.close();
  }
};

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

template <> struct Emit<ops::Gather> {
  static void emit(Context& f, const EmitCall<ops::Gather>& c) noexcept {
    const DType dtype = c.in[0].dtype();
    const AlongAxis along(c.in[0], c.in[1], c.params.axis);
    along.open(f.w);
    copy(f.w, dtype, c.out[0].pointer(), {"i"}, c.in[0].pointer(), along.place(), {"1"});
    along.otherwise(f.w);
    copy(f.w, dtype, c.out[0].pointer(), {"i"}, f.element({}, dtype), {"0"}, {"1"});
    f.fail();
    along.close(f.w);
  }
};

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

template <> struct Emit<ops::ScatterReduce> {
  static constexpr bool kScratch = true;

  static void emit(Context& f, const EmitCall<ops::ScatterReduce>& c) noexcept {
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
};

template <> struct Emit<ops::ScatterAdd> {
  static constexpr bool kScratch = true;

  static void emit(Context& f, const EmitCall<ops::ScatterAdd>& c) noexcept {
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
};

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

template <> struct Emit<ops::DynamicSlice> {
  static void emit(Context& f, const EmitCall<ops::DynamicSlice>& c) noexcept {
    if (c.out[0].elements() == 0) return;
    const auto axes = open_window(f.w, c.in[0], c.out[0], c.in[1]);
    copy_box(f.w, c.in[0].dtype(), c.in[0].pointer(), {"first"}, c.out[0].pointer(), {"0"},
             Span(axes).first(c.in[0].type.shape.rank));
    f.w.close();
  }
};

template <> struct Emit<ops::DynamicUpdateSlice> {
  static void emit(Context& f, const EmitCall<ops::DynamicUpdateSlice>& c) noexcept {
    copy_whole(f.w, c.in[0], c.out[0]);
    if (c.in[1].elements() == 0) return;
    auto axes = open_window(f.w, c.in[0], c.in[1], c.in[2]);
    for (ops::CopyAxis& axis : axes) std::swap(axis.from_stride, axis.to_stride);
    copy_box(f.w, c.in[0].dtype(), c.in[1].pointer(), {"0"}, c.out[0].pointer(), {"first"},
             Span(axes).first(c.in[0].type.shape.rank));
    f.w.close();
  }
};

template <> struct Emit<ops::TopK> {
  static void emit(Context& f, const EmitCall<ops::TopK>& c) noexcept {
    const Tensor& x = c.in[0];
    const ops::AxisSplit split = x.split(c.params.axis);
    const Domain domain = domain_of(x.dtype());
    const auto before = [&](const Expr& candidates) {
      return Expr{"zrt_before_", c_name(domain), "(", candidates, ", ", unsigned{c.params.largest}, ")"};
    };
    f.w.loop({"o"}, split.outer);
    f.w.loop({"r"}, split.inner);
    f.w.line({"uint64_t last = 0;"});
    f.w.line({c_type(domain), " last_value = 0;"});
    f.w.loop({"rank"}, c.params.k);
    f.w.line({"uint64_t best = 0;"});
    f.w.line({c_type(domain), " value = 0;"});
    f.w.line({"int found = 0;"});
    f.w.loop({"n"}, split.extent);
    f.w.line(
        {"const ", c_type(domain), " x = ", load(x, {"(o * ", split.extent, " + n) * ", split.inner, " + r"}), ";"});
    f.w.line({"if (rank != 0 && !", before({"last_value, last, x, n"}), ") continue;"});
    f.w.line({"if (found && !", before({"x, n, value, best"}), ") continue;"});
    f.w.line({"best = n;"});
    f.w.line({"value = x;"});
    f.w.line({"found = 1;"});
    f.w.close();
    const Expr to{"(o * ", c.params.k, " + rank) * ", split.inner, " + r"};
    copy(f.w, x.dtype(), c.out[0].pointer(), to, x.pointer(),
         {"(o * ", split.extent, " + best) * ", split.inner, " + r"}, {"1"});
    store(f.w, c.out[1], to, {"(int64_t)best"});
    f.w.line({"last = best;"});
    f.w.line({"last_value = value;"});
    f.w.close();
    f.w.close();
    f.w.close();
  }
};

}  // namespace zrt::inline ZRT_ABI::plan::c
