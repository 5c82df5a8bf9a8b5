// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/lanes_portable.hpp: sixteen f32 lanes in plain C++, and the meaning of every lane operation.
#pragma once

#include <zrt/backend/cpu/simd/isa.hpp>
#include <zrt/backend/cpu/simd/region.hpp>
#include <zrt/core/elementary_ops.hpp>
#include <zrt/core/half.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if ZRT_HAS_V1
ZRT_FP_BEGIN
ZRT_PORTABLE_BEGIN
namespace zrt::inline ZRT_ABI::cpu::v1 {

inline constexpr Isa kIsa = Isa::v1;

/// Sixteen f32.
struct F32x16 {
  float lane[16];
};
/// Sixteen int32, which wrap.
struct I32x16 {
  std::int32_t lane[16];
};
/// Sixteen truth values.
struct Mask16 {
  bool lane[16];
};
/// Sixty-four int8; byte i belongs to int32 lane i / 4.
struct I8x64 {
  std::int8_t lane[64];
};
using F32 = F32x16;
using I32 = I32x16;
using Mask = Mask16;

template <class R, class F> [[nodiscard]] ZRT_ALWAYS_INLINE R from_lanes(F f) noexcept {
  R r;
  for (std::size_t i = 0; i < 16; ++i) r.lane[i] = f(i);
  return r;
}

/// Keeps the compiler from fusing the operation that made `x` with one that uses it.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 sealed(F32 x) noexcept {
  __asm__("" : "+m"(x));
  return x;
}

[[nodiscard]] ZRT_ALWAYS_INLINE F32 splat(float x) noexcept {
  return from_lanes<F32>([&](std::size_t) { return x; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 splat_i32(std::int32_t x) noexcept {
  return from_lanes<I32>([&](std::size_t) { return x; });
}

// Memory need not be aligned. The `first` forms touch `count` elements, 0..16, and fill with zeros.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load(const float* p) noexcept {
  F32 r;
  std::memcpy(r.lane, p, sizeof r.lane);
  return r;
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_first(const float* p, std::size_t count) noexcept {
  F32 r{};
  for (std::size_t i = 0; i < count; ++i) r.lane[i] = p[i];
  return r;
}
ZRT_ALWAYS_INLINE void store(float* p, F32 a) noexcept { std::memcpy(p, a.lane, sizeof a.lane); }
ZRT_ALWAYS_INLINE void store_first(float* p, F32 a, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) p[i] = a.lane[i];
}
/// Widens 16 f16 exactly.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_f16(const void* p) noexcept {
  Half h[16];
  std::memcpy(h, p, sizeof h);
  return from_lanes<F32>([&](std::size_t i) { return to_f32(h[i]); });
}
/// Widens the f16 that lies `at` bytes into each of 16 rows, which go on for two bytes after it at the least.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_f16_of_rows(const std::byte* const* rows, std::size_t at) noexcept {
  return from_lanes<F32>([&](std::size_t i) {
    Half h;
    std::memcpy(&h, rows[i] + at, sizeof h);
    return to_f32(h);
  });
}
/// Widens 16 bf16 exactly.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_bf16(const void* p) noexcept {
  BFloat16 h[16];
  std::memcpy(h, p, sizeof h);
  return from_lanes<F32>([&](std::size_t i) { return to_f32(h[i]); });
}
/// Rounds to 16 f16, nearest even.
ZRT_ALWAYS_INLINE void store_f16(void* p, F32 a) noexcept {
  Half h[16];
  for (std::size_t i = 0; i < 16; ++i) h[i] = to_f16(a.lane[i]);
  std::memcpy(p, h, sizeof h);
}
/// Rounds to 16 bf16, nearest even.
ZRT_ALWAYS_INLINE void store_bf16(void* p, F32 a) noexcept {
  BFloat16 h[16];
  for (std::size_t i = 0; i < 16; ++i) h[i] = to_bf16(a.lane[i]);
  std::memcpy(p, h, sizeof h);
}
/// Widens 16 int8 to int32.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 load_i8(const std::int8_t* p) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return p[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 load_i32(const void* p) noexcept {
  I32 r;
  std::memcpy(r.lane, p, sizeof r.lane);
  return r;
}
ZRT_ALWAYS_INLINE void store_i32(void* p, I32 a) noexcept { std::memcpy(p, a.lane, sizeof a.lane); }

[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator+(F32 a, F32 b) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return a.lane[i] + b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator-(F32 a, F32 b) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return a.lane[i] - b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator*(F32 a, F32 b) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return a.lane[i] * b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator/(F32 a, F32 b) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return a.lane[i] / b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator-(F32 a) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return -a.lane[i]; });
}
/// a * b + c, rounded once.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 fma(F32 a, F32 b, F32 c) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return __builtin_fmaf(a.lane[i], b.lane[i], c.lane[i]); });
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 abs(F32 a) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return math::abs(a.lane[i]); });
}
/// The square root, rounded correctly.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 sqrt(F32 a) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return math::sqrt(a.lane[i]); });
}
/// a < b ? a : b, so that b is the answer when either is NaN and when both are zeros.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 min(F32 a, F32 b) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return math::min(a.lane[i], b.lane[i]); });
}
/// a > b ? a : b, so that b is the answer when either is NaN and when both are zeros.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 max(F32 a, F32 b) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return math::max(a.lane[i], b.lane[i]); });
}
/// The magnitude of `a` with the sign bit of `b`.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 copysign(F32 a, F32 b) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return math::copysign(a.lane[i], b.lane[i]); });
}

// Comparisons with NaN are false.
[[nodiscard]] ZRT_ALWAYS_INLINE Mask less(F32 a, F32 b) noexcept {
  return from_lanes<Mask>([&](std::size_t i) { return a.lane[i] < b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask less_equal(F32 a, F32 b) noexcept {
  return from_lanes<Mask>([&](std::size_t i) { return a.lane[i] <= b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask equal(F32 a, F32 b) noexcept {
  return from_lanes<Mask>([&](std::size_t i) { return a.lane[i] == b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask is_nan(F32 a) noexcept {
  return from_lanes<Mask>([&](std::size_t i) { return math::is_nan(a.lane[i]); });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask both(Mask a, Mask b) noexcept {
  return from_lanes<Mask>([&](std::size_t i) { return a.lane[i] && b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask either(Mask a, Mask b) noexcept {
  return from_lanes<Mask>([&](std::size_t i) { return a.lane[i] || b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask invert(Mask a) noexcept {
  return from_lanes<Mask>([&](std::size_t i) { return !a.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE bool any(Mask a) noexcept {
  bool found = false;
  for (bool lane : a.lane) found = found || lane;
  return found;
}
/// Bit i says lane i.
[[nodiscard]] ZRT_ALWAYS_INLINE std::uint32_t lane_bits(Mask a) noexcept {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < 16; ++i) bits |= static_cast<std::uint32_t>(a.lane[i]) << i;
  return bits;
}
/// The mask of lanes 0..count-1.
[[nodiscard]] ZRT_ALWAYS_INLINE Mask first_lanes(std::size_t count) noexcept {
  return from_lanes<Mask>([&](std::size_t i) { return i < count; });
}
/// `a` where the mask is true, `b` elsewhere.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 select(Mask m, F32 a, F32 b) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return m.lane[i] ? a.lane[i] : b.lane[i]; });
}
/// Applies a scalar function to each lane.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 each_lane(float (*function)(float) noexcept, F32 x) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return function(x.lane[i]); });
}

[[nodiscard]] ZRT_ALWAYS_INLINE I32 as_i32(F32 x) noexcept { return std::bit_cast<I32>(x); }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 as_f32(I32 x) noexcept { return std::bit_cast<F32>(x); }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 iadd(I32 a, I32 b) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return math::iadd(a.lane[i], b.lane[i]); });
}
/// The low 32 bits of each product.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 imul(I32 a, I32 b) noexcept {
  return from_lanes<I32>([&](std::size_t i) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a.lane[i]) * static_cast<std::uint32_t>(b.lane[i]));
  });
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 isub(I32 a, I32 b) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return math::isub(a.lane[i], b.lane[i]); });
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 iand(I32 a, I32 b) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return a.lane[i] & b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 ior(I32 a, I32 b) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return a.lane[i] | b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 ixor(I32 a, I32 b) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return a.lane[i] ^ b.lane[i]; });
}
template <int kBits> [[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_left(I32 a) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return math::shift_left<kBits>(a.lane[i]); });
}
/// Shifts right and fills with the sign.
template <int kBits> [[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_right(I32 a) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return math::shift_right<kBits>(a.lane[i]); });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask iequal(I32 a, I32 b) noexcept {
  return from_lanes<Mask>([&](std::size_t i) { return a.lane[i] == b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask igreater(I32 a, I32 b) noexcept {
  return from_lanes<Mask>([&](std::size_t i) { return a.lane[i] > b.lane[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 iselect(Mask m, I32 a, I32 b) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return m.lane[i] ? a.lane[i] : b.lane[i]; });
}

/// The nearest whole number, ties to even, with the sign of `x`; infinities stay, NaN stays NaN.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 round_even(F32 x) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return math::round_even(x.lane[i]); });
}
/// round_even(x) as an integer; INT32_MIN for NaN and for what does not fit.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 to_i32(F32 x) noexcept {
  return from_lanes<I32>([&](std::size_t i) { return math::to_i32(x.lane[i]); });
}
/// The nearest f32, ties to even.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 to_f32(I32 x) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return math::to_f32(x.lane[i]); });
}
/// x * 2^n rounded once, for |n| <= 160 and x zero, not finite, or in 2^-40 <= |x| <= 2^40.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 scale_pow2(F32 x, I32 n) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return math::scale_pow2(x.lane[i], n.lane[i]); });
}

/// Sums the lanes by the tree of the order `dot16`: lane j += lane j+8, then j+4, j+2, j+1.
[[nodiscard]] ZRT_ALWAYS_INLINE float reduce_tree(F32 a) noexcept {
  a = sealed(a);
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t j = 0; j < half; ++j) a.lane[j] += a.lane[j + half];
  return a.lane[0];
}
/// The sum of the lanes.
[[nodiscard]] ZRT_ALWAYS_INLINE std::int32_t reduce_add(I32 a) noexcept {
  std::int32_t sum = 0;
  for (std::int32_t lane : a.lane) sum = math::iadd(sum, lane);
  return sum;
}
/// The largest lane.
[[nodiscard]] ZRT_ALWAYS_INLINE std::int32_t reduce_max(I32 a) noexcept {
  std::int32_t largest = a.lane[0];
  for (std::int32_t lane : a.lane) largest = lane > largest ? lane : largest;
  return largest;
}

[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 load_i8x64(const void* p) noexcept {
  I8x64 r;
  std::memcpy(r.lane, p, sizeof r.lane);
  return r;
}
/// Repeats four bytes sixteen times.
[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 splat_i8x4(const void* p) noexcept {
  I8x64 r;
  for (std::size_t i = 0; i < 16; ++i) std::memcpy(r.lane + 4 * i, p, 4);
  return r;
}
/// acc_j + sum of a * b over bytes 4j..4j+3, exactly. `b` must be within -127..127.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot4(I32 acc, I8x64 a, I8x64 b) noexcept {
  for (std::size_t i = 0; i < 64; ++i) acc.lane[i / 4] = math::iadd(acc.lane[i / 4], a.lane[i] * b.lane[i]);
  return acc;
}
/// The same for `a` within 0..127, where it takes fewer instructions; `b` may be any int8.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot4_unsigned(I32 acc, I8x64 a, I8x64 b) noexcept { return dot4(acc, a, b); }

/// The exact dot product of 32 int8 with 32 int8 within -127..127.
[[nodiscard]] ZRT_ALWAYS_INLINE std::int32_t dot_i8x32(const void* a, const void* b) noexcept {
  std::int8_t wa[32], wb[32];
  std::memcpy(wa, a, 32);
  std::memcpy(wb, b, 32);
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < 32; ++i) sum += wa[i] * wb[i];
  return sum;
}
/// The exact dot product of 32 four-bit values minus 8 with 32 int8 within -127..127: the low halves
/// of 16 bytes are values 0..15, the high halves values 16..31.
[[nodiscard]] ZRT_ALWAYS_INLINE std::int32_t dot_nibbles32(const void* nibbles, const void* b) noexcept {
  std::uint8_t w[16];
  std::int8_t x[32];
  std::memcpy(w, nibbles, 16);
  std::memcpy(x, b, 32);
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < 16; ++i) sum += ((w[i] & 15) - 8) * x[i] + ((w[i] >> 4) - 8) * x[i + 16];
  return sum;
}

}  // namespace zrt::inline ZRT_ABI::cpu::v1
ZRT_PORTABLE_END
ZRT_FP_END
#endif
