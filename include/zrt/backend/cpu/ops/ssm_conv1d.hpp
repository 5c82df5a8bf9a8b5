// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/ssm_conv1d.hpp: causal depthwise convolution, channels in the lanes.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_SSM_CONV1D)
#define ZRT_BACKEND_CPU_OPS_SSM_CONV1D

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/simd/variants.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/ssm_conv1d.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::SsmConv1d> {
  exec::HostKernel<HostCall<ops::SsmConv1d>> channels = nullptr;
};

template <> struct Adapter<ops::SsmConv1d> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::SsmConv1d>& c,
                             const Kernels<ops::SsmConv1d>& k) noexcept {
    return r.push(k.channels, c);
  }
};
static_assert(Records<ops::SsmConv1d>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/ssm_conv1d.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Sixteen channels of a run, or the first `lanes` of them: x, y and tail are at the first, rows `stride` floats apart.
inline void conv_run(const float* taps, std::uint32_t count, F32 bias, Activation act, const float* x, float* y,
                     float* tail, std::uint32_t rows, std::uint64_t stride, std::size_t lanes) noexcept {
  const std::uint32_t before = count - 1;
  // Row `at` of the tail and the run's rows behind it.
  const auto input = [&](std::uint32_t at) noexcept {
    return load_first(at < before ? tail + at * stride : x + (at - before) * stride, lanes);
  };
  for (std::uint32_t t = 0; t < rows; ++t) {
    F32 sum = bias;
    for (std::uint32_t k = 0; k < count; ++k) sum = fma(load(taps + 16 * k), input(t + k), sum);
    store_first(y + t * stride, act == Activation::silu ? silu(sum) : sum, lanes);
  }
  for (std::uint32_t k = 0; k < before; ++k) store_first(tail + k * stride, input(rows + k), lanes);
}

/// Channels are split.
inline void ssm_conv1d(const HostCall<ops::SsmConv1d>& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t channels = c.in[0].cols(step);
  const std::uint32_t rows = c.in[0].rows(step);
  const std::uint32_t count = c.w[0].cols;
  const Range part = split(channels, 16, worker);
  for (std::uint64_t channel = part.first; channel < part.last; channel += 16) {
    const auto lanes = static_cast<std::size_t>(channels - channel < 16 ? channels - channel : 16);
    alignas(64) float taps[16 * ops::SsmConv1d::kMaxTaps] = {};
    const float* w = c.w[0].f32() + channel * count;
    for (std::size_t i = 0; i < lanes; ++i)
      for (std::uint32_t k = 0; k < count; ++k) taps[16 * k + i] = w[i * count + k];
    const F32 bias = c.w[1].present() ? load_first(c.w[1].f32() + channel, lanes) : splat(0.0f);
    for (SlotRun run = run_at(step, 0, rows); run.rows != 0; run = run_at(step, run.first + run.rows, rows)) {
      const std::uint64_t at = std::uint64_t{run.first} * channels + channel;
      conv_run(taps, count, bias, c.params.act, c.in[0].as<float>() + at, c.out[0].as<float>() + at,
               c.params.state.of(c.state, run.slot) + channel, run.rows, channels, lanes);
    }
  }
}

template <class L> inline constexpr Kernels<ops::SsmConv1d> kKernels<ops::SsmConv1d, L>{.channels = &ssm_conv1d};

#endif
