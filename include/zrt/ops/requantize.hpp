// SPDX-License-Identifier: Apache-2.0
// zrt/ops/requantize.hpp: integers of one scale and zero point to those of another.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/dequantize.hpp>
#include <zrt/ops/quantize.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// q' = saturate(round_to_even((q - from_zero_point) · from_scale / to_scale) + to_zero_point) (PTIR
/// `Requantize`); scales f32, zero points si32, all scalars or vectors over an axis of q.
///
/// This is quantize of dequantize in f32: difference, product and quotient are each rounded to f32.
struct Requantize {
  using Params = QuantizationParams;
  static constexpr Opcode opcode{102};
  static constexpr std::string_view name = "requantize";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles =
      std::to_array({Role{"x"}, Role{"from_scale"}, Role{"from_zero_point"}, Role{"to_scale"}, Role{"to_zero_point"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = kQuantizationAttributes;

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const DType to = c.dtype(at<Requantize>("output_dtype"));
    if (!is_integer(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "an integer dtype");
    if (!is_integer(to))
      return c.no(Errc::dtype_mismatch, "output_dtype is ", zrt::name(to), ", expected an integer dtype");
    for (const std::size_t scale : {std::size_t{1}, std::size_t{3}})
      if (auto r = check_scaling(c, at<Requantize>("axis"), scale); !r) return r;
    return c.give(to, c.in[0].shape);
  }

  /// The whole number of one element, not yet saturated.
  [[nodiscard]] static Whole apply(Whole q, float from_scale, std::int32_t from_zero_point, float to_scale,
                                   std::int32_t to_zero_point) noexcept {
    return Quantize::apply(Dequantize::apply<float>(q, from_scale, from_zero_point), to_scale, to_zero_point);
  }

  static void reference(const HostCall<Requantize>& c, const ExecutionContext& step, const Worker&) noexcept {
    const Channels channels(c.params, c.in[0], step);
    const std::uint64_t elements = c.in[0].elements(step);
    Whole q[kElementRun];
    for (std::uint64_t first = 0; first < elements; first += kElementRun) {
      const std::uint64_t run = std::min(elements - first, kElementRun);
      read_whole(c.in[0].type.dtype, c.in[0].data, first, run, q);
      for (std::uint64_t i = 0; i < run; ++i) {
        const std::uint64_t channel = channels.of(first + i);
        const auto scale = [&](std::size_t input) { return c.in[input].as<float>()[channel]; };
        const auto zero_point = [&](std::size_t input) { return c.in[input].as<std::int32_t>()[channel]; };
        q[i] = apply(q[i], scale(1), zero_point(2), scale(3), zero_point(4));
      }
      write_whole(c.params.output_dtype, q, first, run, c.out[0].data);
    }
  }

  static constexpr Gradient gradient = Gradient::stops();

  template <class E> static void emit_c(E& f, const Call<E, Requantize>& c) noexcept {
    if (c.out[0].elements() == 0) return;
    open_channels(f.w, c.params, c.in[0]);
    f.w.line({"const float x = zrt_whole_to_f32(", above_zero_point(c.in[0], c.in[2]), ") * ",
              load(c.in[1], {"channel"}), ";"});
    f.w.line({"const float y = x / ", load(c.in[3], {"channel"}), ";"});
    store_whole(f.w, c.out[0], {"zrt_whole_plus(zrt_whole_f64(y), ", load(c.in[4], {"channel"}), ")"});
    f.w.close();
  }
};
static_assert(Op<Requantize>);

}  // namespace zrt::inline ZRT_ABI::ops
