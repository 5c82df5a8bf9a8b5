// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_resize.hpp: resampling, axis by axis: every mode is a product with a matrix that is known.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_shape.hpp>

#include <algorithm>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// One axis of a resize.
struct ResizedAxis {
  std::int64_t from = 1;
  std::int64_t to = 1;
  double scale = 1;
  double begin = 0, end = 1;  ///< of the region, for tf_crop_and_resize
};
/// Where place `i` of the result lies on the axis of x; by the names of coordinate_transformation_mode.
[[nodiscard]] inline double source_place(std::string_view mode, const ResizedAxis& a, std::int64_t i) noexcept {
  const auto place = static_cast<double>(i);
  const auto last = static_cast<double>(a.from - 1);
  const double extent = a.scale * static_cast<double>(a.from);
  if (mode == "align_corners") return extent == 1 ? 0 : place * last / (extent - 1);
  if (mode == "asymmetric") return place / a.scale;
  if (mode == "half_pixel_symmetric") {
    // The centres of both axes meet, however the extent was rounded.
    const double lost = 1 - static_cast<double>(a.to) / extent;
    return static_cast<double>(a.from) / 2 * lost + (place + 0.5) / a.scale - 0.5;
  }
  if (mode == "tf_half_pixel_for_nn") return (place + 0.5) / a.scale;
  if (mode == "pytorch_half_pixel" && extent == 1) return -0.5;
  if (mode == "tf_crop_and_resize") {
    const double start = math::sealed(a.begin * last);
    const double width = math::sealed((a.end - a.begin) * last);
    return start + math::sealed(extent == 1 ? width / 2 : place * width / (extent - 1));
  }
  return (place + 0.5) / a.scale - 0.5;
}
[[nodiscard]] inline std::int64_t nearest_place(std::string_view mode, double at) noexcept {
  const double below = scalar_math::floor(at);
  const double rest = at - below;
  const bool up = mode == "ceil"                ? rest > 0
                  : mode == "floor"             ? false
                  : mode == "round_prefer_ceil" ? rest >= 0.5
                                                : rest > 0.5;
  return scalar_math::to_integer(below) + (up ? 1 : 0);
}
[[nodiscard]] inline std::int64_t clamp_place(std::int64_t at, std::int64_t extent) noexcept {
  return at < 0 ? 0 : at >= extent ? extent - 1 : at;
}
/// Resamples one axis of x by the weights of its neighbours; `upsample` with the defaults of that operator.
[[nodiscard]] inline Tensor resample_axis(NodeCall& n, const Tensor& x, std::size_t axis, const ResizedAxis& a,
                                          bool upsample) noexcept {
  const std::string_view coordinates = n.text("coordinate_transformation_mode", upsample ? "asymmetric" : "half_pixel");
  const std::string_view mode = n.text("mode", "nearest");
  if (mode == "nearest") {
    const std::string_view rounding = n.text("nearest_mode", upsample ? "floor" : "round_prefer_floor");
    if (!n.fits_table(a.to)) return x;
    Vector<std::int64_t> places(n.allocator());
    for (std::int64_t i = 0; i < a.to; ++i)
      if (auto r = places.push_back(clamp_place(nearest_place(rounding, source_place(coordinates, a, i)), a.from)); !r)
        n.fail(r.error());
    return pick(n, x, places.span(), axis);
  }
  Vector<float> weights(n.allocator());
  if (!n.fits_table(product({a.to, a.from}))) return x;
  if (auto r = weights.resize(static_cast<std::size_t>(a.to * a.from)); !r) n.fail(r.error());
  const bool cubic = mode == "cubic";
  const bool inside_only = n.integer("exclude_outside", 0) != 0;
  const double coefficient = n.real("cubic_coeff_a", -0.75);
  // Against aliases the filter is as wide as the elements that one place stands for.
  const double narrow = n.integer("antialias", 0) != 0 && a.scale < 1 ? a.scale : 1;
  const double support = (cubic ? 2 : 1) / narrow;
  for (std::int64_t i = 0; i < a.to && !n.failed(); ++i) {
    const double at = source_place(coordinates, a, i);
    const auto weight_of = [&](std::int64_t place) {
      if (inside_only && (place < 0 || place >= a.from)) return 0.0;
      const double away = __builtin_fabs(at - static_cast<double>(place)) * narrow;
      if (cubic) return scalar_math::cubic_weight(away, coefficient);
      return away < 1 ? 1 - away : 0.0;
    };
    const std::int64_t first = scalar_math::to_integer(scalar_math::floor(at - support));
    const std::int64_t last = scalar_math::to_integer(-scalar_math::floor(-(at + support)));
    double sum = 0;
    for (std::int64_t place = first; place <= last; ++place) sum += weight_of(place);
    for (std::int64_t place = first; place <= last; ++place)
      weights[static_cast<std::size_t>(i * a.from + clamp_place(place, a.from))] +=
          static_cast<float>(weight_of(place) / sum);
  }
  if (n.failed()) return x;
  Tensor matrix = n.b().literal({DType::f32, {Dim(a.to), Dim(a.from)}}, as_bytes(weights.span()));
  if (x.dtype() != DType::f32) matrix = n.b().cast(matrix, x.dtype());
  const Tensor y = dot(x, matrix, {}, {}, {static_cast<std::int64_t>(axis)}, {1});
  IntList perm;
  const std::size_t rank = x.shape().size();
  for (std::size_t i = 0; i < rank; ++i)
    perm.push(static_cast<std::int64_t>(i == axis ? rank - 1 : i < axis ? i : i - 1));
  return transpose(y, perm);
}
/// What an axis becomes by its entry of the scales.
[[nodiscard]] inline ResizedAxis resized_by_scale(NodeCall& n, std::int64_t from, std::size_t operand,
                                                  std::size_t i) noexcept {
  ResizedAxis a{from, 1, 1};
  a.scale = n.real_in(operand, i, "scales");
  a.to = scalar_math::to_integer(scalar_math::floor(math::sealed(a.scale * static_cast<double>(a.from))));
  return a;
}
/// Extents by operand 3, each for an axis of `axes`; a policy keeps the ratio of the axes within or around them.
inline void resize_to_sizes(NodeCall& n, const IntList& axes, IntList& sizes, std::optional<double>& scale) noexcept {
  sizes = n.ints_in(3, "sizes");
  const std::string_view policy = n.text("keep_aspect_ratio_policy", "stretch");
  const IntList shape = n.shape(0);
  if (n.failed()) return;
  if (sizes.size() != axes.size())
    return n.fail(Errc::invalid_params, "sizes has ", sizes.size(), " entries for ", axes.size(), " axes");
  if (policy == "stretch") return;
  if (policy != "not_larger" && policy != "not_smaller")
    return n.fail(Errc::invalid_params, "keep_aspect_ratio_policy is ", zrt::slice(policy, 0, 20));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double ratio = static_cast<double>(sizes[i]) / static_cast<double>(shape[static_cast<std::size_t>(axes[i])]);
    if (!scale || (policy == "not_larger" ? ratio < *scale : ratio > *scale)) scale = ratio;
  }
  for (std::size_t i = 0; i < axes.size(); ++i)
    sizes[i] = scalar_math::to_integer(
        scalar_math::floor(*scale * static_cast<double>(shape[static_cast<std::size_t>(axes[i])]) + 0.5));
}
inline void resize_by(NodeCall& n, bool upsample) noexcept {
  Tensor x = n.in(0);
  const IntList shape = n.shape(0);
  const std::size_t at = upsample ? 1 : 2;  // of the scales
  const bool sized = !upsample && n.has(3);
  const std::string_view mode = n.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "cubic") return n.unsupported("mode ", zrt::slice(mode, 0, 20));
  if (mode != "nearest" && !is_float(x.dtype()))
    return n.unsupported("mode ", mode, " of ", name(x.dtype()), ", expected floats");
  const std::string_view coordinates = n.text("coordinate_transformation_mode", "half_pixel");
  const std::string_view rounding = n.text("nearest_mode", "floor");
  constexpr auto kCoordinates =
      std::to_array<std::string_view>({"align_corners", "asymmetric", "half_pixel", "half_pixel_symmetric",
                                       "pytorch_half_pixel", "tf_crop_and_resize", "tf_half_pixel_for_nn"});
  constexpr auto kRoundings =
      std::to_array<std::string_view>({"ceil", "floor", "round_prefer_ceil", "round_prefer_floor"});
  if (std::ranges::find(kCoordinates, coordinates) == kCoordinates.end())
    return n.fail(Errc::invalid_params, "coordinate_transformation_mode is ", zrt::slice(coordinates, 0, 40));
  if (std::ranges::find(kRoundings, rounding) == kRoundings.end())
    return n.fail(Errc::invalid_params, "nearest_mode is ", zrt::slice(rounding, 0, 40));
  const bool crops = coordinates == "tf_crop_and_resize";
  IntList axes = n.has_attribute("axes") ? n.ints("axes") : ascending(shape.size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(n.axis_of(axes[i], shape.size()));
  IntList sizes;
  std::optional<double> kept;  // the scale of all axes, where a policy keeps their ratio
  if (sized) resize_to_sizes(n, axes, sizes, kept);
  std::optional<Tensor> outside;
  for (std::size_t k = 0; k < axes.size() && !n.failed(); ++k) {
    const auto i = static_cast<std::size_t>(axes[k]);
    ResizedAxis a{shape[i], 1, 1};
    if (sized) {
      a.to = sizes[k];
      a.scale = kept ? *kept : static_cast<double>(a.to) / static_cast<double>(a.from);
    } else {
      a = resized_by_scale(n, shape[i], at, k);
    }
    if (crops) {
      a.begin = n.real_in(1, k, "roi");
      a.end = n.real_in(1, k + axes.size(), "roi");
    }
    if (n.failed()) return;
    if (a.from < 1 || a.to < 1 || a.to > kMaxExtent || !(a.scale > 0))
      return n.fail(Errc::invalid_params, "axis ", i, " of ", a.from, " becomes ", a.to);
    if (a.to == a.from && a.scale == 1 && a.begin == 0 && a.end == 1) continue;
    x = resample_axis(n, x, i, a, upsample);
    if (!crops) continue;
    if (!n.fits_table(a.to)) return;
    Vector<std::byte> beyond(n.allocator());
    for (std::int64_t place = 0; place < a.to; ++place) {
      const double from = source_place("tf_crop_and_resize", a, place);
      if (auto r = beyond.push_back(std::byte{from < 0 || from > static_cast<double>(a.from - 1)}); !r)
        return n.fail(r.error());
    }
    IntList along = IntList::of(shape.size(), 1);
    along[i] = a.to;
    const Tensor mask = n.b().literal({DType::i1, shape_of(n.b(), along)}, beyond.span());
    outside = outside ? n.b().maximum(*outside, mask) : mask;
  }
  if (n.failed()) return;
  n.out(0, outside ? n.b().select(*outside, scalar_like(x, n.real("extrapolation_value", 0)), x) : x);
}
inline void resize(NodeCall& n) noexcept { resize_by(n, false); }
/// The resize of opset 9: scales alone, counted from the first element.
inline void upsample(NodeCall& n) noexcept { resize_by(n, true); }

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
