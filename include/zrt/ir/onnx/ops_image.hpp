// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_image.hpp: operators that sample planes where data says, and determinants.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/kernels_image.hpp>
#include <zrt/ir/onnx/ops_shape.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

inline void det(NodeCall& n) noexcept {
  const IntList shape = n.shape(0);
  if (shape.size() < 2) return n.fail(Errc::shape_mismatch, "x has ", shape.size(), " axes, expected 2 or more");
  IntList batch;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) batch.push(shape[i]);
  const std::int64_t size = shape[shape.size() - 1];
  const Tensor flat = reshape(n.in(0), {product(batch), size, size});
  n.out(0, reshape(custom1(n, kernels::Determinant::target, {flat}, {}, {flat.dtype(), {Dim(product(batch))}}), batch));
}
inline void roi_align(NodeCall& n) noexcept {
  Builder& b = n.b();
  const IntList xs = n.shape(0);
  const IntList rois = n.shape(1);
  const std::int64_t height = n.integer("output_height", 1);
  const std::int64_t width = n.integer("output_width", 1);
  const std::int64_t samples = n.integer("sampling_ratio", 0);
  const std::string_view mode = n.text("mode", "avg");
  if (xs.size() != 4 || rois.size() != 2 || height < 1 || width < 1 || height > 65535 || width > 65535 || samples < 0 ||
      samples > 65535)
    return n.fail(Errc::invalid_params, "x and rois must be [N, C, H, W] and [R, 4], the output at least 1 by 1");
  if (mode != "avg" && mode != "max") return n.unsupported("mode ", zrt::slice(mode, 0, 20));
  const bool half =
      n.text("coordinate_transformation_mode", n.opset() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  n.out(0, custom1(n, kernels::RoiAlign::target, {n.in(0), n.in(1), b.cast(n.in(2), DType::si64)},
                   {b.entry("scale", Attribute::real(n.real("spatial_scale", 1))),
                    b.entry("samples", Attribute::integer(samples)), b.entry("half_pixel", Attribute::boolean(half)),
                    b.entry("maximum", Attribute::boolean(mode == "max"))},
                   {n.dtype(0), {Dim(rois[0]), Dim(xs[1]), Dim(height), Dim(width)}}));
}
/// The places that an affine map of the corners -1 and 1 gives to a grid: theta [N, d, d + 1], size [N, C, ...].
inline void affine_grid(NodeCall& n) noexcept {
  const IntList size = n.ints_in(1, "size");
  const IntList theta = n.shape(0);
  if (n.failed()) return;
  const std::size_t d = size.size() < 2 ? 0 : size.size() - 2;
  const auto axes = static_cast<std::int64_t>(d);
  if (d < 2 || d > 3 || theta.size() != 3 || theta[0] != size[0] || theta[1] != axes || theta[2] != axes + 1)
    return n.fail(Errc::shape_mismatch, "theta must be [N, d, d + 1] for a size of N, C and d extents, d 2 or 3");
  IntList extents;
  for (std::size_t i = 2; i < size.size(); ++i) extents.push(size[i]);
  const std::int64_t places = product(extents);
  if (places < 1 || !n.fits_table(product({places, axes + 1})))
    return n.fail(Errc::invalid_params, "the grid has ", places, " places");
  const bool aligned = n.integer("align_corners", 0) != 0;
  Vector<float> base(n.allocator());
  for (std::int64_t at = 0; at < places; ++at) {
    // x runs along the last axis.
    for (std::size_t i = d; i > 0; --i) {
      const std::int64_t extent = extents[i - 1];
      const auto place = static_cast<double>(at / product(extents, i, d) % extent);
      const auto count = static_cast<double>(extent);
      const double x = aligned ? (extent == 1 ? 0 : 2 * place / (count - 1) - 1) : (2 * place + 1) / count - 1;
      if (auto r = base.push_back(static_cast<float>(x)); !r) return n.fail(r.error());
    }
    if (auto r = base.push_back(1); !r) return n.fail(r.error());
  }
  Tensor grid = n.b().literal({DType::f32, {Dim(places), Dim(axes + 1)}}, as_bytes(base.span()));
  grid = as_type(grid, n.dtype(0));
  const Tensor y = transpose(dot(grid, n.in(0), {}, {}, {1}, {2}), {1, 0, 2});
  IntList result{size[0]};
  for (const std::int64_t extent : extents) result.push(extent);
  result.push(axes);
  n.out(0, reshape(y, result));
}
inline void grid_sample(NodeCall& n) noexcept {
  Builder& b = n.b();
  const IntList xs = n.shape(0);
  const IntList grid = n.shape(1);
  // The modes were renamed at opset 20.
  std::string_view mode = n.text("mode", n.opset() < 20 ? "bilinear" : "linear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  const std::string_view padding = n.text("padding_mode", "zeros");
  if (xs.size() != 4 || grid.size() != 4)
    return n.fail(Errc::shape_mismatch, "x and grid must be [N, C, H, W] and [N, h, w, 2]");
  if (mode != "nearest" && mode != "bilinear" && mode != "bicubic")
    return n.unsupported("mode ", zrt::slice(mode, 0, 20));
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return n.unsupported("padding_mode ", zrt::slice(padding, 0, 20));
  n.out(0, custom1(n, kernels::GridSample::target, {n.in(0), n.in(1)},
                   {b.entry("mode", b.string(mode)), b.entry("padding", b.string(padding)),
                    b.entry("align_corners", Attribute::boolean(n.integer("align_corners", 0) != 0))},
                   {n.dtype(0), {Dim(xs[0]), Dim(xs[1]), Dim(grid[1]), Dim(grid[2])}}));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
