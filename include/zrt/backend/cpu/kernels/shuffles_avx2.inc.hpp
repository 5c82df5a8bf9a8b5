// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/shuffles_avx2.inc.hpp: textual fragment: lane movements that the kernels need beyond simd/, for AVX2.
//
// The meaning of each operation stands in kernels/shuffles_portable.inc.hpp.

[[nodiscard]] ZRT_ALWAYS_INLINE F32 even_twice(F32 a) noexcept {
  return {_mm256_moveldup_ps(a.low), _mm256_moveldup_ps(a.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 odd_twice(F32 a) noexcept {
  return {_mm256_movehdup_ps(a.low), _mm256_movehdup_ps(a.high)};
}
ZRT_ALWAYS_INLINE void store_i8(std::int8_t* p, I32 a) noexcept {
  // The packs work within halves of a register; the permutation restores the order.
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.low, a.high), 0xd8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}
/// Lanes 0..7 from `low`, lanes 8..15 from `high`.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 join(__m256i low, __m256i high) noexcept { return {low, high}; }
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
/// reduce_tree of eight sums.
ZRT_ALWAYS_INLINE void reduce_eight(const F32* sum, float* out) noexcept {
  for (std::size_t i = 0; i < 8; ++i) out[i] = reduce_tree(sum[i]);
}
