// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/ssm_scan.hpp: Mamba's selective scan, channels in the lanes.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_SSM_SCAN)
#define ZRT_BACKEND_CPU_OPS_SSM_SCAN

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/ssm_scan.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::SsmScan> {
  exec::HostKernel<HostCall<ops::SsmScan>> by_head = nullptr;
  exec::HostKernel<HostCall<ops::SsmScan>> by_channel = nullptr;
};

template <> struct Adapter<ops::SsmScan> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::SsmScan>& c, const Kernels<ops::SsmScan>& k) noexcept {
    return r.push(c.params.by_channel != 0 ? k.by_channel : k.by_head, c);
  }
};
static_assert(Records<ops::SsmScan>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/ssm_scan.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Tiles of a head that one pass takes. Two of 128 states are 16 KiB, which stay in the first-level cache from token to
/// token, and their chains hide most of an fma's latency; four of them fill that cache.
inline constexpr std::size_t kScanTiles = 2;

/// kTiles tiles of a head from channel `first` on, of which the last has `lanes` channels; only a single tile may be
/// narrower than sixteen.
template <std::size_t kTiles>
inline void scan_head(const HostCall<ops::SsmScan>& c, const ExecutionContext& step, std::uint32_t head,
                      std::uint32_t first, std::size_t lanes) noexcept {
  const ops::SsmScanParams& p = c.params;
  const std::uint32_t rows = c.in[0].rows(step);
  const std::uint32_t channel = head * p.head_dim + first;
  const F32 rate = splat(c.w[ops::SsmScan::a].f32()[head]);
  const F32 through = splat(c.w[ops::SsmScan::d].f32()[head]);
  const bool biased = c.w[ops::SsmScan::dt_bias].present();
  const float bias = biased ? c.w[ops::SsmScan::dt_bias].f32()[head] : 0.0f;
  const std::uint64_t tile = kTiles == 1 ? lanes * p.states : std::uint64_t{16} * p.states;
  for (SlotRun run = run_at(step, 0, rows); run.rows != 0; run = run_at(step, run.first + run.rows, rows)) {
    float* s = p.state.of(c.state, run.slot) + std::uint64_t{channel} * p.states;
    for (std::uint32_t row = run.first; row < run.first + run.rows; ++row) {
      const float raw = c.in[1].as<float>()[std::uint64_t{row} * p.heads + head];
      const F32 dt = softplus(splat(biased ? raw + bias : raw));
      const F32 decay = exp(sealed(dt * rate));
      const float* x = ops::SsmScan::x_of(c, row) + channel;
      const float* b = ops::SsmScan::b_of(c, row, head);
      const float* out = b + std::uint64_t{p.groups} * p.states;
      F32 in[kTiles];
      F32 dx[kTiles];
      F32 sum[kTiles];
      ZRT_UNROLL (i, kTiles) {
        in[i] = kTiles == 1 ? load_first(x, lanes) : load(x + 16 * i);
        dx[i] = sealed(in[i] * dt);
        sum[i] = splat(0.0f);
      }
      for (std::uint32_t n = 0; n < p.states; ++n) {
        const F32 of_b = splat(b[n]);
        const F32 of_out = splat(out[n]);
        ZRT_UNROLL (i, kTiles) {
          float* at = s + i * tile + n * (kTiles == 1 ? lanes : 16);
          const F32 next = fma(kTiles == 1 ? load_first(at, lanes) : load(at), decay, sealed(of_b * dx[i]));
          if (kTiles == 1)
            store_first(at, next, lanes);
          else
            store(at, next);
          sum[i] = fma(next, of_out, sum[i]);
        }
      }
      float* y = c.out[0].as<float>() + std::uint64_t{row} * p.channels() + channel;
      ZRT_UNROLL (i, kTiles) {
        const F32 value = fma(through, in[i], sum[i]);
        if (kTiles == 1)
          store_first(y, value, lanes);
        else
          store(y + 16 * i, value);
      }
    }
  }
}

/// Passes over heads are split.
inline void ssm_scan_by_head(const HostCall<ops::SsmScan>& c, const ExecutionContext& step,
                             const Worker& worker) noexcept {
  const ops::SsmScanParams& p = c.params;
  constexpr std::uint32_t kWide = 16 * kScanTiles;
  const std::uint32_t passes = (p.head_dim + kWide - 1) / kWide;
  const Range part = split(std::uint64_t{p.heads} * passes, 1, worker);
  for (std::uint64_t unit = part.first; unit < part.last; ++unit) {
    const auto head = static_cast<std::uint32_t>(unit / passes);
    const auto first = static_cast<std::uint32_t>(unit % passes) * kWide;
    const std::uint32_t channels = p.head_dim - first < kWide ? p.head_dim - first : kWide;
    if (channels == kWide)
      scan_head<kScanTiles>(c, step, head, first, 16);
    else
      for (std::uint32_t i = 0; i < channels; i += 16)
        scan_head<1>(c, step, head, first + i, channels - i < 16 ? channels - i : 16);
  }
}

/// Tiles of channels are split.
inline void ssm_scan_by_channel(const HostCall<ops::SsmScan>& c, const ExecutionContext& step,
                                const Worker& worker) noexcept {
  const ops::SsmScanParams& p = c.params;
  const std::uint32_t rows = c.in[0].rows(step);
  const std::uint32_t tiles = (p.head_dim + 15) / 16;
  const Range part = split(std::uint64_t{p.heads} * tiles, 1, worker);
  alignas(64) float rates[16 * ops::SsmScan::kMaxStates];
  for (std::uint64_t unit = part.first; unit < part.last; ++unit) {
    const auto head = static_cast<std::uint32_t>(unit / tiles);
    const auto first = static_cast<std::uint32_t>(unit % tiles) * 16;
    const std::size_t lanes = p.head_dim - first < 16 ? p.head_dim - first : 16;
    const std::uint32_t channel = head * p.head_dim + first;
    const float* a = c.w[ops::SsmScan::a].f32() + std::uint64_t{channel} * p.states;
    for (std::uint32_t n = 0; n < p.states; ++n)
      for (std::size_t i = 0; i < 16; ++i) rates[16 * n + i] = i < lanes ? a[i * p.states + n] : 0.0f;
    const F32 through = load_first(c.w[ops::SsmScan::d].f32() + channel, lanes);
    const bool biased = c.w[ops::SsmScan::dt_bias].present();
    const F32 bias = biased ? load_first(c.w[ops::SsmScan::dt_bias].f32() + channel, lanes) : splat(0.0f);
    for (SlotRun run = run_at(step, 0, rows); run.rows != 0; run = run_at(step, run.first + run.rows, rows)) {
      float* s = p.state.of(c.state, run.slot) + std::uint64_t{channel} * p.states;
      for (std::uint32_t row = run.first; row < run.first + run.rows; ++row) {
        const F32 raw = load_first(c.in[1].as<float>() + std::uint64_t{row} * p.channels() + channel, lanes);
        const F32 dt = softplus(biased ? raw + bias : raw);
        const F32 x = load_first(ops::SsmScan::x_of(c, row) + channel, lanes);
        const F32 dx = sealed(x * dt);
        const float* b = ops::SsmScan::b_of(c, row, head);
        const float* out = b + std::uint64_t{p.groups} * p.states;
        F32 sum = splat(0.0f);
        for (std::uint32_t n = 0; n < p.states; ++n) {
          const F32 decay = exp(sealed(dt * load(rates + 16 * n)));
          const F32 next = fma(load_first(s + n * lanes, lanes), decay, sealed(splat(b[n]) * dx));
          store_first(s + n * lanes, next, lanes);
          sum = fma(next, splat(out[n]), sum);
        }
        store_first(c.out[0].as<float>() + std::uint64_t{row} * p.channels() + channel, fma(through, x, sum), lanes);
      }
    }
  }
}

template <class L>
inline constexpr Kernels<ops::SsmScan> kKernels<ops::SsmScan, L>{.by_head = &ssm_scan_by_head,
                                                                 .by_channel = &ssm_scan_by_channel};

#endif
