// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/shared_expert.hpp: a sum with a gate for each row.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_SHARED_EXPERT)
#define ZRT_BACKEND_CPU_OPS_SHARED_EXPERT

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/shared_expert.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::SharedExpert> {
  exec::HostKernel<HostCall<ops::SharedExpert>> rows = nullptr;
};

template <> struct Adapter<ops::SharedExpert> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::SharedExpert>& c,
                             const Kernels<ops::SharedExpert>& k) noexcept {
    return r.push(k.rows, c);
  }
};
static_assert(Records<ops::SharedExpert>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/shared_expert.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Rows are split.
inline void shared_expert(const HostCall<ops::SharedExpert>& c, const ExecutionContext& step,
                          const Worker& worker) noexcept {
  const std::uint32_t cols = c.in[0].cols(step);
  const std::uint32_t outputs = c.out[0].cols(step);
  const float* vector = c.w[0].f32();
  const Range part = split(c.in[0].rows(step), 1, worker);
  for (std::uint64_t t = part.first; t < part.last; ++t) {
    const float* x = c.in[0].as<float>() + t * cols;
    F32 lanes = splat(0.0f);
    std::uint32_t i = 0;
    for (; i + 16 <= cols; i += 16) lanes = fma(load(vector + i), load(x + i), lanes);
    if (const std::size_t rest = cols - i; rest != 0)
      lanes = fma(load_first(vector + i, rest), load_first(x + i, rest), lanes);
    const F32 gate = sigmoid(splat(reduce_tree(lanes)));
    map(c.in[1].as<float>(), c.in[2].as<float>(), c.out[0].as<float>(), t * outputs, (t + 1) * outputs,
        [&](F32 branch, F32 sum) ZRT_UNROLLED { return fma(gate, branch, sum); });
  }
}

template <class L> inline constexpr Kernels<ops::SharedExpert> kKernels<ops::SharedExpert, L>{.rows = &shared_expert};

#endif
