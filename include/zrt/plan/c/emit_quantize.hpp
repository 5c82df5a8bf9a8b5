// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit_quantize.hpp: floats to quantised integers and back in C.
#pragma once

#include <zrt/ops/dequantize.hpp>
#include <zrt/ops/quantize.hpp>
#include <zrt/ops/requantize.hpp>
#include <zrt/plan/c/emit.hpp>

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

template <> struct Emit<ops::Quantize> {
  static void emit(Context& f, const EmitCall<ops::Quantize>& c) noexcept {
    if (c.out[0].elements() == 0) return;
    const std::string_view type = c_type(c.in[0].dtype());
    open_channels(f.w, c.params, c.in[0]);
    f.w.line({"const ", type, " x = ", load(c.in[0], {"i"}), " / (", type, ")", load(c.in[1], {"channel"}), ";"});
    store_whole(f.w, c.out[0], {"zrt_whole_plus(zrt_whole_f64(x), ", load(c.in[2], {"channel"}), ")"});
    f.w.close();
  }
};

template <> struct Emit<ops::Dequantize> {
  static void emit(Context& f, const EmitCall<ops::Dequantize>& c) noexcept {
    if (c.out[0].elements() == 0) return;
    const Domain domain = domain_of(c.params.output_dtype);
    open_channels(f.w, c.params, c.in[0]);
    f.w.line({"const ", c_type(domain), " x = zrt_whole_to_", c_name(domain), "(", above_zero_point(c.in[0], c.in[2]),
              ");"});
    store(f.w, c.out[0], {"i"}, {"x * (", c_type(domain), ")", load(c.in[1], {"channel"})});
    f.w.close();
  }
};

template <> struct Emit<ops::Requantize> {
  static void emit(Context& f, const EmitCall<ops::Requantize>& c) noexcept {
    if (c.out[0].elements() == 0) return;
    open_channels(f.w, c.params, c.in[0]);
    f.w.line({"const float x = zrt_whole_to_f32(", above_zero_point(c.in[0], c.in[2]), ") * ",
              load(c.in[1], {"channel"}), ";"});
    f.w.line({"const float y = x / ", load(c.in[3], {"channel"}), ";"});
    store_whole(f.w, c.out[0], {"zrt_whole_plus(zrt_whole_f64(y), ", load(c.in[4], {"channel"}), ")"});
    f.w.close();
  }
};

}  // namespace zrt::inline ZRT_ABI::plan::c
