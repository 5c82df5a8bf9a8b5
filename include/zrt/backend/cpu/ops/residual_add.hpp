// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/residual_add.hpp: a scaled sum.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_RESIDUAL_ADD)
#define ZRT_BACKEND_CPU_OPS_RESIDUAL_ADD

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/residual_add.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::ResidualAdd> {
  exec::HostKernel<HostCall<ops::ResidualAdd>> elements = nullptr;
};

template <> struct Adapter<ops::ResidualAdd> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::ResidualAdd>& c,
                             const Kernels<ops::ResidualAdd>& k) noexcept {
    return r.push(k.elements, c);
  }
};
static_assert(Records<ops::ResidualAdd>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/residual_add.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Elements are split.
inline void residual_add(const HostCall<ops::ResidualAdd>& c, const ExecutionContext& step,
                         const Worker& worker) noexcept {
  const Range part = split(c.in[0].elements(step), 64, worker);
  const F32 scale = splat(c.params.scale);
  map(c.in[0].as<float>(), c.in[1].as<float>(), c.out[0].as<float>(), part.first, part.last,
      [&](F32 x, F32 branch) ZRT_UNROLLED { return fma(scale, branch, x); });
}

template <> inline constexpr Kernels<ops::ResidualAdd> kKernels<ops::ResidualAdd>{.elements = &residual_add};

#endif
