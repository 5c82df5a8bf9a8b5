// SPDX-License-Identifier: Apache-2.0
// zrt/ops/quantize.hpp: floats to integers by scales and zero points.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/quantization.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// q = saturate(round_to_even(x / scale) + zero_point) (PTIR `Quantize`); x floats, scale f32, zero_point
/// si32, both scalars or vectors over an axis of x.
///
/// The quotient is rounded to f32, to f64 for f64, before it is rounded to a whole number; NaN counts
/// as 0. A whole number beyond 64 bits counts as the largest of 64 bits before the zero point is added.
struct Quantize {
  using Params = QuantizationParams;
  static constexpr Opcode opcode{100};
  static constexpr std::string_view name = "quantize";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"scale"}, Role{"zero_point"}});
  static constexpr auto output_roles = std::to_array({Role{"q"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = kQuantizationAttributes;

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const DType to = c.dtype(at<Quantize>("output_dtype"));
    if (!is_float(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "a float dtype");
    if (!is_integer(to))
      return c.no(Errc::dtype_mismatch, "output_dtype is ", zrt::name(to), ", expected an integer dtype");
    if (auto r = check_scaling(c, at<Quantize>("axis"), 1); !r) return r;
    return c.give(to, c.in[0].shape);
  }

  /// The whole number of one element, not yet saturated.
  template <std::floating_point T>
  [[nodiscard]] static Whole apply(T x, float scale, std::int32_t zero_point) noexcept {
    return Whole::nearest(x / static_cast<T>(scale)).plus(zero_point);
  }

  static void reference(const HostCall<Quantize>& c, const ExecutionContext& step, const Worker&) noexcept {
    const Channels channels(c.params, c.in[0], step);
    const std::uint64_t elements = c.in[0].elements(step);
    const DType dtype = c.in[0].type.dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::floating_point<T>) {
        T x[kElementRun];
        Whole q[kElementRun];
        for (std::uint64_t first = 0; first < elements; first += kElementRun) {
          const std::uint64_t run = std::min(elements - first, kElementRun);
          element_functions<T>(dtype).unpack(c.in[0].data, first, run, x);
          for (std::uint64_t i = 0; i < run; ++i) {
            const std::uint64_t channel = channels.of(first + i);
            q[i] = apply(x[i], c.in[1].as<float>()[channel], c.in[2].as<std::int32_t>()[channel]);
          }
          write_whole(c.params.output_dtype, q, first, run, c.out[0].data);
        }
      }
    });
  }

  static constexpr Gradient gradient = Gradient::stops();

  template <class E> static void emit_c(E& f, const Call<E, Quantize>& c) noexcept {
    if (c.out[0].elements() == 0) return;
    const std::string_view type = E::c_type(c.in[0].dtype());
    open_channels(f.w, c.params, c.in[0]);
    f.w.line({"const ", type, " x = ", load(c.in[0], {"i"}), " / (", type, ")", load(c.in[1], {"channel"}), ";"});
    store_whole(f.w, c.out[0], {"zrt_whole_plus(zrt_whole_f64(x), ", load(c.in[2], {"channel"}), ")"});
    f.w.close();
  }
};
static_assert(Op<Quantize>);

}  // namespace zrt::inline ZRT_ABI::ops
