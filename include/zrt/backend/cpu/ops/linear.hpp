// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/linear.hpp: rounding of the activations, then rows times weights.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_LINEAR)
#define ZRT_BACKEND_CPU_OPS_LINEAR

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/activations.hpp>
#include <zrt/backend/cpu/kernels/projection.hpp>
#include <zrt/backend/cpu/kernels/round.hpp>
#include <zrt/ops/linear.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

/// linear, and lm_head with its scale and soft cap.
struct LinearArgs {
  HostTensor x{};
  HostTensor y{};
  Projection projection{};
  float scale = 1.0f;
  float soft_cap = 0.0f;
};

template <> struct Kernels<ops::Linear> {
  exec::HostKernel<RoundArgs> round = nullptr;
  exec::HostKernel<LinearArgs> product = nullptr;
};

template <> struct Adapter<ops::Linear> {
  static constexpr Loops loops = Loops::vector;

  /// Rounded activations, where the plan rounds.
  static constexpr CheckedSize scratch(const TypeCall<ops::Linear>& c, const Extents& bounds) noexcept {
    if (c.params.act == quant::Act::none) return 0;
    const Shape& x = c.in[0].type.shape;
    return rounded_bytes(row_count(x, bounds), x.last().extent);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::Linear>& c, const Kernels<ops::Linear>& k) noexcept {
    auto projection = r.projection(c.w[0], c.w[1], c.params.act);
    if (!projection) return pass(projection);
    if (c.params.act != quant::Act::none)
      if (auto rounded = r.push(k.round, RoundArgs{c.in[0], rounded_forms<ops::Linear>(c.params)}); !rounded)
        return rounded;
    return r.push(k.product, LinearArgs{c.in[0], c.out[0], *projection});
  }
};
static_assert(Records<ops::Linear>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/linear.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

inline void linear(const LinearArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t cols = a.x.cols(step);
  const Projection& p = a.projection;
  RowScratch from;
  if (p.act != quant::Act::none) from = rounded_scratch(worker.scratch.data(), rows, cols);
  const Share mine = share(p.w.rows, rows, worker);
  float* y = a.y.as<float>();
  project_share(p, from.activations(a.x.as<float>(), rows, cols), mine, y);
  if (a.scale == 1.0f && a.soft_cap == 0.0f) return;
  const F32 scale = splat(a.scale);
  for (std::uint64_t t = mine.t.first; t < mine.t.last; ++t) {
    float* row = y + t * p.w.rows;
    map(row, row, mine.n.first, mine.n.last, [&](F32 v) noexcept {
      const F32 scaled = a.scale == 1.0f ? v : v * scale;
      return a.soft_cap == 0.0f ? scaled : soft_capped(scaled, a.soft_cap);
    });
  }
}

template <> inline constexpr Kernels<ops::Linear> kKernels<ops::Linear>{.round = &round_rows, .product = &linear};

#endif
