// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_resize.hpp: resampling, axis by axis: every mode is a product with a matrix that is known.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_shape.hpp>

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
  for (std::int64_t i = 0; i < a.to && !n.failed(); ++i) {
    const double at = source_place(coordinates, a, i);
    const double below = scalar_math::floor(at);
    const double t = at - below;
    std::array<double, 4> w{0, 1 - t, t, 0};
    if (cubic) w = scalar_math::cubic_weights(t, n.real("cubic_coeff_a", -0.75));
    double sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::int64_t place = scalar_math::to_integer(below) + k - 1;
      double& weight = w[static_cast<std::size_t>(k)];
      if (inside_only && (place < 0 || place >= a.from)) weight = 0;
      sum += weight;
    }
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::int64_t place = clamp_place(scalar_math::to_integer(below) + k - 1, a.from);
      weights[static_cast<std::size_t>(i * a.from + place)] += static_cast<float>(w[static_cast<std::size_t>(k)] / sum);
    }
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
inline void resize_by(NodeCall& n, bool upsample) noexcept {
  Tensor x = n.in(0);
  const IntList shape = n.shape(0);
  const std::size_t at = upsample ? 1 : 2;  // of the scales
  const bool sized = !upsample && n.has(3);
  const std::string_view mode = n.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "cubic") return n.unsupported("mode ", zrt::slice(mode, 0, 20));
  const bool crops = n.text("coordinate_transformation_mode", "") == "tf_crop_and_resize";
  const IntList sizes = sized ? n.ints_in(3, "sizes") : IntList{};
  if (sized && sizes.size() != shape.size()) n.fail(Errc::invalid_params, "sizes has ", sizes.size(), " entries");
  std::optional<Tensor> outside;
  for (std::size_t i = 0; i < shape.size() && !n.failed(); ++i) {
    ResizedAxis a{shape[i], 1, 1};
    if (sized) {
      a.to = sizes[i];
      a.scale = static_cast<double>(a.to) / static_cast<double>(a.from);
    } else {
      a.scale = n.real_in(at, i, "scales");
      a.to = scalar_math::to_integer(scalar_math::floor(math::sealed(a.scale * static_cast<double>(a.from))));
    }
    if (crops) {
      a.begin = n.real_in(1, i, "roi");
      a.end = n.real_in(1, i + shape.size(), "roi");
    }
    if (n.failed()) return;
    if (a.from < 1 || a.to < 1 || a.to > kMaxExtent || !(a.scale > 0))
      return n.fail(Errc::invalid_params, "axis ", i, " of ", a.from, " becomes ", a.to);
    if (a.to == a.from && a.scale == 1 && a.begin == 0 && a.end == 1) continue;
    x = resample_axis(n, x, i, a, upsample);
    if (!crops) continue;
    if (!n.fits_table(a.to)) return;
    Vector<std::byte> beyond(n.allocator());
    for (std::int64_t k = 0; k < a.to; ++k) {
      const double place = source_place("tf_crop_and_resize", a, k);
      if (auto r = beyond.push_back(std::byte{place < 0 || place > static_cast<double>(a.from - 1)}); !r)
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
