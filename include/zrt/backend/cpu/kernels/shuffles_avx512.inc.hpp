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

#pragma GCC diagnostic pop
