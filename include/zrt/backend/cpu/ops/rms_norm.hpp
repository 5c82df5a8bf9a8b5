// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/rms_norm.hpp: runs of a row, normalised in one pass each.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_RMS_NORM)
#define ZRT_BACKEND_CPU_OPS_RMS_NORM

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/norm.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/rms_norm.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::RmsNorm> {
  exec::HostKernel<HostCall<ops::RmsNorm>> runs = nullptr;
};

template <> struct Adapter<ops::RmsNorm> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::RmsNorm>& c, const Kernels<ops::RmsNorm>& k) noexcept {
    return r.push(k.runs, c);
  }
};
static_assert(Records<ops::RmsNorm>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/rms_norm.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Runs are split.
inline void rms_norm(const HostCall<ops::RmsNorm>& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const ops::RmsNormParams& p = c.params;
  const float* weight = c.w[0].f32();
  const Range part = split(c.in[0].elements(step) / p.dim, 1, worker);
  for (std::uint64_t run = part.first; run < part.last; ++run)
    norm_run(p, c.in[0].as<float>() + run * p.dim, weight, c.out[0].as<float>() + run * p.dim);
}

template <> inline constexpr Kernels<ops::RmsNorm> kKernels<ops::RmsNorm>{.runs = &rms_norm};

#endif
