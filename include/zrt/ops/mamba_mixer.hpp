// SPDX-License-Identifier: Apache-2.0
// zrt/ops/mamba_mixer.hpp: the mixer of a Mamba layer, of the first and second form.
#pragma once

#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/rms_norm_fused_qkv.hpp>
#include <zrt/ops/ssm_conv1d.hpp>
#include <zrt/ops/ssm_gated_norm.hpp>
#include <zrt/ops/ssm_scan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

struct MambaMixerParams {
  float norm_eps = 1e-5f;
  SsmConv1dParams conv{};
  SsmScanParams scan{};
  SsmGatedNormParams gated{.gate_first = 1};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&MambaMixerParams::norm_eps, "norm_eps"}, Member{&MambaMixerParams::conv, "conv"},
                 Member{&MambaMixerParams::scan, "scan"}, Member{&MambaMixerParams::gated, "gated"});
};

/// y = W_out (gate(scan(conv(W_x n)), W_z n)) with n = x, or its norm. The two forms differ in where dt, B and C come
/// from, and in the gate:
///
/// | `scan.by_channel` | x projects to | dt, B and C | gate |
/// |---|---|---|---|
/// | 1, Mamba 1 | D channels | c = conv(W_x n): dt = W_dt (W_low c), B and C = W_bc c | y · silu(z) |
/// | 0, Mamba 2 | D channels, B and C | dt = W_dt n, B and C of the convolution | ssm_gated_norm with `gated_norm`, or without one y · silu(z) |
///
/// x f32 [T, d] -> f32 [T, d]. The state holds the convolution's rows and the scan's matrices, where their parameters
/// say. `low`, `bc` are weights of the first form alone, `gated_norm`, optional, of the second.
struct MambaMixer {
  using Params = MambaMixerParams;
  static constexpr Opcode opcode{4};
  static constexpr std::string_view name = "mamba_mixer";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles =
      std::to_array({Role{"norm", true}, Role{"x"}, Role{"z"}, Role{"conv"}, Role{"conv_bias", true}, Role{"low", true},
                     Role{"bc", true}, Role{"dt"}, Role{"dt_bias", true}, Role{"a"}, Role{"d"},
                     Role{"gated_norm", true}, Role{"output"}});
  enum Weight : std::size_t { norm, x, z, conv, conv_bias, low, bc, dt, dt_bias, a, d, gated_norm, output };
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::recurrent;
  using expands_to = boost::mp11::mp_list<RmsNorm, RmsNormFusedQkv, Linear, SsmConv1d, SsmScan, SsmGatedNorm, GatedAct>;

  static constexpr Result<void> infer(const TypeCall<MambaMixer>& c, OutputTypes<MambaMixer>& out) noexcept {
    using Self = MambaMixer;
    const Params& p = c.params;
    const bool first_form = p.scan.by_channel != 0;
    if (auto r = expect_input<Self>(c.in[0], "x", DType::f32, 2); !r) return r;
    const Shape& in = c.in[0].type.shape;
    if (in.rank != 2 || in[1].symbol != 0) return bad_shape<Self>("x", "[tokens, width]", in);
    const std::uint32_t width = in[1].extent;
    if (!(p.norm_eps >= 0.0f)) return bad_params<Self>("norm_eps must not be negative");
    if (auto r = expect_vector<Self>(c.w[norm], "norm", width, false); !r) return r;
    for (const Weight role : {low, bc, gated_norm})
      if (role == gated_norm ? first_form && c.w[role].present() : first_form != c.w[role].present())
        return fail(Errc::missing_weight,
                    "mamba_mixer: weights low and bc belong to the first form, gated_norm to the ", "second, and ",
                    weight_roles[role].name, " does not fit by_channel");
    // A value of the block, projected from one of `cols` columns.
    const auto projected = [&](Weight role, std::uint32_t cols, InputInfo& to) -> Result<void> {
      if (auto r = expect_matrix<Self>(c.w[role], weight_roles[role].name, cols); !r) return r;
      to = {true, {DType::f32, in.with_last(c.w[role].shape[0])}};
      return {};
    };
    InputInfo channels, gate, lower, shared, step;
    if (auto r = projected(x, width, channels); !r) return r;
    if (auto r = projected(z, width, gate); !r) return r;
    const std::uint32_t mixed = channels.type.shape[1].extent;
    if (first_form) {
      if (auto r = projected(low, mixed, lower); !r) return r;
      if (auto r = projected(bc, mixed, shared); !r) return r;
      if (auto r = projected(dt, lower.type.shape[1].extent, step); !r) return r;
    } else if (auto r = projected(dt, width, step); !r) {
      return r;
    }
    OutputTypes<SsmConv1d> convolved;
    if (auto r = SsmConv1d::infer({{channels}, {}, {c.w[conv], c.w[conv_bias]}, c.state, p.conv}, convolved); !r)
      return r;
    OutputTypes<SsmScan> scanned;
    if (auto r = SsmScan::infer(
            {{InputInfo{true, convolved[0]}, step, shared}, {}, {c.w[a], c.w[d], c.w[dt_bias]}, c.state, p.scan},
            scanned);
        !r)
      return r;
    if (!(gate.type == scanned[0])) return bad_shape<Self>("z", "a row per channel of the scan", c.w[z].shape);
    if (c.w[gated_norm].present()) {
      OutputTypes<SsmGatedNorm> gated;
      if (auto r =
              SsmGatedNorm::infer({{InputInfo{true, scanned[0]}, gate}, {}, {c.w[gated_norm]}, {}, p.gated}, gated);
          !r)
        return r;
    }
    if (auto r = expect_matrix<Self>(c.w[output], "output", scanned[0].shape[1].extent); !r) return r;
    if (c.w[output].shape[0] != in[1])
      return bad_shape<Self>("output", "as many rows as x has columns", c.w[output].shape);
    out[0] = c.in[0].type;
    return {};
  }

  template <class G> static constexpr Result<Outputs<G, MambaMixer>> expand(G& g, const Call<G, MambaMixer>& c) {
    using Tensor = typename G::Tensor;
    const Params& p = c.params;
    const bool first_form = p.scan.by_channel != 0;
    const RmsNormParams norm_params{p.norm_eps, 0.0f, g.type_of(c.in[0]).shape.last().extent};
    const auto linear = [&](Tensor from, auto weight) {
      return g.template emit<Linear>({.in = {from}, .w = {weight}})[0];
    };
    Tensor channels{}, gate{}, step{}, shared{};
    if (c.w[norm].present() && !first_form) {
      const auto parts = g.template emit<RmsNormFusedQkv>(
          {.in = c.in, .w = {c.w[norm], c.w[z], c.w[x], c.w[dt]}, .params = {.norm = norm_params}});
      gate = parts[0];
      channels = parts[1];
      step = parts[2];
    } else {
      auto n = c.in[0];
      if (c.w[norm].present()) n = g.template emit<RmsNorm>({.in = {n}, .w = {c.w[norm]}, .params = norm_params})[0];
      channels = linear(n, c.w[x]);
      gate = linear(n, c.w[z]);
      if (!first_form) step = linear(n, c.w[dt]);
    }
    channels = g.template emit<SsmConv1d>(
        {.in = {channels}, .w = {c.w[conv], c.w[conv_bias]}, .state = c.state, .params = p.conv})[0];
    if (first_form) {
      step = linear(linear(channels, c.w[low]), c.w[dt]);
      shared = linear(channels, c.w[bc]);
    }
    auto y = g.template emit<SsmScan>(
        {.in = {channels, step, shared}, .w = {c.w[a], c.w[d], c.w[dt_bias]}, .state = c.state, .params = p.scan})[0];
    if (c.w[gated_norm].present())
      y = g.template emit<SsmGatedNorm>({.in = {y, gate}, .w = {c.w[gated_norm]}, .params = p.gated})[0];
    else
      y = g.template emit<GatedAct>({.in = {gate, y}, .params = {Activation::silu}})[0];
    return g.template emit<Linear>({.in = {y}, .w = {c.w[output]}});
  }
};
static_assert(Op<MambaMixer> && !HasReference<MambaMixer>);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
