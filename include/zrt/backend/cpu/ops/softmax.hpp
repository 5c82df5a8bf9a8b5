// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/softmax.hpp: normalised exponentials.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_SOFTMAX)
#define ZRT_BACKEND_CPU_OPS_SOFTMAX

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/softmax_row.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/softmax.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::Softmax> {
  exec::HostKernel<HostCall<ops::Softmax>> rows = nullptr;
};

template <> struct Adapter<ops::Softmax> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Softmax>& c, const Kernels<ops::Softmax>& k) noexcept {
    return r.push(k.rows, c);
  }
};
static_assert(Records<ops::Softmax>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/softmax.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Rows are split.
inline void softmax(const HostCall<ops::Softmax>& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t cols = c.in[0].cols(step);
  const Range part = split(c.in[0].rows(step), 1, worker);
  for (std::uint64_t row = part.first; row < part.last; ++row) {
    softmax_row(c.in[0].as<float>() + row * cols, c.out[0].as<float>() + row * cols, cols);
  }
}

template <> inline constexpr Kernels<ops::Softmax> kKernels<ops::Softmax>{.rows = &softmax};

#endif
