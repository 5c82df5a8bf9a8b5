// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/residual_rms_norm.hpp: a scaled sum and its norm, row by row.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_RESIDUAL_RMS_NORM)
#define ZRT_BACKEND_CPU_OPS_RESIDUAL_RMS_NORM

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/norm.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/residual_rms_norm.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::ResidualRmsNorm> {
  exec::HostKernel<HostCall<ops::ResidualRmsNorm>> runs = nullptr;
};

template <> struct Adapter<ops::ResidualRmsNorm> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::ResidualRmsNorm>& c,
                             const Kernels<ops::ResidualRmsNorm>& k) noexcept {
    return r.push(k.runs, c);
  }
};
static_assert(Records<ops::ResidualRmsNorm>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/residual_rms_norm.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// sum, then norm of the sum; runs are split.
inline void residual_rms_norm(const HostCall<ops::ResidualRmsNorm>& c, const ExecutionContext& step,
                              const Worker& worker) noexcept {
  const ops::RmsNormParams& p = c.params.norm;
  const F32 scale = splat(c.params.add.scale);
  const float* weight = c.w[0].f32();
  const Range part = split(c.in[0].elements(step) / p.dim, 1, worker);
  for (std::uint64_t run = part.first; run < part.last; ++run) {
    const std::uint64_t at = run * p.dim;
    float* sum = c.out[0].as<float>() + at;
    map(c.in[0].as<float>() + at, c.in[1].as<float>() + at, sum, 0, p.dim,
        [&](F32 x, F32 branch) ZRT_UNROLLED { return fma(scale, branch, x); });
    norm_run(p, sum, weight, c.out[1].as<float>() + at);
  }
}

template <> inline constexpr Kernels<ops::ResidualRmsNorm> kKernels<ops::ResidualRmsNorm>{.runs = &residual_rms_norm};

#endif
