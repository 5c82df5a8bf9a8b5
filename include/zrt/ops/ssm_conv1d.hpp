// SPDX-License-Identifier: Apache-2.0
// zrt/ops/ssm_conv1d.hpp: causal depthwise convolution over the tokens of a slot.
#pragma once

#include <zrt/ops/activation.hpp>
#include <zrt/ops/recurrent_state.hpp>
#include <zrt/ops/shape_rule.hpp>
#include <zrt/ops/slot_runs.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct SsmConv1dParams {
  StatePart state{};
  Activation act = Activation::silu;  ///< none or silu
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&SsmConv1dParams::state, "state"}, Member{&SsmConv1dParams::act, "act"},
                 Member{&SsmConv1dParams::reserved, "reserved"});
};

/// y[t, c] = act(bias[c] + sum over k of weight[c, k] · x[t - (K - 1) + k, c]), t over the tokens of a slot.
///
/// x f32 [T, C]; weight f32 [C, K], 2 <= K <= 16; bias f32 [C], optional -> f32 [T, C]. The state is the last K - 1
/// rows of x, [K - 1, C], the oldest first. Sums: chain over k from the bias, or from +0.
struct SsmConv1d {
  using Params = SsmConv1dParams;
  static constexpr Opcode opcode{44};
  static constexpr std::string_view name = "ssm_conv1d";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"weight"}, Role{"bias", true}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::recurrent;

  /// The longest kernel.
  static constexpr std::uint32_t kMaxTaps = 16;

  /// Floats of the state.
  [[nodiscard]] static constexpr CheckedSize state_size(std::uint32_t channels, std::uint32_t taps) noexcept {
    return CheckedSize(channels) * (taps - 1);
  }

  static constexpr Result<void> infer(const TypeCall<SsmConv1d>& c, OutputTypes<SsmConv1d>& out) noexcept {
    if (auto r = expect_input<SsmConv1d>(c.in[0], "x", DType::f32, 2); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (x.rank != 2 || x[1].symbol != 0) return bad_shape<SsmConv1d>("x", "[tokens, channels]", x);
    const std::uint32_t channels = x[1].extent;
    if (!c.w[0].present()) return fail(Errc::missing_weight, "ssm_conv1d: weight weight is not bound");
    if (c.w[0].dtype != DType::f32) return bad_dtype<SsmConv1d>("weight", "f32", c.w[0].dtype);
    const std::uint32_t taps = c.w[0].shape.rank == 2 ? c.w[0].shape[1].extent : 0;
    if (c.w[0].shape[0] != Dim(channels) || taps < 2 || taps > kMaxTaps)
      return bad_shape<SsmConv1d>("weight", "a row per channel, of 2 to 16 taps", c.w[0].shape);
    if (auto r = expect_vector<SsmConv1d>(c.w[1], "bias", channels, false); !r) return r;
    if (c.params.act != Activation::none && c.params.act != Activation::silu)
      return bad_params<SsmConv1d>("act must be none or silu");
    if (auto r = expect_part<SsmConv1d>(c.state, c.params.state, state_size(channels, taps)); !r) return r;
    out[0] = c.in[0].type;
    return {};
  }

  static void reference(const HostCall<SsmConv1d>& c, const ExecutionContext& step, const Worker&) noexcept {
    const std::uint32_t channels = c.in[0].cols(step);
    const std::uint32_t taps = c.w[0].cols;
    const std::uint32_t rows = c.in[0].rows(step);
    for (SlotRun run = run_at(step, 0, rows); run.rows != 0; run = run_at(step, run.first + run.rows, rows)) {
      float* tail = c.params.state.of(c.state, run.slot);
      const float* x = c.in[0].as<float>() + std::uint64_t{run.first} * channels;
      float* y = c.out[0].as<float>() + std::uint64_t{run.first} * channels;
      // Row `at` of the tail and the run's rows behind it.
      const auto input = [&](std::uint32_t at, std::uint32_t channel) {
        return at < taps - 1 ? tail[std::uint64_t{at} * channels + channel]
                             : x[std::uint64_t{at - (taps - 1)} * channels + channel];
      };
      for (std::uint32_t t = 0; t < run.rows; ++t)
        for (std::uint32_t channel = 0; channel < channels; ++channel) {
          const float* w = c.w[0].f32() + std::uint64_t{channel} * taps;
          float sum = c.w[1].present() ? c.w[1].f32()[channel] : 0.0f;
          for (std::uint32_t k = 0; k < taps; ++k) sum = __builtin_fmaf(w[k], input(t + k, channel), sum);
          y[std::uint64_t{t} * channels + channel] = activate(c.params.act, sum);
        }
      for (std::uint32_t k = 0; k + 1 < taps; ++k)
        for (std::uint32_t channel = 0; channel < channels; ++channel)
          tail[std::uint64_t{k} * channels + channel] = input(run.rows + k, channel);
    }
  }
};
static_assert(Op<SsmConv1d> && HasReference<SsmConv1d>);

}  // namespace zrt::inline ZRT_ABI::ops
