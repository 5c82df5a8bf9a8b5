// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/round.hpp: activations rounded to 8 bits per group, and their sums.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_ROUND)
#define ZRT_BACKEND_CPU_KERNELS_ROUND

#include <zrt/backend/cpu/kernels/shuffles.hpp>
#include <zrt/backend/cpu/scratch.hpp>
#include <zrt/backend/cpu/split.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

struct RoundArgs {
  HostTensor x{};
  RoundedForms forms{};
};

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/round.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Rounds one group as quant::round_group does and sums its integers and those of its halves.
ZRT_ALWAYS_INLINE void round_one_group(const float* x, std::int8_t* q, float& d, std::int32_t& sum,
                                       std::int32_t* halves) noexcept {
  const F32 low = load(x);
  const F32 high = load(x + 16);
  const I32 magnitude = splat_i32(0x7fffffff);
  const I32 a = iand(as_i32(low), magnitude);
  const I32 b = iand(as_i32(high), magnitude);
  const std::int32_t largest = reduce_max(iselect(igreater(a, b), a, b));
  const float inverse = 127.0f / std::bit_cast<float>(largest);
  const bool finite = largest < 0x7f800000;
  if (!finite || std::bit_cast<std::uint32_t>(inverse) >= 0x7f800000u) {
    store_i8(q, splat_i32(0));
    store_i8(q + 16, splat_i32(0));
    d = finite ? 0.0f : std::bit_cast<float>(0x7fc00000);
    sum = halves[0] = halves[1] = 0;
    return;
  }
  // No bound is needed: a product is at most 127 · (1 + 2^-23), which rounds to 127.
  const I32 first = to_i32(low * splat(inverse));
  const I32 second = to_i32(high * splat(inverse));
  store_i8(q, first);
  store_i8(q + 16, second);
  d = std::bit_cast<float>(largest) / 127.0f;
  halves[0] = reduce_add(first);
  halves[1] = reduce_add(second);
  sum = halves[0] + halves[1];
}

/// Rounds groups first..last-1 of consecutive rows of whole groups.
inline void round_groups(const float* x, std::uint64_t first, std::uint64_t last, const RowScratch& to) noexcept {
  for (std::uint64_t g = first; g < last; ++g)
    round_one_group(x + g * kGroup, to.q + g * kGroup, to.d[g], to.sum[g], to.half_sum + 2 * g);
}

/// Rounds one wide group as quant::round_group does and sums its integers by 32 and by 16.
inline void round_one_wide_group(const float* x, std::int8_t* q, float& d, std::int32_t* sums,
                                 std::int32_t* halves) noexcept {
  const I32 magnitude = splat_i32(0x7fffffff);
  I32 most = splat_i32(0);
  for (std::size_t i = 0; i < kWideGroup; i += 16) {
    const I32 a = iand(as_i32(load(x + i)), magnitude);
    most = iselect(igreater(a, most), a, most);
  }
  const std::int32_t largest = reduce_max(most);
  const float inverse = 127.0f / std::bit_cast<float>(largest);
  const bool finite = largest < 0x7f800000;
  const bool zero = !finite || std::bit_cast<std::uint32_t>(inverse) >= 0x7f800000u;
  for (std::size_t i = 0; i < kWideGroup; i += kGroup) {
    const I32 first = zero ? splat_i32(0) : to_i32(load(x + i) * splat(inverse));
    const I32 second = zero ? splat_i32(0) : to_i32(load(x + i + 16) * splat(inverse));
    store_i8(q + i, first);
    store_i8(q + i + 16, second);
    halves[i / 16] = reduce_add(first);
    halves[i / 16 + 1] = reduce_add(second);
    sums[i / kGroup] = halves[i / 16] + halves[i / 16 + 1];
  }
  d = !zero ? std::bit_cast<float>(largest) / 127.0f : finite ? 0.0f : std::bit_cast<float>(0x7fc00000);
}

/// Rounds wide groups first..last-1 of consecutive rows of whole groups.
inline void round_wide_groups(const float* x, std::uint64_t first, std::uint64_t last, const RowScratch& to) noexcept {
  for (std::uint64_t g = first; g < last; ++g)
    round_one_wide_group(x + g * kWideGroup, to.wide_q + g * kWideGroup, to.wide_d[g],
                         to.wide_sum + g * (kWideGroup / kGroup), to.wide_half_sum + g * (kWideGroup / 16));
}

/// Rounds all rows into the scratch; groups are split.
inline void round_rows(const RoundArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t cols = a.x.cols(step);
  const RowScratch to = rounded_scratch(worker.scratch.data(), rows, cols);
  if (a.forms.narrow) {
    const Range part = split(std::uint64_t{rows} * (cols / kGroup), 16, worker);
    round_groups(a.x.as<float>(), part.first, part.last, to);
  }
  if (a.forms.wide) {
    const Range part = split(std::uint64_t{rows} * (cols / kWideGroup), 2, worker);
    round_wide_groups(a.x.as<float>(), part.first, part.last, to);
  }
}

#endif
