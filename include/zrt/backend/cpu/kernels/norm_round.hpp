// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/norm_round.hpp: the first stage of the ops that project a normed row: norm, and rounding if a projection wants it.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_NORM_ROUND)
#define ZRT_BACKEND_CPU_KERNELS_NORM_ROUND

#include <zrt/backend/cpu/kernels/norm.hpp>
#include <zrt/backend/cpu/kernels/round.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

struct NormRoundArgs {
  HostTensor x{};
  const float* weight = nullptr;
  ops::RmsNormParams norm{};
  RoundedForms forms{};
};

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/norm_round.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Norms rows into the scratch and rounds them if a projection wants it; rows are split.
inline void norm_round_rows(const NormRoundArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t cols = a.x.cols(step);
  const RowScratch to = normed_scratch(worker.scratch.data(), rows, cols);
  const Range part = split(rows, 1, worker);
  for (std::uint64_t t = part.first; t < part.last; ++t) {
    for (std::uint32_t i = 0; i < cols; i += a.norm.dim)
      norm_run(a.norm, a.x.as<float>() + t * cols + i, a.weight, to.normed + t * cols + i);
    if (a.forms.narrow) round_groups(to.normed, t * (cols / kGroup), (t + 1) * (cols / kGroup), to);
    if (a.forms.wide) round_wide_groups(to.normed, t * (cols / kWideGroup), (t + 1) * (cols / kWideGroup), to);
  }
}

#endif
