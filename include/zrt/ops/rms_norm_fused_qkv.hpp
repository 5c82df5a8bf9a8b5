// SPDX-License-Identifier: Apache-2.0
// zrt/ops/rms_norm_fused_qkv.hpp: norm and the three projections of attention.
#pragma once

#include <zrt/ops/linear.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct RmsNormFusedQkvParams {
  RmsNormParams norm{};
  quant::Act act_q = quant::Act::none;
  quant::Act act_k = quant::Act::none;
  quant::Act act_v = quant::Act::none;
  std::uint8_t reserved = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&RmsNormFusedQkvParams::norm, "norm"}, Member{&RmsNormFusedQkvParams::act_q, "act_q"},
                 Member{&RmsNormFusedQkvParams::act_k, "act_k"}, Member{&RmsNormFusedQkvParams::act_v, "act_v"},
                 Member{&RmsNormFusedQkvParams::reserved, "reserved"});
};

/// n = rms_norm(x); q, k, v = linear(n). Orders are those of its parts.
struct RmsNormFusedQkv {
  using Params = RmsNormFusedQkvParams;
  static constexpr Opcode opcode{33};
  static constexpr std::string_view name = "rms_norm_fused_qkv";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"q"}, Role{"k"}, Role{"v"}});
  static constexpr auto weight_roles =
      std::to_array({Role{"norm"}, Role{"q"}, Role{"k"}, Role{"v"}, Role{"q_bias", true}, Role{"k_bias", true},
                     Role{"v_bias", true}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr auto act_fields = std::to_array(
      {ActField<Params>{1, &Params::act_q}, ActField<Params>{2, &Params::act_k}, ActField<Params>{3, &Params::act_v}});
  using expands_to = boost::mp11::mp_list<RmsNorm, Linear>;

  [[nodiscard]] static constexpr LinearParams part(const Params& p, std::size_t i) noexcept {
    return {p.*act_fields[i].field, {}};
  }

  static constexpr Result<void> infer(const TypeCall<RmsNormFusedQkv>& c, OutputTypes<RmsNormFusedQkv>& out) noexcept {
    if (auto r = expect_input<RmsNormFusedQkv>(c.in[0], "x", DType::f32, 2); !r) return r;
    if (!c.w[0].present()) return fail(Errc::missing_weight, "rms_norm_fused_qkv: weight norm is not bound");
    if (auto r = RmsNorm::check<RmsNormFusedQkv>(c.params.norm, c.in[0].type.shape, c.w[0]); !r) return r;
    for (std::size_t i = 0; i < 3; ++i) {
      OutputTypes<Linear> y;
      if (auto r = Linear::infer({c.in, {}, {c.w[1 + i], c.w[4 + i]}, {}, part(c.params, i)}, y); !r) return r;
      out[i] = y[0];
    }
    return {};
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<RmsNormFusedQkv>& c, const Extents&) noexcept {
    const std::uint32_t cols = c.in[0].type.shape.last().extent;
    return CheckedSize(cols) * 4 + projection_scratch(cols);
  }

  static void reference(const HostCall<RmsNormFusedQkv>& c, const ExecutionContext& step,
                        const Worker& worker) noexcept {
    const std::uint32_t cols = c.in[0].cols(step);
    auto* normed = reinterpret_cast<float*>(worker.scratch.data());
    const auto scratch = worker.scratch.subspan(std::uint64_t{cols} * 4);
    for (std::uint32_t t = 0; t < c.in[0].rows(step); ++t) {
      const float* x = c.in[0].as<float>() + std::uint64_t{t} * cols;
      for (std::uint32_t i = 0; i < cols; i += c.params.norm.dim)
        RmsNorm::run(c.params.norm, x + i, c.w[0].f32(), normed + i);
      for (std::size_t i = 0; i < 3; ++i)
        Linear::row({c.in, {c.out[i]}, {c.w[1 + i], c.w[4 + i]}, {}, part(c.params, i)}, t, normed, cols, scratch);
    }
  }

  template <class G>
  static constexpr Result<Outputs<G, RmsNormFusedQkv>> expand(G& g, const Call<G, RmsNormFusedQkv>& c) {
    const auto x = g.template emit<RmsNorm>({.in = c.in, .w = {c.w[0]}, .params = c.params.norm})[0];
    Outputs<G, RmsNormFusedQkv> out{};
    for (std::size_t i = 0; i < 3; ++i)
      out[i] = g.template emit<Linear>({.in = {x}, .w = {c.w[1 + i], c.w[4 + i]}, .params = part(c.params, i)})[0];
    return out;
  }
};
static_assert(Op<RmsNormFusedQkv> && HasReference<RmsNormFusedQkv> && HasExpansion<RmsNormFusedQkv>);

}  // namespace zrt::inline ZRT_ABI::ops
