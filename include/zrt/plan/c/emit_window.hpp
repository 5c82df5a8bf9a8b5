// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit_window.hpp: sliding windows in C.
#pragma once

#include <zrt/ops/convolve.hpp>
#include <zrt/ops/reduce_window.hpp>
#include <zrt/plan/c/emit_fold.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// Declares the place of a window's element along an axis, `n<number>`, from the variables of the place and of
/// the window; gives the condition under which it is padding or a hole, empty where it never is.
[[nodiscard]] inline Expr source_along(Source& w, std::size_t number, const Expr& at, const Expr& in_window,
                                       const ops::WindowAxis& axis, std::uint64_t extent) noexcept {
  w.line({"const uint64_t p", number, " = ", at, " * ", axis.stride, " + ", in_window, " * ", axis.dilation, ";"});
  w.line({"const uint64_t n", number, " = (p", number, " - ", axis.low, ") / ", axis.base_dilation, ";"});
  Expr outside = extent == 0 ? Expr{"1"} : Expr{"n", number, " >= ", extent};
  if (axis.low != 0) outside.append({" || p", number, " < ", axis.low});
  if (axis.base_dilation != 1) outside.append({" || (p", number, " - ", axis.low, ") % ", axis.base_dilation, " != 0"});
  return outside;
}

inline void emit_reduce_window(Context& f, const EmitCall<ops::ReduceWindow>& c) noexcept {
  const ops::ReduceWindowParams& p = c.params;
  const ops::RowMajor x = c.in[0].extents();
  const ops::RowMajor y = c.out[0].extents();
  const Domain domain = domain_of(p.accum_dtype);
  Expr to;
  for (std::size_t axis = 0; axis < y.rank; ++axis) {
    f.w.loop({"i", axis}, y.extent[axis]);
    to.append({axis == 0 ? "i" : " + i", axis, " * ", y.stride[axis]});
  }
  if (y.rank == 0) to = {"0"};
  f.w.open({});
  f.w.line({c_type(domain), " lane[16];"});
  f.w.line({"uint64_t taken = 0;"});
  f.w.line({"for (int k = 0; k < 16; ++k) lane[k] = ", identity(p.kind, p.accum_dtype), ";"});
  for (std::size_t axis = 0; axis < x.rank; ++axis) f.w.loop({"w", axis}, p.window[axis]);
  f.w.open({});
  Expr outside;
  Expr place;
  for (std::size_t axis = 0; axis < x.rank; ++axis) {
    outside.append({outside.empty() ? "" : " || ",
                    source_along(f.w, axis, {"i", axis}, {"w", axis}, p.axis(axis), x.extent[axis])});
    place.append({axis == 0 ? "n" : " + n", axis, " * ", x.stride[axis]});
  }
  if (x.rank == 0) {
    outside = {"0"};
    place = {"0"};
  }
  f.w.open({"if (!(", outside, "))"});
  f.w.line({"const ", c_type(domain), " x = ", load_as(c.in[0], place, p.accum_dtype), ";"});
  fold_into(f.w, p.kind, domain, {"lane[taken % 16]"}, {"x"});
  f.w.line({"++taken;"});
  f.w.close();
  f.w.close();
  for (std::size_t axis = 0; axis < x.rank; ++axis) f.w.close();
  f.w.open({"for (int half = 8; half != 0; half /= 2)"});
  f.w.open({"for (int k = 0; k < half; ++k)"});
  fold_into(f.w, p.kind, domain, {"lane[k]"}, {"lane[k + half]"});
  f.w.close();
  f.w.close();
  store_from(f.w, p.accum_dtype, {"lane[0]"}, c.out[0], to);
  f.w.close();
  for (std::size_t axis = 0; axis < y.rank; ++axis) f.w.close();
}

inline void emit_extract_patches(Context& f, const EmitCall<ops::ExtractPatches>& c) noexcept {
  const ops::ExtractPatchesParams& p = c.params;
  const DType dtype = c.in[0].dtype();
  const ops::RowMajor x = c.in[0].extents();
  const ops::RowMajor y = c.out[0].extents();
  const std::uint64_t channels = x.extent[x.rank - 1u];
  f.w.open({});
  f.w.line({"uint64_t to = 0;"});
  for (std::size_t axis = 0; axis + 1 < y.rank; ++axis) f.w.loop({"i", axis}, y.extent[axis]);
  for (std::size_t axis = 0; axis < p.spatial; ++axis) f.w.loop({"w", axis}, p.window[axis]);
  Expr outside;
  Expr from{"i0 * ", x.stride[0]};
  for (std::size_t axis = 0; axis < p.spatial; ++axis) {
    outside.append({outside.empty() ? "" : " || ",
                    source_along(f.w, axis, {"i", axis + 1}, {"w", axis}, p.axis(axis), x.extent[axis + 1])});
    from.append({" + n", axis, " * ", x.stride[axis + 1]});
  }
  f.w.open({"if (", outside, ")"});
  f.w.loop({"k"}, channels);
  copy(f.w, dtype, c.out[0].pointer(), {"to + k"}, f.element(p.pad_value, dtype), {"0"}, {"1"});
  f.w.close();
  f.w.close();
  f.w.open({"else"});
  copy(f.w, dtype, c.out[0].pointer(), {"to"}, c.in[0].pointer(), from, Expr{channels});
  f.w.close();
  f.w.line({"to += ", channels, ";"});
  for (std::size_t axis = 0; axis + 1 < y.rank; ++axis) f.w.close();
  for (std::size_t axis = 0; axis < p.spatial; ++axis) f.w.close();
  f.w.close();
}

namespace detail {

[[nodiscard]] inline ops::RowMajor extents_of(const Shape& shape) noexcept {
  HostTensor tensor;
  tensor.type.shape = shape;
  return {tensor, ExecutionContext{}};
}
/// The place along an axis of element `e`, with `unit` elements behind each place of the last axis. Loops over an
/// axis without elements have no trips.
[[nodiscard]] inline Expr along(const ops::RowMajor& x, std::size_t axis, std::uint64_t unit) noexcept {
  const std::uint64_t stride = x.stride[axis] * unit;
  if (x.extent[axis] <= 1 || stride == 0) return {"(uint64_t)0"};
  return {"e / ", stride, " % ", x.extent[axis]};
}
[[nodiscard]] inline Expr patch_element(Context& f, const EmitCall<ops::Convolve>& c, const Expr& index,
                                        DType as) noexcept {
  const ops::ExtractPatchesParams& p = c.params.patches;
  const ops::RowMajor x = c.in[0].extents();
  const std::uint64_t channels = x.extent[x.rank - 1u];
  const ops::RowMajor window(Span(p.window).first(p.spatial));
  const ops::RowMajor places = extents_of(ops::Convolve::patches_type(c.in[0].type, c.params).shape.with_last(1));
  const std::uint64_t patch = window.elements * channels;
  f.w.line({"const uint64_t e = ", index, ";"});
  f.w.line({"(void)e;"});
  Expr outside;
  Expr from{"(", along(places, 0, patch), ") * ", x.stride[0]};
  for (std::size_t axis = 0; axis < p.spatial; ++axis) {
    f.w.line({"const uint64_t i", axis, "_ = ", along(places, axis + 1, patch), ";"});
    f.w.line({"const uint64_t w", axis, " = ", along(window, axis, channels), ";"});
    outside.append({outside.empty() ? "" : " || ",
                    source_along(f.w, axis, {"i", axis, "_"}, {"w", axis}, p.axis(axis), x.extent[axis + 1])});
    from.append({" + n", axis, " * ", x.stride[axis + 1]});
  }
  if (channels > 1) from.append({" + e % ", channels});
  f.w.line({"const uint64_t from = ", from, ";"});
  f.w.line({"const int outside = ", outside, ";"});
  return visit_domain(as, [&]<class T>(std::type_identity<T>) -> Expr {
    T padding{};
    unpack_as(c.in[0].dtype(), reinterpret_cast<const std::byte*>(p.pad_value.data()), 0, 1, as, &padding);
    return {"outside ? ", literal(padding), " : ", load_as(c.in[0], {"from"}, as)};
  });
}

}  // namespace detail

/// The product's loops; an element of the patches is found in x.
inline void emit_convolve(Context& f, const EmitCall<ops::Convolve>& c) noexcept {
  const ops::ConvolveParams& p = c.params;
  const ops::RowMajor w = c.in[1].extents();
  const ops::RowMajor rows = detail::extents_of(p.rows.shape());
  const auto element = [&](std::size_t side, const Expr& index, DType as) -> Expr {
    return side == p.patches_rhs ? detail::patch_element(f, c, index, as) : load_as(c.in[1], index, as);
  };
  if (p.patches_rhs == 0)
    contract(f, p.dot, rows, w, c.in[0].dtype(), c.out[0], element);
  else
    contract(f, p.dot, w, rows, c.in[0].dtype(), c.out[0], element);
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
