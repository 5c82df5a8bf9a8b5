// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/ssm_delta_net.hpp: the gated delta rule, value dims in the lanes.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_SSM_DELTA_NET)
#define ZRT_BACKEND_CPU_OPS_SSM_DELTA_NET

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/ssm_delta_net.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::SsmDeltaNet> {
  exec::HostKernel<HostCall<ops::SsmDeltaNet>> heads = nullptr;
};

template <> struct Adapter<ops::SsmDeltaNet> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::SsmDeltaNet>& c,
                             const Kernels<ops::SsmDeltaNet>& k) noexcept {
    return r.push(k.heads, c);
  }
};
static_assert(Records<ops::SsmDeltaNet>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/ssm_delta_net.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Tiles of a head that one pass takes. Each token walks them twice: two with keys of 128 are 16 KiB, which stay in the
/// first-level cache, four took half as long again.
inline constexpr std::size_t kDeltaTiles = 2;

/// y = (x / max(|x|, eps)) · scale.
inline void normalise_key(const ops::SsmDeltaNetParams& p, const float* x, float* y, float scale) noexcept {
  F32 lanes = splat(0.0f);
  std::uint32_t i = 0;
  for (; i + 16 <= p.key_dim; i += 16) {
    const F32 v = load(x + i);
    lanes = fma(v, v, lanes);
  }
  if (i < p.key_dim) {
    const F32 v = load_first(x + i, p.key_dim - i);
    lanes = fma(v, v, lanes);
  }
  const F32 inverse = splat(ops::SsmDeltaNet::inverse_norm(reduce_tree(lanes), p.norm_eps));
  map(x, y, 0, p.key_dim, [&](F32 v) ZRT_UNROLLED { return (v * inverse) * splat(scale); });
}

/// kTiles tiles of a head from value dim `first` on, of which the last has `lanes` dims; only a single tile may be
/// narrower than sixteen.
template <std::size_t kTiles>
inline void delta_head(const HostCall<ops::SsmDeltaNet>& c, const ExecutionContext& step, std::uint32_t head,
                       std::uint32_t first, std::size_t lanes) noexcept {
  const ops::SsmDeltaNetParams& p = c.params;
  const std::uint32_t rows = c.in[0].rows(step);
  const F32 rate = splat(c.w[0].f32()[head]);
  const float bias = c.w[1].f32()[head];
  const float scale = ops::SsmDeltaNet::query_scale(p);
  const std::uint64_t tile = kTiles == 1 ? lanes * p.key_dim : std::uint64_t{16} * p.key_dim;
  alignas(64) float query[ops::SsmDeltaNet::kMaxKeyDim];
  alignas(64) float key[ops::SsmDeltaNet::kMaxKeyDim];
  const auto take = [&](const float* from) ZRT_UNROLLED { return kTiles == 1 ? load_first(from, lanes) : load(from); };
  const auto give = [&](float* to, F32 value) ZRT_UNROLLED {
    if (kTiles == 1)
      store_first(to, value, lanes);
    else
      store(to, value);
  };
  for (SlotRun run = run_at(step, 0, rows); run.rows != 0; run = run_at(step, run.first + run.rows, rows)) {
    float* s = p.state.of(c.state, run.slot) + (std::uint64_t{head} * p.value_dim + first) * p.key_dim;
    for (std::uint32_t row = run.first; row < run.first + run.rows; ++row) {
      const float* in = c.in[0].as<float>() + row * p.columns();
      const float* q = in + std::uint64_t{p.key_head(head)} * p.key_dim;
      normalise_key(p, q, query, scale);
      normalise_key(p, q + std::uint64_t{p.key_heads} * p.key_dim, key, 1.0f);
      const float* v = in + std::uint64_t{2} * p.key_heads * p.key_dim + std::uint64_t{head} * p.value_dim + first;
      const ops::SsmDeltaNet::Gates raw = ops::SsmDeltaNet::gates_of(c, row, head);
      const F32 decay = exp(sealed(rate * softplus(splat(raw.alpha + bias))));
      const F32 beta = sigmoid(splat(raw.beta));
      F32 sum[kTiles];
      F32 change[kTiles];
      ZRT_UNROLL (i, kTiles) sum[i] = splat(0.0f);
      for (std::uint32_t k = 0; k < p.key_dim; ++k) {
        const F32 of_key = splat(key[k]);
        ZRT_UNROLL (i, kTiles) {
          float* at = s + i * tile + k * (kTiles == 1 ? lanes : 16);
          const F32 next = sealed(take(at) * decay);
          give(at, next);
          sum[i] = fma(next, of_key, sum[i]);
        }
      }
      ZRT_UNROLL (i, kTiles) {
        change[i] = sealed(beta * (take(v + 16 * i) - sum[i]));
        sum[i] = splat(0.0f);
      }
      for (std::uint32_t k = 0; k < p.key_dim; ++k) {
        const F32 of_key = splat(key[k]);
        const F32 of_query = splat(query[k]);
        ZRT_UNROLL (i, kTiles) {
          float* at = s + i * tile + k * (kTiles == 1 ? lanes : 16);
          const F32 next = fma(of_key, change[i], take(at));
          give(at, next);
          sum[i] = fma(next, of_query, sum[i]);
        }
      }
      float* y = c.out[0].as<float>() + (std::uint64_t{row} * p.value_heads + head) * p.value_dim + first;
      ZRT_UNROLL (i, kTiles) give(y + 16 * i, sum[i]);
    }
  }
}

/// Passes over heads are split.
inline void ssm_delta_net(const HostCall<ops::SsmDeltaNet>& c, const ExecutionContext& step,
                          const Worker& worker) noexcept {
  const ops::SsmDeltaNetParams& p = c.params;
  constexpr std::uint32_t kWide = 16 * kDeltaTiles;
  const std::uint32_t passes = (p.value_dim + kWide - 1) / kWide;
  const Range part = split(std::uint64_t{p.value_heads} * passes, 1, worker);
  for (std::uint64_t unit = part.first; unit < part.last; ++unit) {
    const auto head = static_cast<std::uint32_t>(unit / passes);
    const auto first = static_cast<std::uint32_t>(unit % passes) * kWide;
    const std::uint32_t dims = p.value_dim - first < kWide ? p.value_dim - first : kWide;
    if (dims == kWide)
      delta_head<kDeltaTiles>(c, step, head, first, 16);
    else
      for (std::uint32_t i = 0; i < dims; i += 16)
        delta_head<1>(c, step, head, first + i, dims - i < 16 ? dims - i : 16);
  }
}

template <class L> inline constexpr Kernels<ops::SsmDeltaNet> kKernels<ops::SsmDeltaNet, L>{.heads = &ssm_delta_net};

#endif
