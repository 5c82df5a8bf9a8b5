// SPDX-License-Identifier: Apache-2.0
// zrt/ops/dequantize.hpp: integers to floats by scales and zero points.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/quantization.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// x = (q - zero_point) · scale (PTIR `Dequantize`); q integers, scale f32, zero_point si32, both scalars
/// or vectors over an axis of q.
///
/// The difference is exact up to 64 bits. It is rounded to f32, to f64 for an f64 result, and so is the
/// product; narrower results are rounded once more.
struct Dequantize {
  using Params = QuantizationParams;
  static constexpr Opcode opcode{101};
  static constexpr std::string_view name = "dequantize";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"scale"}, Role{"zero_point"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = kQuantizationAttributes;

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const DType to = c.dtype(at<Dequantize>("output_dtype"));
    if (!is_integer(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "an integer dtype");
    if (!is_float(to)) return c.no(Errc::dtype_mismatch, "output_dtype is ", zrt::name(to), ", expected a float dtype");
    if (auto r = check_scaling(c, at<Dequantize>("axis"), 1); !r) return r;
    return c.give(to, c.in[0].shape);
  }

  /// The number of one element.
  template <std::floating_point T>
  [[nodiscard]] static T apply(Whole q, float scale, std::int32_t zero_point) noexcept {
    return q.plus(-std::int64_t{zero_point}).template real<T>() * static_cast<T>(scale);
  }

  static void reference(const HostCall<Dequantize>& c, const ExecutionContext& step, const Worker&) noexcept {
    const Channels channels(c.params, c.in[0], step);
    const std::uint64_t elements = c.in[0].elements(step);
    visit_domain(c.params.output_dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::floating_point<T>) {
        Whole q[kElementRun];
        T y[kElementRun];
        for (std::uint64_t first = 0; first < elements; first += kElementRun) {
          const std::uint64_t run = std::min(elements - first, kElementRun);
          read_whole(c.in[0].type.dtype, c.in[0].data, first, run, q);
          for (std::uint64_t i = 0; i < run; ++i) {
            const std::uint64_t channel = channels.of(first + i);
            y[i] = apply<T>(q[i], c.in[1].as<float>()[channel], c.in[2].as<std::int32_t>()[channel]);
          }
          element_functions<T>(c.params.output_dtype).pack(y, first, run, c.out[0].data);
        }
      }
    });
  }

  static constexpr Gradient gradient = Gradient::none("its gradient is not built");

  template <class E> static void emit_c(E& f, const Call<E, Dequantize>& c) noexcept {
    if (c.out[0].elements() == 0) return;
    const Domain domain = domain_of(c.params.output_dtype);
    open_channels(f.w, c.params, c.in[0]);
    f.w.line({"const ", E::c_type(domain), " x = zrt_whole_to_", E::c_name(domain), "(",
              above_zero_point(c.in[0], c.in[2]), ");"});
    store(f.w, c.out[0], {"i"}, {"x * (", E::c_type(domain), ")", load(c.in[1], {"channel"})});
    f.w.close();
  }
};
static_assert(Op<Dequantize>);

}  // namespace zrt::inline ZRT_ABI::ops
