// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit_quantize.hpp: what floats to quantised integers and back are written with.
#pragma once

#include <zrt/ops/quantization.hpp>
#include <zrt/plan/c/emit.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// Opens the loop over the elements of x: `i`, and `channel` where scales and zero points lie.
inline void open_channels(Source& w, const ops::QuantizationParams& p, const Tensor& x) noexcept {
  w.loop({"i"}, x.elements());
  if (p.per_axis == 0) return w.line({"const uint64_t channel = 0;"});
  const ops::AxisSplit split = x.split(p.axis);
  w.line({"const uint64_t channel = i / ", split.inner, " % ", split.extent, ";"});
}

/// Writes a zrt_whole to element `i`, saturated.
inline void store_whole(Source& w, const Tensor& y, const Expr& whole) noexcept {
  const Domain domain = domain_of(y.dtype());
  store(w, y, {"i"}, cast({"zrt_whole_to_", c_name(domain), "(", whole, ")"}, dtype_of(domain), y.dtype()));
}

/// Element `i` of integers, less the zero point of its channel, as a zrt_whole.
[[nodiscard]] inline Expr above_zero_point(const Tensor& q, const Tensor& zero_point) noexcept {
  return {"zrt_whole_plus(zrt_whole_",
          c_name(domain_of(q.dtype())),
          "(",
          load(q, {"i"}),
          "), -",
          load(zero_point, {"channel"}),
          ")"};
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
