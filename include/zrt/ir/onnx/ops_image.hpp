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
inline void grid_sample(NodeCall& n) noexcept {
  Builder& b = n.b();
  const IntList xs = n.shape(0);
  const IntList grid = n.shape(1);
  const std::string_view mode = n.text("mode", "bilinear");
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
