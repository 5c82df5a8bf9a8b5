// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_pool.hpp: pooling, unpooling and normalisation over neighbouring channels.
#pragma once

#include <zrt/ir/onnx/kernels_window.hpp>
#include <zrt/ir/onnx/ops_window.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// Folds what lies under the window, over all axes of x; the result is of x's type or of `result`.
[[nodiscard]] inline Tensor fold_window(NodeCall& n, std::uint64_t kind, const Tensor& x, const SlidingWindow& w,
                                        std::optional<DType> result = {}) noexcept {
  IntList size{1, 1}, strides{1, 1}, dilations{1, 1}, low{0, 0}, high{0, 0};
  for (std::size_t i = 0; i < w.size.size(); ++i) {
    size.push(w.size[i]);
    strides.push(w.strides[i]);
    dilations.push(w.dilations[i]);
    low.push(w.low[i]);
    high.push(w.high[i] + w.over[i]);
  }
  const IntList base = IntList::of(size.size(), 1);
  return n.b().reduce_window(kind, x,
                             {.size = size.view(),
                              .strides = strides.view(),
                              .low = low.view(),
                              .high = high.view(),
                              .base_dilation = base.view(),
                              .dilation = dilations.view()},
                             fold_types(x, result));
}
inline constexpr std::uint64_t kWindowSum = choice_index("reduce_window", "kind", "sum");
inline constexpr std::uint64_t kWindowMax = choice_index("reduce_window", "kind", "max");

inline void average_pool(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  const SlidingWindow w = window_of(n, n.shape(x), n.ints("kernel_shape"));
  const IntList places = places_of(n, w);
  if (n.failed()) return;
  // How many elements each place counts is a product over the axes.
  const Tensor sum = fold_window(n, kWindowSum, x, w, default_accumulator(x.dtype()));
  const bool padding = n.integer("count_include_pad", 0) != 0;
  Tensor mean = sum;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!n.fits_table(places[i])) return;
    Vector<float> counts(n.allocator());
    for (std::int64_t place = 0; place < places[i]; ++place) {
      const std::int64_t from = padding ? 0 : w.low[i];
      const std::int64_t to = w.low[i] + w.extents[i] + (padding ? w.high[i] : 0);
      // How many of the window's elements, a dilation apart, lie before a bound.
      const auto before = [&](std::int64_t bound) {
        const std::int64_t room = bound - place * w.strides[i];
        const std::int64_t count = room <= 0 ? 0 : (room - 1) / w.dilations[i] + 1;
        return count < w.size[i] ? count : w.size[i];
      };
      if (auto r = counts.push_back(static_cast<float>(before(to) - before(from))); !r) return n.fail(r.error());
    }
    IntList along = IntList::of(places.size() + 2, 1);
    along[i + 2] = places[i];
    const Tensor divisor = n.b().literal({DType::f32, shape_of(n.b(), along)}, as_bytes(counts.span()));
    mean = mean / as_type(divisor, mean.dtype());
  }
  n.out(0, as_type(mean, x.dtype()));
}
inline void max_pool(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  const SlidingWindow w = window_of(n, n.shape(x), n.ints("kernel_shape"));
  const IntList places = places_of(n, w);
  if (n.failed()) return;
  n.out(0, fold_window(n, kWindowMax, x, w));
  if (!n.has_out(1)) return;
  const IntList xs = n.shape(x);
  IntList result{xs[0], xs[1]};
  for (const std::int64_t place : places) result.push(place);
  Builder& b = n.b();
  n.out(1, custom1(n, kernels::MaxPlace::target, {x},
                   {b.entry("size", b.ints(w.size.view())), b.entry("strides", b.ints(w.strides.view())),
                    b.entry("dilations", b.ints(w.dilations.view())), b.entry("low", b.ints(w.low.view())),
                    b.entry("column_major", Attribute::boolean(n.integer("storage_order", 0) != 0))},
                   {DType::si64, shape_of(n.b(), result)}));
}
/// The powers whose sum is a norm, and the root of it.
[[nodiscard]] inline Tensor norm_terms(NodeCall& n, const Tensor& x, std::int64_t p) noexcept {
  const Tensor magnitude = n.b().abs(x);
  if (p == 1) return magnitude;
  if (p == 2) return x * x;
  return custom1(n, kernels::Pow::target, {magnitude, broadcast(scalar_like(x, static_cast<double>(p)), n.shape(x))},
                 {}, x.type());
}
[[nodiscard]] inline Tensor norm_root(NodeCall& n, const Tensor& sum, std::int64_t p) noexcept {
  if (p == 1) return sum;
  if (p == 2) return sqrt_of(n, sum);
  return custom1(n, kernels::Pow::target, {sum, broadcast(scalar_like(sum, 1 / static_cast<double>(p)), n.shape(sum))},
                 {}, sum.type());
}
[[nodiscard]] inline std::int64_t norm_power(NodeCall& n) noexcept {
  const std::int64_t p = n.integer("p", 2);
  if (p < 1 || p > 64) n.fail(Errc::invalid_params, "p is ", p, ", expected 1 to 64");
  return p;
}
inline void lp_pool(NodeCall& n) noexcept {
  const Tensor x = widened(n.in(0));
  const std::int64_t p = norm_power(n);
  const SlidingWindow w = window_of(n, n.shape(x), n.ints("kernel_shape"));
  (void)places_of(n, w);
  if (n.failed()) return;
  n.out(0, as_type(norm_root(n, fold_window(n, kWindowSum, norm_terms(n, x, p), w), p), n.dtype(0)));
}
inline void lp_normalization(NodeCall& n) noexcept {
  const Tensor x = widened(n.in(0));
  const std::int64_t p = norm_power(n);
  const std::int64_t axis = static_cast<std::int64_t>(n.axis("axis", -1, n.rank(0)));
  if (n.failed()) return;
  const Tensor norm = norm_root(n, reduce(kSum, norm_terms(n, x, p), {axis}, true), p);
  const Tensor zero = n.b().eq(norm, scalar_like(norm, 0));
  const Tensor divisor = n.b().select(zero, scalar_like(norm, 1), norm);
  n.out(0, as_type(n.b().select(zero, scalar_like(x, 0), x / divisor), n.dtype(0)));
}
[[nodiscard]] inline IntList spatial_axes(NodeCall& n) noexcept {
  IntList axes;
  for (std::size_t i = 2; i < n.rank(0); ++i) axes.push(static_cast<std::int64_t>(i));
  return axes;
}
inline void global_average_pool(NodeCall& n) noexcept {
  const IntList axes = spatial_axes(n);
  const IntList shape = n.shape(0);
  const Tensor mean = wide_sum(n.in(0), axes, true) / static_cast<double>(product(shape, 2, shape.size()));
  n.out(0, as_type(mean, n.dtype(0)));
}
inline void global_lp_pool(NodeCall& n) noexcept {
  const std::int64_t p = norm_power(n);
  if (n.failed()) return;
  n.out(0,
        as_type(norm_root(n, reduce(kSum, norm_terms(n, widened(n.in(0)), p), spatial_axes(n), true), p), n.dtype(0)));
}
inline void global_max_pool(NodeCall& n) noexcept { n.out(0, reduce(kMax, n.in(0), spatial_axes(n), true)); }

/// Puts the elements of x at the places that max_pool gave, in a plane of zeros.
inline void max_unpool(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  const IntList xs = n.shape(0);
  const std::size_t spatial = n.ints("kernel_shape").size();
  const IntList size = n.ints("kernel_shape", spatial, 1, 1);
  const IntList strides = n.ints("strides", spatial, 1, 1);
  const IntList pads = n.ints("pads", 2 * spatial, 0, 0);
  if (xs.size() != spatial + 2) return n.fail(Errc::shape_mismatch, "kernel_shape does not fit x");
  IntList inner{xs[0], xs[1]};
  for (std::size_t i = 0; i < spatial && !n.failed(); ++i) {
    inner.push((xs[i + 2] - 1) * strides[i] + size[i] - pads[i] - pads[i + spatial]);
    if (inner[i + 2] < 0 || inner[i + 2] > kMaxExtent)
      return n.fail(Errc::limit_exceeded, "axis ", i + 2, " becomes ", inner[i + 2], ", expected 0 to ", kMaxExtent);
  }
  IntList result = inner;
  if (n.has(2)) result = n.ints_in(2, "output_shape");
  if (n.failed()) return;
  const std::int64_t count = product(xs);
  const std::int64_t room = product(inner);
  if (room < 0 || result.size() != inner.size()) return n.fail(Errc::shape_mismatch, "output_shape does not fit x");
  Builder& b = n.b();
  const Tensor zeros = b.broadcast_to(scalar_like(x, 0), shape_of(n.b(), {room}));
  const Tensor flat = b.scatter_reduce(choice_index("scatter_reduce", "reduce", "replace"), zeros,
                                       reshape(n.in(1), {count}), reshape(x, {count}), 0);
  const Tensor plane = reshape(flat, inner);
  IntList low = IntList::of(inner.size(), 0);
  IntList high = low;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (result[i] < inner[i]) return n.unsupported("an output_shape smaller than the window's");
    if (result[i] > kMaxExtent)
      return n.fail(Errc::limit_exceeded, "output_shape has an extent of ", result[i], ", expected at most ",
                    kMaxExtent);
    high[i] = result[i] - inner[i];
  }
  n.out(0, pad(plane, low, high, low, scalar_like(x, 0)));
}

/// x over a power of the sum of squares of its neighbours along the channels.
inline void lrn(NodeCall& n) noexcept {
  Builder& b = n.b();
  const Tensor x = widened(n.in(0));
  const IntList xs = n.shape(0);
  const std::int64_t size = n.integer("size", 1);
  if (xs.size() < 2 || size < 1 || size > kMaxExtent) return n.fail(Errc::invalid_params, "size is ", size);
  IntList window = IntList::of(xs.size(), 1);
  const IntList ones = window;
  IntList low = IntList::of(xs.size(), 0);
  IntList high = low;
  window[1] = size;
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  const Tensor sum = b.reduce_window(kWindowSum, x * x,
                                     {.size = window.view(),
                                      .strides = ones.view(),
                                      .low = low.view(),
                                      .high = high.view(),
                                      .base_dilation = ones.view(),
                                      .dilation = ones.view()});
  const Tensor base = sum * (n.real("alpha", 0.0001) / static_cast<double>(size)) + n.real("bias", 1);
  n.out(0, as_type(x / b.exp(b.log(base) * n.real("beta", 0.75)), n.dtype(0)));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
