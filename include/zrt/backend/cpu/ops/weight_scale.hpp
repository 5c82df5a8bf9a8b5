// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/weight_scale.hpp: a tensor times a number that the model holds.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_WEIGHT_SCALE)
#define ZRT_BACKEND_CPU_OPS_WEIGHT_SCALE

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/weight_scale.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::WeightScale> {
  exec::HostKernel<HostCall<ops::WeightScale>> elements = nullptr;
};

template <> struct Adapter<ops::WeightScale> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::WeightScale>& c,
                             const Kernels<ops::WeightScale>& k) noexcept {
    return r.push(k.elements, c);
  }
};
static_assert(Records<ops::WeightScale>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/weight_scale.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Elements are split.
inline void weight_scale(const HostCall<ops::WeightScale>& c, const ExecutionContext& step,
                         const Worker& worker) noexcept {
  const F32 scale = splat(c.w[0].f32()[0]);
  const Range part = split(c.in[0].elements(step), 64, worker);
  map(c.in[0].as<float>(), c.out[0].as<float>(), part.first, part.last, [&](F32 x) ZRT_UNROLLED { return x * scale; });
}

template <class L> inline constexpr Kernels<ops::WeightScale> kKernels<ops::WeightScale, L>{.elements = &weight_scale};

#endif
