// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/head_columns.hpp: some columns of every head, as they are or as gates.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_HEAD_COLUMNS)
#define ZRT_BACKEND_CPU_OPS_HEAD_COLUMNS

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/head_columns.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::HeadColumns> {
  exec::HostKernel<HostCall<ops::HeadColumns>> heads = nullptr;
};

template <> struct Adapter<ops::HeadColumns> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::HeadColumns>& c,
                             const Kernels<ops::HeadColumns>& k) noexcept {
    return r.push(k.heads, c);
  }
};
static_assert(Records<ops::HeadColumns>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/head_columns.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Heads of all rows are split.
inline void head_columns(const HostCall<ops::HeadColumns>& c, const ExecutionContext& step,
                         const Worker& worker) noexcept {
  const ops::HeadColumnsParams& p = c.params;
  const Range part = split(std::uint64_t{c.in[0].rows(step)} * p.heads, 1, worker);
  for (std::uint64_t head = part.first; head < part.last; ++head) {
    const float* x = c.in[0].as<float>() + head * p.head_dim + p.first;
    float* y = c.out[0].as<float>() + head * p.count;
    if (!c.in[1].present())
      map(x, y, 0, p.count, [](F32 v) ZRT_UNROLLED { return v; });
    else
      map(c.in[1].as<float>() + head * p.count, x, y, 0, p.count,
          [](F32 v, F32 gate) ZRT_UNROLLED { return v * sigmoid(gate); });
  }
}

template <class L> inline constexpr Kernels<ops::HeadColumns> kKernels<ops::HeadColumns, L>{.heads = &head_columns};

#endif
