// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/shuffles_portable.inc.hpp: textual fragment: lane movements that the kernels need beyond simd/, in plain C++, and their meaning.

/// Lane 2i and 2i+1 get lane 2i.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 even_twice(F32 a) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return a.lane[i & ~std::size_t{1}]; });
}
/// Lane 2i and 2i+1 get lane 2i+1.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 odd_twice(F32 a) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return a.lane[i | 1]; });
}
/// Stores 16 integers within -128..127 as bytes.
ZRT_ALWAYS_INLINE void store_i8(std::int8_t* p, I32 a) noexcept {
  for (std::size_t i = 0; i < 16; ++i) p[i] = static_cast<std::int8_t>(a.lane[i]);
}
/// Lanes 0..7 of `a`, then lanes 0..7 of `b`.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 first_halves(I32 a, I32 b) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return i < 8 ? a.lane[i] : b.lane[i - 8]; });
}
/// Lanes 8..15 of `a`, then lanes 8..15 of `b`.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 second_halves(I32 a, I32 b) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return i < 8 ? a.lane[i + 8] : b.lane[i]; });
}
/// Lane i gets lane kFrom + i / kTimes; the lanes read lie in one half of `a`.
template <int kFrom, int kTimes> [[nodiscard]] ZRT_ALWAYS_INLINE I32 spread(I32 a) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return a.lane[kFrom + i / kTimes]; });
}
/// Widens the eight bytes of `low`, the least significant first, then those of `high`, as unsigned.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 widen_u8(std::uint64_t low, std::uint64_t high) noexcept {
  return from_lanes<I32>(
      [&](std::size_t i) { return static_cast<std::int32_t>((i < 8 ? low : high) >> (i % 8 * 8) & 255u); });
}
/// reduce_tree of eight sums.
ZRT_ALWAYS_INLINE void reduce_eight(const F32* sum, float* out) noexcept {
  for (std::size_t i = 0; i < 8; ++i) out[i] = reduce_tree(sum[i]);
}
