// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/ssm_gated_norm.hpp: runs of a row, gated and normalised.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_SSM_GATED_NORM)
#define ZRT_BACKEND_CPU_OPS_SSM_GATED_NORM

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/activations.hpp>
#include <zrt/backend/cpu/kernels/norm.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/ssm_gated_norm.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::SsmGatedNorm> {
  exec::HostKernel<HostCall<ops::SsmGatedNorm>> runs = nullptr;
};

template <> struct Adapter<ops::SsmGatedNorm> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::SsmGatedNorm>& c,
                             const Kernels<ops::SsmGatedNorm>& k) noexcept {
    return r.push(k.runs, c);
  }
};
static_assert(Records<ops::SsmGatedNorm>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/ssm_gated_norm.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Runs are split.
inline void ssm_gated_norm(const HostCall<ops::SsmGatedNorm>& c, const ExecutionContext& step,
                           const Worker& worker) noexcept {
  const ops::SsmGatedNormParams& p = c.params;
  const Range part = split(c.in[0].elements(step) / p.dim, 1, worker);
  for (std::uint64_t run = part.first; run < part.last; ++run) {
    const float* x = c.in[0].as<float>() + run * p.dim;
    const float* z = c.in[1].as<float>() + run * p.dim;
    float* y = c.out[0].as<float>() + run * p.dim;
    const float* weight = ops::SsmGatedNorm::weight_of(c.w[0], p, run);
    if (p.gate_first != 0) {
      gate_elements(Activation::silu, z, x, y, 0, p.dim);
      norm_run(p.norm(), y, weight, y);
    } else {
      norm_run(p.norm(), x, weight, y);
      gate_elements(Activation::silu, z, y, y, 0, p.dim);
    }
  }
}

template <class L> inline constexpr Kernels<ops::SsmGatedNorm> kKernels<ops::SsmGatedNorm, L>{.runs = &ssm_gated_norm};

#endif
