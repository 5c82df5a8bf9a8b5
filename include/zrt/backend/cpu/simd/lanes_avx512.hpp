// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/lanes_avx512.hpp: sixteen f32 lanes in one AVX-512 register.
//
// The meaning of each operation stands in simd/lanes_portable.inc.hpp.
#pragma once

#include <zrt/backend/cpu/simd/isa.hpp>
#include <zrt/backend/cpu/simd/region.hpp>
#include <zrt/core/half.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if ZRT_HAS_V4
#include <immintrin.h>

ZRT_FP_BEGIN
ZRT_REGION_BEGIN(ZRT_TARGET_V4)
namespace zrt::inline ZRT_ABI::cpu::v4 {

inline constexpr Isa kIsa = Isa::v4;
inline constexpr std::size_t kVectors = 32;

// GCC's intrinsics pass a register that they leave undefined on purpose, and without optimisation
// those with an immediate are macros whose casts warn here.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

struct F32x16 {
  __m512 v;
};
struct I32x16 {
  __m512i v;
};
struct Mask16 {
  __mmask16 m;
};
struct I8x64 {
  __m512i v;
};
struct F64x16 {
  __m512d low, high;
};
using F32 = F32x16;
using F64 = F64x16;
using I32 = I32x16;
using Mask = Mask16;

[[nodiscard]] ZRT_ALWAYS_INLINE F32 sealed(F32 x) noexcept {
  __asm__("" : "+v"(x.v));
  return x;
}

[[nodiscard]] ZRT_ALWAYS_INLINE I32 sealed(I32 x) noexcept {
  __asm__("" : "+v"(x.v));
  return x;
}

[[nodiscard]] ZRT_ALWAYS_INLINE F32 splat(float x) noexcept { return {_mm512_set1_ps(x)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 splat_i32(std::int32_t x) noexcept { return {_mm512_set1_epi32(x)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE Mask first_lanes(std::size_t count) noexcept {
  return {static_cast<__mmask16>((1u << count) - 1u)};
}

[[nodiscard]] ZRT_ALWAYS_INLINE F32 load(const float* p) noexcept { return {_mm512_loadu_ps(p)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_first(const float* p, std::size_t count) noexcept {
  return {_mm512_maskz_loadu_ps(first_lanes(count).m, p)};
}
ZRT_ALWAYS_INLINE void store(float* p, F32 a) noexcept { _mm512_storeu_ps(p, a.v); }
ZRT_ALWAYS_INLINE void store_first(float* p, F32 a, std::size_t count) noexcept {
  _mm512_mask_storeu_ps(p, first_lanes(count).m, a.v);
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_f16(const void* p) noexcept {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_bf16(const void* p) noexcept {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
ZRT_ALWAYS_INLINE void store_f16(void* p, F32 a) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
// Not the instruction of AVX512_BF16, which flushes denormals.
ZRT_ALWAYS_INLINE void store_bf16(void* p, F32 a) noexcept {
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i upper = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  const __m512i rounded = _mm512_mask_or_epi32(_mm512_srli_epi32(sum, 16), nan, upper, _mm512_set1_epi32(0x40));
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi32_epi16(rounded));
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 load_i8(const std::int8_t* p) noexcept {
  return {_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 load_i32(const void* p) noexcept { return {_mm512_loadu_si512(p)}; }
ZRT_ALWAYS_INLINE void store_i32(void* p, I32 a) noexcept { _mm512_storeu_si512(p, a.v); }

[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator+(F32 a, F32 b) noexcept { return {_mm512_add_ps(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator-(F32 a, F32 b) noexcept { return {_mm512_sub_ps(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator*(F32 a, F32 b) noexcept { return {_mm512_mul_ps(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator/(F32 a, F32 b) noexcept { return {_mm512_div_ps(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator-(F32 a) noexcept { return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0f))}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 fma(F32 a, F32 b, F32 c) noexcept { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 abs(F32 a) noexcept { return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 sqrt(F32 a) noexcept { return {_mm512_sqrt_ps(a.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 min(F32 a, F32 b) noexcept { return {_mm512_min_ps(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 max(F32 a, F32 b) noexcept { return {_mm512_max_ps(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 copysign(F32 a, F32 b) noexcept {
  const __m512 sign = _mm512_set1_ps(-0.0f);
  return {_mm512_or_ps(_mm512_andnot_ps(sign, a.v), _mm512_and_ps(sign, b.v))};
}

[[nodiscard]] ZRT_ALWAYS_INLINE Mask less(F32 a, F32 b) noexcept { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE Mask less_equal(F32 a, F32 b) noexcept {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask equal(F32 a, F32 b) noexcept { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE Mask is_nan(F32 a) noexcept { return {_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE Mask both(Mask a, Mask b) noexcept { return {static_cast<__mmask16>(a.m & b.m)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE Mask either(Mask a, Mask b) noexcept { return {static_cast<__mmask16>(a.m | b.m)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE Mask invert(Mask a) noexcept { return {static_cast<__mmask16>(~a.m)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE bool any(Mask a) noexcept { return a.m != 0; }
[[nodiscard]] ZRT_ALWAYS_INLINE std::uint32_t lane_bits(Mask a) noexcept { return a.m; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 select(Mask m, F32 a, F32 b) noexcept {
  return {_mm512_mask_blend_ps(m.m, b.v, a.v)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 each_lane(float (*function)(float) noexcept, F32 x) noexcept {
  float lanes[16];
  store(lanes, x);
  for (float& lane : lanes) lane = function(lane);
  return load(lanes);
}

[[nodiscard]] ZRT_ALWAYS_INLINE I32 as_i32(F32 x) noexcept { return {_mm512_castps_si512(x.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 as_f32(I32 x) noexcept { return {_mm512_castsi512_ps(x.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 iadd(I32 a, I32 b) noexcept { return {_mm512_add_epi32(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 imul(I32 a, I32 b) noexcept { return {_mm512_mullo_epi32(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 isub(I32 a, I32 b) noexcept { return {_mm512_sub_epi32(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 iand(I32 a, I32 b) noexcept { return {_mm512_and_si512(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 ior(I32 a, I32 b) noexcept { return {_mm512_or_si512(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 ixor(I32 a, I32 b) noexcept { return {_mm512_xor_si512(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_left(I32 a, int bits) noexcept {
  return {_mm512_slli_epi32(a.v, static_cast<unsigned>(bits))};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_right(I32 a, int bits) noexcept {
  return {_mm512_srai_epi32(a.v, static_cast<unsigned>(bits))};
}
template <int kBits> [[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_left(I32 a) noexcept { return shift_left(a, kBits); }
template <int kBits> [[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_right(I32 a) noexcept { return shift_right(a, kBits); }
[[nodiscard]] ZRT_ALWAYS_INLINE Mask iequal(I32 a, I32 b) noexcept { return {_mm512_cmpeq_epi32_mask(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE Mask igreater(I32 a, I32 b) noexcept { return {_mm512_cmpgt_epi32_mask(a.v, b.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 iselect(Mask m, I32 a, I32 b) noexcept {
  return {_mm512_mask_blend_epi32(m.m, b.v, a.v)};
}

[[nodiscard]] ZRT_ALWAYS_INLINE F32 round_even(F32 x) noexcept {
  return {_mm512_roundscale_ps(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 to_i32(F32 x) noexcept { return {_mm512_cvtps_epi32(x.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 to_f32(I32 x) noexcept { return {_mm512_cvtepi32_ps(x.v)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 scale_pow2(F32 x, I32 n) noexcept {
  return {_mm512_scalef_ps(x.v, _mm512_cvtepi32_ps(n.v))};
}

[[nodiscard]] ZRT_ALWAYS_INLINE float reduce_tree(F32 a) noexcept {
  a = sealed(a);
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

[[nodiscard]] ZRT_ALWAYS_INLINE F64 load(const double* p) noexcept {
  return {_mm512_loadu_pd(p), _mm512_loadu_pd(p + 8)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F64 fma(F64 a, F64 b, F64 c) noexcept {
  return {_mm512_fmadd_pd(a.low, b.low, c.low), _mm512_fmadd_pd(a.high, b.high, c.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE double reduce_tree(F64 a) noexcept {
  const __m512d eight = _mm512_add_pd(a.low, a.high);
  const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

[[nodiscard]] ZRT_ALWAYS_INLINE std::int32_t reduce_add(I32 a) noexcept {
  const __m256i eight = _mm256_add_epi32(_mm512_castsi512_si256(a.v), _mm512_extracti32x8_epi32(a.v, 1));
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
[[nodiscard]] ZRT_ALWAYS_INLINE std::int32_t reduce_max(I32 a) noexcept {
  const __m256i eight = _mm256_max_epi32(_mm512_castsi512_si256(a.v), _mm512_extracti32x8_epi32(a.v, 1));
  const __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 load_i8x64(const void* p) noexcept { return {_mm512_loadu_si512(p)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 splat_i8x4(const void* p) noexcept {
  std::int32_t four = 0;
  std::memcpy(&four, p, 4);
  return {_mm512_set1_epi32(four)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 as_bytes(I32 x) noexcept { return {x.v}; }
/// Adds the products of the 16-bit halves of a and b, both of a lane.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot2(I32 acc, I32 a, I32 b) noexcept {
  return {_mm512_dpwssd_epi32(acc.v, a.v, b.v)};
}
// The instruction multiplies unsigned by signed bytes and sums four products in 32 bits without
// saturation, so signed operands go in as |a| and b with the sign of a.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot4_unsigned(I32 acc, I8x64 a, I8x64 b) noexcept {
  return {_mm512_dpbusd_epi32(acc.v, a.v, b.v)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot4(I32 acc, I8x64 a, I8x64 b) noexcept {
  const __m512i turned = _mm512_mask_sub_epi8(b.v, _mm512_movepi8_mask(a.v), _mm512_setzero_si512(), b.v);
  return {_mm512_dpbusd_epi32(acc.v, _mm512_abs_epi8(a.v), turned)};
}
#pragma GCC diagnostic pop

}  // namespace zrt::inline ZRT_ABI::cpu::v4
ZRT_REGION_END
ZRT_FP_END
#endif
