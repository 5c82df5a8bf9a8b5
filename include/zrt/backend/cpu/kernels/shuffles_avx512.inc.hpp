// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/shuffles_avx512.inc.hpp: textual fragment: lane movements that the kernels need beyond simd/, for AVX-512.
//
// The meaning of each operation stands in kernels/shuffles_portable.inc.hpp.

// As in simd/lanes_avx512.inc.hpp.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

[[nodiscard]] ZRT_ALWAYS_INLINE F32 even_twice(F32 a) noexcept { return {_mm512_moveldup_ps(a.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 odd_twice(F32 a) noexcept { return {_mm512_movehdup_ps(a.v)}; }
ZRT_ALWAYS_INLINE void store_i8(std::int8_t* p, I32 a) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}
/// Lanes 0..7 from `low`, lanes 8..15 from `high`.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 join(__m256i low, __m256i high) noexcept {
  return {_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1)};
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
