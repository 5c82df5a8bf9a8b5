// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/gated_act.hpp: the activation of a gated block.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_GATED_ACT)
#define ZRT_BACKEND_CPU_OPS_GATED_ACT

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/activations.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/gated_act.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::GatedAct> {
  exec::HostKernel<HostCall<ops::GatedAct>> elements = nullptr;
};

template <> struct Adapter<ops::GatedAct> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::GatedAct>& c, const Kernels<ops::GatedAct>& k) noexcept {
    return r.push(k.elements, c);
  }
};
static_assert(Records<ops::GatedAct>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/gated_act.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Elements are split.
inline void gated_act(const HostCall<ops::GatedAct>& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range part = split(c.in[0].elements(step), 64, worker);
  gate_elements(c.params.act, c.in[0].as<float>(), c.in[1].as<float>(), c.out[0].as<float>(), part.first, part.last);
}

template <> inline constexpr Kernels<ops::GatedAct> kKernels<ops::GatedAct>{.elements = &gated_act};

#endif
