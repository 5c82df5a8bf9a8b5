// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/layer_norm_runs.hpp: runs of a row, normalised by mean and variance.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_LAYER_NORM_RUNS)
#define ZRT_BACKEND_CPU_OPS_LAYER_NORM_RUNS

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/layer_norm_run.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/layer_norm_runs.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::LayerNormRuns> {
  exec::HostKernel<HostCall<ops::LayerNormRuns>> runs = nullptr;
};

template <> struct Adapter<ops::LayerNormRuns> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::LayerNormRuns>& c,
                             const Kernels<ops::LayerNormRuns>& k) noexcept {
    return r.push(k.runs, c);
  }
};
static_assert(Records<ops::LayerNormRuns>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/layer_norm_runs.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Runs are split.
inline void layer_norm_runs(const HostCall<ops::LayerNormRuns>& c, const ExecutionContext& step,
                            const Worker& worker) noexcept {
  const std::uint32_t dim = c.params.dim;
  const Range part = split(c.in[0].elements(step) / dim, 1, worker);
  for (std::uint64_t run = part.first; run < part.last; ++run)
    layer_norm_run(c.in[0].as<float>() + run * dim, dim, c.w[0].f32(), c.w[1].f32(), c.params.eps,
                   c.out[0].as<float>() + run * dim);
}

template <class L>
inline constexpr Kernels<ops::LayerNormRuns> kKernels<ops::LayerNormRuns, L>{.runs = &layer_norm_runs};

#endif
