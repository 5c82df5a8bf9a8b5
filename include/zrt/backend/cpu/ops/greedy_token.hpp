// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/greedy_token.hpp: the most likely token of each row.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_GREEDY_TOKEN)
#define ZRT_BACKEND_CPU_OPS_GREEDY_TOKEN

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/largest.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/greedy_token.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::GreedyToken> {
  exec::HostKernel<HostCall<ops::GreedyToken>> rows = nullptr;
};

template <> struct Adapter<ops::GreedyToken> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::GreedyToken>& c,
                             const Kernels<ops::GreedyToken>& k) noexcept {
    return r.push(k.rows, c);
  }
};
static_assert(Records<ops::GreedyToken>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/greedy_token.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Rows are split.
inline void greedy_token(const HostCall<ops::GreedyToken>& c, const ExecutionContext& step,
                         const Worker& worker) noexcept {
  const std::uint32_t cols = c.in[0].cols(step);
  const Range part = split(c.in[0].rows(step), 1, worker);
  for (std::uint64_t row = part.first; row < part.last; ++row)
    c.out[0].as<std::int32_t>()[row] = index_of_largest(c.in[0].as<float>() + row * cols, cols);
}

template <> inline constexpr Kernels<ops::GreedyToken> kKernels<ops::GreedyToken>{.rows = &greedy_token};

#endif
