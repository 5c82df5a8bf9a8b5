// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/largest.hpp: the largest element of a row, and the first that meets a condition.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_LARGEST)
#define ZRT_BACKEND_CPU_KERNELS_LARGEST

#include <zrt/backend/cpu/kernels/map.hpp>

#include <bit>
#include <cstdint>
#include <limits>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/largest.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// The bits of floats as integers that go as the floats do, NaN apart, and back: the magnitude bits of negative
/// numbers are flipped.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 ordered(I32 bits) noexcept {
  return ixor(bits, iand(shift_right<31>(bits), splat_i32(0x7fffffff)));
}
/// The largest lane of a vector without NaN.
[[nodiscard]] ZRT_ALWAYS_INLINE float largest_lane(F32 a) noexcept {
  const std::int32_t top = reduce_max(ordered(as_i32(a)));
  return std::bit_cast<float>(top < 0 ? top ^ 0x7fffffff : top);
}
/// The first i in first..last-1 where the mask f(x[i]) is true; `last` if there is none.
template <class F>
[[nodiscard]] ZRT_ALWAYS_INLINE std::uint32_t first_where(const float* x, std::uint32_t first, std::uint32_t last,
                                                          F&& f) noexcept {
  for (std::uint32_t i = first; i < last; i += 16) {
    const std::uint32_t rest = last - i;
    const std::uint32_t found =
        rest >= 16 ? lane_bits(f(load(x + i))) : lane_bits(both(f(load_first(x + i, rest)), first_lanes(rest)));
    if (found != 0) return i + static_cast<std::uint32_t>(std::countr_zero(found));
  }
  return last;
}
/// The largest of n elements, NaN left out; -infinity if there are none.
[[nodiscard]] inline float largest_of(const float* x, std::uint64_t n) noexcept {
  const F32 lowest = splat(-std::numeric_limits<float>::infinity());
  F32 top[4] = {lowest, lowest, lowest, lowest};
  std::uint64_t i = 0;
  for (; i + 64 <= n; i += 64)
    ZRT_UNROLL (j, 4) top[j] = max(load(x + i + 16 * j), top[j]);
  for (; i + 16 <= n; i += 16) top[0] = max(load(x + i), top[0]);
  const std::size_t rest = static_cast<std::size_t>(n - i);
  if (rest != 0) top[1] = max(select(first_lanes(rest), load_first(x + i, rest), lowest), top[1]);
  return largest_lane(max(max(top[0], top[1]), max(top[2], top[3])));
}
/// The smallest index of the largest element; 0 if all are NaN.
[[nodiscard]] inline std::int32_t index_of_largest(const float* x, std::uint32_t n) noexcept {
  const F32 top = splat(largest_of(x, n));
  const std::uint32_t at = first_where(x, 0, n, [&](F32 v) ZRT_UNROLLED { return equal(v, top); });
  return at == n ? 0 : static_cast<std::int32_t>(at);
}

#endif
