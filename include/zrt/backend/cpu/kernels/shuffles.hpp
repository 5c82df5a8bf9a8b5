// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/shuffles.hpp: lane movements that the kernels need beyond simd/; their meaning stands with those in plain C++.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_SHUFFLES)
#define ZRT_BACKEND_CPU_KERNELS_SHUFFLES

#include <zrt/backend/cpu/kernels/map.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/shuffles.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

#if ZRT_VARIANT <= 2

/// Lane 2i and 2i+1 get lane 2i.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 even_twice(F32 a) noexcept {
  return from_parts<F32>([&](std::size_t i)
                             ZRT_UNROLLED { return __builtin_shufflevector(a.part[i], a.part[i], 0, 0, 2, 2); });
}
/// Lane 2i and 2i+1 get lane 2i+1.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 odd_twice(F32 a) noexcept {
  return from_parts<F32>([&](std::size_t i)
                             ZRT_UNROLLED { return __builtin_shufflevector(a.part[i], a.part[i], 1, 1, 3, 3); });
}
/// The even lanes of `a`, then those of `b`.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 even_lanes(F32 a, F32 b) noexcept {
  const auto pair = [&](F32x4 x, F32x4 y) ZRT_UNROLLED { return __builtin_shufflevector(x, y, 0, 2, 4, 6); };
  return {
      {pair(a.part[0], a.part[1]), pair(a.part[2], a.part[3]), pair(b.part[0], b.part[1]), pair(b.part[2], b.part[3])}};
}
/// Stores 16 integers within -128..127 as bytes.
ZRT_ALWAYS_INLINE void store_i8(std::int8_t* p, I32 a) noexcept {
  const Lanes<I32> lanes = to_lanes(a);
  for (std::size_t i = 0; i < 16; ++i) p[i] = static_cast<std::int8_t>(lanes.lane[i]);
}
/// Lanes 0..7 of `a`, then lanes 0..7 of `b`.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 first_halves(I32 a, I32 b) noexcept {
  return {{a.part[0], a.part[1], b.part[0], b.part[1]}};
}
/// Lanes 8..15 of `a`, then lanes 8..15 of `b`.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 second_halves(I32 a, I32 b) noexcept {
  return {{a.part[2], a.part[3], b.part[2], b.part[3]}};
}
/// Lane i gets lane kFrom + i / kTimes; the lanes read lie in one half of `a`.
template <int kFrom, int kTimes> [[nodiscard]] ZRT_ALWAYS_INLINE I32 spread(I32 a) noexcept {
  const Lanes<I32> lanes = to_lanes(a);
  return from_lanes<I32>([&](std::size_t i) { return lanes.lane[kFrom + i / kTimes]; });
}
/// Widens the eight bytes of `low`, the least significant first, then those of `high`, as unsigned.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 widen_u8(std::uint64_t low, std::uint64_t high) noexcept {
  return from_lanes<I32>(
      [&](std::size_t i) { return static_cast<std::int32_t>((i < 8 ? low : high) >> (i % 8 * 8) & 255u); });
}
/// Byte `codes` of sixteen levels, for each of 64 codes below 16.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 look_up(const std::int8_t* levels, I32 codes) noexcept {
  std::uint8_t bytes[64];
  store_i32(bytes, codes);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(levels[byte]);
  return load_i32(bytes);
}
/// reduce_tree of eight sums.
ZRT_ALWAYS_INLINE void reduce_eight(const F32* sum, float* out) noexcept {
  for (std::size_t i = 0; i < 8; ++i) out[i] = reduce_tree(sum[i]);
}

#elif ZRT_VARIANT == 3

[[nodiscard]] ZRT_ALWAYS_INLINE F32 even_twice(F32 a) noexcept {
  return {_mm256_moveldup_ps(a.low), _mm256_moveldup_ps(a.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 odd_twice(F32 a) noexcept {
  return {_mm256_movehdup_ps(a.low), _mm256_movehdup_ps(a.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 even_lanes(F32 a, F32 b) noexcept {
  // The shuffle works within halves of a register; the permutation restores the order.
  const __m256d low = _mm256_castps_pd(_mm256_shuffle_ps(a.low, a.high, 0x88));
  const __m256d high = _mm256_castps_pd(_mm256_shuffle_ps(b.low, b.high, 0x88));
  return {_mm256_castpd_ps(_mm256_permute4x64_pd(low, 0xd8)), _mm256_castpd_ps(_mm256_permute4x64_pd(high, 0xd8))};
}
ZRT_ALWAYS_INLINE void store_i8(std::int8_t* p, I32 a) noexcept {
  // The packs work within halves of a register; the permutation restores the order.
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.low, a.high), 0xd8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 first_halves(I32 a, I32 b) noexcept { return {a.low, b.low}; }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 second_halves(I32 a, I32 b) noexcept { return {a.high, b.high}; }
template <int kFrom, int kTimes> [[nodiscard]] ZRT_ALWAYS_INLINE I32 spread(I32 a) noexcept {
  constexpr int kAt = kFrom % 8;
  constexpr int kNext = kAt + 8 / kTimes;
  constexpr int kMiddle = 4 / kTimes;
  const __m256i half = kFrom < 8 ? a.low : a.high;
  const __m256i index = _mm256_setr_epi32(0, 0, 0, 0, kMiddle, kMiddle, kMiddle, kMiddle);
  return {_mm256_permutevar8x32_epi32(half, _mm256_add_epi32(index, _mm256_set1_epi32(kAt))),
          _mm256_permutevar8x32_epi32(half, _mm256_add_epi32(index, _mm256_set1_epi32(kNext)))};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 widen_u8(std::uint64_t low, std::uint64_t high) noexcept {
  return {_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<std::int64_t>(low))),
          _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<std::int64_t>(high)))};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 look_up(const std::int8_t* levels, I32 codes) noexcept {
  const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(levels)));
  return {_mm256_shuffle_epi8(table, codes.low), _mm256_shuffle_epi8(table, codes.high)};
}
ZRT_ALWAYS_INLINE void reduce_eight(const F32* sum, float* out) noexcept {
  for (std::size_t i = 0; i < 8; ++i) out[i] = reduce_tree(sum[i]);
}

#elif ZRT_VARIANT == 4

// As in simd/lanes_avx512.hpp.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

[[nodiscard]] ZRT_ALWAYS_INLINE F32 even_twice(F32 a) noexcept { return {_mm512_moveldup_ps(a.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 odd_twice(F32 a) noexcept { return {_mm512_movehdup_ps(a.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 even_lanes(F32 a, F32 b) noexcept {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return {_mm512_permutex2var_ps(a.v, even, b.v)};
}
ZRT_ALWAYS_INLINE void store_i8(std::int8_t* p, I32 a) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 first_halves(I32 a, I32 b) noexcept {
  return {_mm512_shuffle_i64x2(a.v, b.v, 0x44)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 second_halves(I32 a, I32 b) noexcept {
  return {_mm512_shuffle_i64x2(a.v, b.v, 0xee)};
}
template <int kFrom, int kTimes> [[nodiscard]] ZRT_ALWAYS_INLINE I32 spread(I32 a) noexcept {
  constexpr int kStep = 4 / kTimes == 0 ? 0 : 1;
  constexpr int kA = kFrom, kB = kFrom + kStep, kC = kFrom + 8 / kTimes, kD = kC + kStep;
  const __m512i index = _mm512_setr_epi32(kA, kA, kA, kA, kB, kB, kB, kB, kC, kC, kC, kC, kD, kD, kD, kD);
  return {_mm512_permutexvar_epi32(index, a.v)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 widen_u8(std::uint64_t low, std::uint64_t high) noexcept {
  const __m128i bytes = _mm_set_epi64x(static_cast<std::int64_t>(high), static_cast<std::int64_t>(low));
  return {_mm512_cvtepu8_epi32(bytes)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 look_up(const std::int8_t* levels, I32 codes) noexcept {
  const __m512i table = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(levels)));
  return {_mm512_shuffle_epi8(table, codes.v)};
}
/// reduce_tree of eight sums at once, in three times as many instructions as there are sums.
ZRT_ALWAYS_INLINE void reduce_eight(const F32* sum, float* out) noexcept {
  // Lanes j and j + 8 of two sums, then j and j + 4 of four.
  const auto eighths = [&](std::size_t i) ZRT_UNROLLED {
    const __m512 a = sealed(sum[i]).v;
    const __m512 b = sealed(sum[i + 1]).v;
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  };
  const auto quarters = [&](std::size_t i) ZRT_UNROLLED {
    const __m512 a = eighths(i);
    const __m512 b = eighths(i + 2);
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  };
  // Quarter i belongs to sum i in the first, to sum i + 4 in the second.
  const __m512 low = quarters(0);
  const __m512 high = quarters(4);
  const __m512 two = _mm512_add_ps(_mm512_shuffle_ps(low, high, 0x44), _mm512_shuffle_ps(low, high, 0xee));
  const __m512 one = _mm512_add_ps(two, _mm512_movehdup_ps(two));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0);
  _mm256_storeu_ps(out, _mm512_castps512_ps256(_mm512_permutexvar_ps(order, one)));
}

#pragma GCC diagnostic pop

#endif

#endif
