// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/lanes_avx2.hpp: sixteen f32 lanes in two AVX2 registers.
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

#if ZRT_HAS_V3
#include <immintrin.h>

ZRT_FP_BEGIN
ZRT_REGION_BEGIN(ZRT_TARGET_V3)
namespace zrt::inline ZRT_ABI::cpu::v3 {

inline constexpr Isa kIsa = Isa::v3;
inline constexpr std::size_t kVectors = 8;

struct F32x16 {
  __m256 low, high;
};
struct I32x16 {
  __m256i low, high;
};
struct Mask16 {
  __m256 low, high;
};
struct I8x64 {
  __m256i low, high;
};
struct I16x32 {
  __m256i low, high;
};
struct F64x16 {
  __m256d part[4];
};
using F32 = F32x16;
using F64 = F64x16;
using I32 = I32x16;
using Mask = Mask16;

[[nodiscard]] ZRT_ALWAYS_INLINE F32 sealed(F32 x) noexcept {
  __asm__("" : "+x"(x.low), "+x"(x.high));
  return x;
}

[[nodiscard]] ZRT_ALWAYS_INLINE F32 splat(float x) noexcept { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 splat_i32(std::int32_t x) noexcept {
  return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask first_lanes(std::size_t count) noexcept {
  const __m256i wanted = _mm256_set1_epi32(static_cast<int>(count));
  const __m256i low = _mm256_cmpgt_epi32(wanted, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  const __m256i high = _mm256_cmpgt_epi32(wanted, _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15));
  return {_mm256_castsi256_ps(low), _mm256_castsi256_ps(high)};
}

[[nodiscard]] ZRT_ALWAYS_INLINE F32 load(const float* p) noexcept {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_first(const float* p, std::size_t count) noexcept {
  const Mask m = first_lanes(count);
  return {_mm256_maskload_ps(p, _mm256_castps_si256(m.low)),
          count > 8 ? _mm256_maskload_ps(p + 8, _mm256_castps_si256(m.high)) : _mm256_setzero_ps()};
}
ZRT_ALWAYS_INLINE void store(float* p, F32 a) noexcept {
  _mm256_storeu_ps(p, a.low);
  _mm256_storeu_ps(p + 8, a.high);
}
ZRT_ALWAYS_INLINE void store_first(float* p, F32 a, std::size_t count) noexcept {
  const Mask m = first_lanes(count);
  _mm256_maskstore_ps(p, _mm256_castps_si256(m.low), a.low);
  if (count > 8) _mm256_maskstore_ps(p + 8, _mm256_castps_si256(m.high), a.high);
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_f16(const void* p) noexcept {
  const auto* h = static_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_loadu_si128(h)), _mm256_cvtph_ps(_mm_loadu_si128(h + 1))};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_bf16(const void* p) noexcept {
  const auto* h = static_cast<const __m128i*>(p);
  const __m256i low = _mm256_cvtepu16_epi32(_mm_loadu_si128(h));
  const __m256i high = _mm256_cvtepu16_epi32(_mm_loadu_si128(h + 1));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)), _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
}
ZRT_ALWAYS_INLINE void store_f16(void* p, F32 a) noexcept {
  auto* h = static_cast<__m128i*>(p);
  _mm_storeu_si128(h, _mm256_cvtps_ph(a.low, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(h + 1, _mm256_cvtps_ph(a.high, _MM_FROUND_TO_NEAREST_INT));
}
[[nodiscard]] ZRT_ALWAYS_INLINE __m256i bf16_bits(__m256 a) noexcept {
  const __m256i bits = _mm256_castps_si256(a);
  const __m256i upper = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
  const __m256i sum = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(_mm256_srli_epi32(sum, 16), _mm256_or_si256(upper, _mm256_set1_epi32(0x40)), nan);
}
ZRT_ALWAYS_INLINE void store_bf16(void* p, F32 a) noexcept {
  // The pack interleaves the halves of its operands; the permutation puts them in order.
  const __m256i packed = _mm256_packus_epi32(bf16_bits(a.low), bf16_bits(a.high));
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xd8));
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 load_i8(const std::int8_t* p) noexcept {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes))};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 load_i32(const void* p) noexcept {
  const auto* words = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(words), _mm256_loadu_si256(words + 1)};
}
ZRT_ALWAYS_INLINE void store_i32(void* p, I32 a) noexcept {
  auto* words = static_cast<__m256i*>(p);
  _mm256_storeu_si256(words, a.low);
  _mm256_storeu_si256(words + 1, a.high);
}

[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator+(F32 a, F32 b) noexcept {
  return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator-(F32 a, F32 b) noexcept {
  return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator*(F32 a, F32 b) noexcept {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator/(F32 a, F32 b) noexcept {
  return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator-(F32 a) noexcept {
  return {_mm256_xor_ps(a.low, _mm256_set1_ps(-0.0f)), _mm256_xor_ps(a.high, _mm256_set1_ps(-0.0f))};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 fma(F32 a, F32 b, F32 c) noexcept {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 abs(F32 a) noexcept {
  return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.low), _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 sqrt(F32 a) noexcept { return {_mm256_sqrt_ps(a.low), _mm256_sqrt_ps(a.high)}; }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 min(F32 a, F32 b) noexcept {
  return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 max(F32 a, F32 b) noexcept {
  return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 copysign(F32 a, F32 b) noexcept {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_or_ps(_mm256_andnot_ps(sign, a.low), _mm256_and_ps(sign, b.low)),
          _mm256_or_ps(_mm256_andnot_ps(sign, a.high), _mm256_and_ps(sign, b.high))};
}

[[nodiscard]] ZRT_ALWAYS_INLINE Mask less(F32 a, F32 b) noexcept {
  return {_mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask less_equal(F32 a, F32 b) noexcept {
  return {_mm256_cmp_ps(a.low, b.low, _CMP_LE_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_LE_OQ)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask equal(F32 a, F32 b) noexcept {
  return {_mm256_cmp_ps(a.low, b.low, _CMP_EQ_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_EQ_OQ)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask is_nan(F32 a) noexcept {
  return {_mm256_cmp_ps(a.low, a.low, _CMP_UNORD_Q), _mm256_cmp_ps(a.high, a.high, _CMP_UNORD_Q)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask both(Mask a, Mask b) noexcept {
  return {_mm256_and_ps(a.low, b.low), _mm256_and_ps(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask either(Mask a, Mask b) noexcept {
  return {_mm256_or_ps(a.low, b.low), _mm256_or_ps(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask invert(Mask a) noexcept {
  const __m256 ones = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  return {_mm256_xor_ps(a.low, ones), _mm256_xor_ps(a.high, ones)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE bool any(Mask a) noexcept {
  return _mm256_movemask_ps(_mm256_or_ps(a.low, a.high)) != 0;
}
[[nodiscard]] ZRT_ALWAYS_INLINE std::uint32_t lane_bits(Mask a) noexcept {
  return static_cast<std::uint32_t>(_mm256_movemask_ps(a.low) | _mm256_movemask_ps(a.high) << 8);
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 select(Mask m, F32 a, F32 b) noexcept {
  return {_mm256_blendv_ps(b.low, a.low, m.low), _mm256_blendv_ps(b.high, a.high, m.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 each_lane(float (*function)(float) noexcept, F32 x) noexcept {
  float lanes[16];
  store(lanes, x);
  for (float& lane : lanes) lane = function(lane);
  return load(lanes);
}

[[nodiscard]] ZRT_ALWAYS_INLINE I32 as_i32(F32 x) noexcept {
  return {_mm256_castps_si256(x.low), _mm256_castps_si256(x.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 as_f32(I32 x) noexcept {
  return {_mm256_castsi256_ps(x.low), _mm256_castsi256_ps(x.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 iadd(I32 a, I32 b) noexcept {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 imul(I32 a, I32 b) noexcept {
  return {_mm256_mullo_epi32(a.low, b.low), _mm256_mullo_epi32(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 isub(I32 a, I32 b) noexcept {
  return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 iand(I32 a, I32 b) noexcept {
  return {_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 ior(I32 a, I32 b) noexcept {
  return {_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 ixor(I32 a, I32 b) noexcept {
  return {_mm256_xor_si256(a.low, b.low), _mm256_xor_si256(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_left(I32 a, int bits) noexcept {
  return {_mm256_slli_epi32(a.low, bits), _mm256_slli_epi32(a.high, bits)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_right(I32 a, int bits) noexcept {
  return {_mm256_srai_epi32(a.low, bits), _mm256_srai_epi32(a.high, bits)};
}
template <int kBits> [[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_left(I32 a) noexcept { return shift_left(a, kBits); }
template <int kBits> [[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_right(I32 a) noexcept { return shift_right(a, kBits); }
[[nodiscard]] ZRT_ALWAYS_INLINE Mask iequal(I32 a, I32 b) noexcept {
  return {_mm256_castsi256_ps(_mm256_cmpeq_epi32(a.low, b.low)),
          _mm256_castsi256_ps(_mm256_cmpeq_epi32(a.high, b.high))};
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask igreater(I32 a, I32 b) noexcept {
  return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(a.low, b.low)),
          _mm256_castsi256_ps(_mm256_cmpgt_epi32(a.high, b.high))};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 iselect(Mask m, I32 a, I32 b) noexcept {
  return as_i32(select(m, as_f32(a), as_f32(b)));
}

[[nodiscard]] ZRT_ALWAYS_INLINE F32 round_even(F32 x) noexcept {
  return {_mm256_round_ps(x.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
          _mm256_round_ps(x.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 to_i32(F32 x) noexcept {
  return {_mm256_cvtps_epi32(x.low), _mm256_cvtps_epi32(x.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 to_f32(I32 x) noexcept {
  return {_mm256_cvtepi32_ps(x.low), _mm256_cvtepi32_ps(x.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 scale_pow2(F32 x, I32 n) noexcept {
  const I32 first = shift_right<1>(n);
  const I32 second = isub(n, first);
  const I32 bias = splat_i32(127);
  const F32 scaled = x * as_f32(shift_left<23>(iadd(first, bias)));
  return sealed(scaled * as_f32(shift_left<23>(iadd(second, bias))));
}

[[nodiscard]] ZRT_ALWAYS_INLINE float reduce_tree(F32 a) noexcept {
  a = sealed(a);
  const __m256 eight = _mm256_add_ps(a.low, a.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

[[nodiscard]] ZRT_ALWAYS_INLINE F64 load(const double* p) noexcept {
  return {{_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4), _mm256_loadu_pd(p + 8), _mm256_loadu_pd(p + 12)}};
}
[[nodiscard]] ZRT_ALWAYS_INLINE F64 fma(F64 a, F64 b, F64 c) noexcept {
  return {{_mm256_fmadd_pd(a.part[0], b.part[0], c.part[0]), _mm256_fmadd_pd(a.part[1], b.part[1], c.part[1]),
           _mm256_fmadd_pd(a.part[2], b.part[2], c.part[2]), _mm256_fmadd_pd(a.part[3], b.part[3], c.part[3])}};
}
[[nodiscard]] ZRT_ALWAYS_INLINE double reduce_tree(F64 a) noexcept {
  const __m256d four = _mm256_add_pd(_mm256_add_pd(a.part[0], a.part[2]), _mm256_add_pd(a.part[1], a.part[3]));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

[[nodiscard]] ZRT_ALWAYS_INLINE std::int32_t reduce_add(I32 a) noexcept {
  const __m256i eight = _mm256_add_epi32(a.low, a.high);
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}
[[nodiscard]] ZRT_ALWAYS_INLINE std::int32_t reduce_max(I32 a) noexcept {
  const __m256i eight = _mm256_max_epi32(a.low, a.high);
  const __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 load_i8x64(const void* p) noexcept {
  const auto* bytes = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(bytes), _mm256_loadu_si256(bytes + 1)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 splat_i8x4(const void* p) noexcept {
  std::int32_t four = 0;
  std::memcpy(&four, p, 4);
  return {_mm256_set1_epi32(four), _mm256_set1_epi32(four)};
}
// Each 16 bits are the sum of two products of bytes, which saturates: |a| <= 128 and |b| <= 127 give at most 32512.
[[nodiscard]] ZRT_ALWAYS_INLINE I16x32 pair_products_unsigned(I8x64 a, I8x64 b) noexcept {
  return {_mm256_maddubs_epi16(a.low, b.low), _mm256_maddubs_epi16(a.high, b.high)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I16x32 pair_products(I8x64 a, I8x64 b) noexcept {
  return pair_products_unsigned({_mm256_abs_epi8(a.low), _mm256_abs_epi8(a.high)},
                                {_mm256_sign_epi8(b.low, a.low), _mm256_sign_epi8(b.high, a.high)});
}
// Sealed, so that sums stay chains: as trees they take more registers than there are.
[[nodiscard]] ZRT_ALWAYS_INLINE I16x32 add_pairs(I16x32 a, I16x32 b) noexcept {
  I16x32 sum{_mm256_add_epi16(a.low, b.low), _mm256_add_epi16(a.high, b.high)};
  __asm__("" : "+x"(sum.low), "+x"(sum.high));
  return sum;
}
[[nodiscard]] ZRT_ALWAYS_INLINE I16x32 splat_i16(std::int16_t x) noexcept {
  return {_mm256_set1_epi16(x), _mm256_set1_epi16(x)};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I16x32 as_pairs(I32 x) noexcept { return {x.low, x.high}; }
/// Adds a[2i] * b[2i] + a[2i + 1] * b[2i + 1] to lane i.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 add_pair_products(I32 acc, I16x32 a, I16x32 b) noexcept {
  I32 sum{_mm256_add_epi32(acc.low, _mm256_madd_epi16(a.low, b.low)),
          _mm256_add_epi32(acc.high, _mm256_madd_epi16(a.high, b.high))};
  __asm__("" : "+x"(sum.low), "+x"(sum.high));
  return sum;
}
[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 as_bytes(I32 x) noexcept { return {x.low, x.high}; }
/// Adds the products of the 16-bit halves of a and b, both of a lane.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot2(I32 acc, I32 a, I32 b) noexcept {
  return add_pair_products(acc, as_pairs(a), as_pairs(b));
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot4(I32 acc, I8x64 a, I8x64 b) noexcept {
  return add_pair_products(acc, pair_products(a, b), splat_i16(1));
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot4_unsigned(I32 acc, I8x64 a, I8x64 b) noexcept {
  return add_pair_products(acc, pair_products_unsigned(a, b), splat_i16(1));
}

}  // namespace zrt::inline ZRT_ABI::cpu::v3
ZRT_REGION_END
ZRT_FP_END
#endif
