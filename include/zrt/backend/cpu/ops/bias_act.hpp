// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/bias_act.hpp: a bias along one axis, and the activation of the sum.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_BIAS_ACT)
#define ZRT_BACKEND_CPU_OPS_BIAS_ACT

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/activations.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/bias_act.hpp>

#include <algorithm>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::BiasAct> {
  exec::HostKernel<HostCall<ops::BiasAct>> elements = nullptr;
};

template <> struct Adapter<ops::BiasAct> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::BiasAct>& c, const Kernels<ops::BiasAct>& k) noexcept {
    return r.push(k.elements, c);
  }
};
static_assert(Records<ops::BiasAct>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/bias_act.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Sums of this many elements stay in the first-level cache until their activation is taken.
inline constexpr std::uint64_t kBiasBlock = 1024;

/// Elements are split.
template <class Call>
void bias_act_elements(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const ops::AxisSplit by(c.in[0], c.params.axis, step);
  const Range part = split(c.in[0].elements(step), 64, worker);
  const float* x = c.in[0].template as<float>();
  const float* bias = c.in[1].template as<float>();
  float* y = c.out[0].template as<float>();
  for (std::uint64_t first = part.first; first < part.last; first += kBiasBlock) {
    const std::uint64_t last = std::min(first + kBiasBlock, part.last);
    std::uint64_t run = 0;
    for (std::uint64_t i = first; i < last; i += run) {
      const std::uint64_t at = i / by.inner % by.extent;
      if (by.inner == 1) {
        run = std::min(by.extent - at, last - i);
        map(x + i, bias + at, y + i, 0, run, [](F32 v, F32 b) ZRT_UNROLLED { return v + b; });
      } else {
        run = std::min(by.inner - i % by.inner, last - i);
        const F32 b = splat(bias[at]);
        map(x + i, y + i, 0, run, [&](F32 v) ZRT_UNROLLED { return v + b; });
      }
    }
    gate_elements(c.params.act, y, nullptr, y, first, last);
  }
}

template <class L>
inline constexpr Kernels<ops::BiasAct> kKernels<ops::BiasAct, L>{.elements =
                                                                     &bias_act_elements<HostCall<ops::BiasAct>>};

#endif
