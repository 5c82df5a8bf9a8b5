// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/functions.hpp: what single lanes compute: arithmetic that is more than one operator.
#pragma once

#include <zrt/core/elementary64.hpp>
#include <zrt/core/elementary_ops.hpp>
#include <zrt/core/fp8.hpp>
#include <zrt/emulator/isa/types.hpp>

#include <bit>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::emulator::lane {

[[nodiscard]] constexpr u32 bits(f32 x) noexcept { return std::bit_cast<u32>(x); }
[[nodiscard]] constexpr u64 bits(f64 x) noexcept { return std::bit_cast<u64>(x); }
[[nodiscard]] constexpr f32 float_of(u32 x) noexcept { return std::bit_cast<f32>(x); }
[[nodiscard]] constexpr f64 double_of(u64 x) noexcept { return std::bit_cast<f64>(x); }
[[nodiscard]] constexpr bool is_nan(f32 x) noexcept { return x != x; }
[[nodiscard]] constexpr bool is_nan(f64 x) noexcept { return x != x; }
[[nodiscard]] constexpr bool is_negative(f32 x) noexcept { return bits(x) >> 31 != 0; }
[[nodiscard]] constexpr bool is_negative(f64 x) noexcept { return bits(x) >> 63 != 0; }
/// The exponent field.
[[nodiscard]] constexpr int exponent(f32 x) noexcept { return static_cast<int>(bits(x) >> 23 & 0xffu); }
[[nodiscard]] constexpr int exponent(f64 x) noexcept { return static_cast<int>(bits(x) >> 52 & 0x7ffu); }

inline constexpr f32 kInfinity = std::bit_cast<f32>(0x7f800000u);

/// An f16 operation whose f32 result, rounded again, is the result rounded once (sum, product, quotient, root).
template <auto F> [[nodiscard]] constexpr f16 half_of(f16 a, f16 b) noexcept { return to_f16(F(to_f32(a), to_f32(b))); }
template <auto F> [[nodiscard]] constexpr f16 half_of(f16 a) noexcept { return to_f16(F(to_f32(a))); }

/// a + b, rounded to odd.
[[nodiscard]] constexpr f64 sum_to_odd(f64 a, f64 b) noexcept {
  const f64 sum = a + b;
  const f64 rest = sum - a;
  const f64 lost = (a - (sum - rest)) + (b - rest);
  if (!(lost != 0) || !(sum - sum == 0)) return sum;
  u64 code = bits(sum);
  if ((lost > 0) != (sum > 0)) --code;
  return double_of(code | 1u);
}
/// a * b + c in f16, rounded once: the product is exact in f64.
[[nodiscard]] constexpr f16 fma_f16(f16 a, f16 b, f16 c) noexcept {
  const f64 product = static_cast<f64>(to_f32(a)) * static_cast<f64>(to_f32(b));
  return to_f16(narrow_to_f32(sum_to_odd(product, static_cast<f64>(to_f32(c))), Rounding::to_odd));
}
[[nodiscard]] constexpr f32 fma_f32(f32 a, f32 b, f32 c) noexcept { return __builtin_fmaf(a, b, c); }

/// IEEE 754-2019 minimumNumber and maximumNumber: a number wins over NaN, -0 is below +0.
///
/// Equal numbers differ in the sign of zero alone. Selections of bits, so that loops of f32 become vector code.
template <class T> [[nodiscard]] constexpr T min_num(T a, T b) noexcept {
  auto result = a < b ? bits(a) : bits(b);
  result = a == b ? bits(a) | bits(b) : result;
  result = a != a ? bits(b) : result;
  result = b != b ? bits(a) : result;
  return std::bit_cast<T>(result);
}
template <class T> [[nodiscard]] constexpr T max_num(T a, T b) noexcept {
  auto result = a > b ? bits(a) : bits(b);
  result = a == b ? bits(a) & bits(b) : result;
  result = a != a ? bits(b) : result;
  result = b != b ? bits(a) : result;
  return std::bit_cast<T>(result);
}
/// IEEE 754-2019 minimum and maximum: NaN wins.
template <class T> [[nodiscard]] constexpr T minimum(T a, T b) noexcept {
  if (is_nan(a)) return a;
  if (is_nan(b)) return b;
  return min_num(a, b);
}
template <class T> [[nodiscard]] constexpr T maximum(T a, T b) noexcept {
  if (is_nan(a)) return a;
  if (is_nan(b)) return b;
  return max_num(a, b);
}
/// The middle of three numbers; with a NaN the smallest.
[[nodiscard]] constexpr f32 med3_num(f32 a, f32 b, f32 c) noexcept {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return min_num(min_num(a, b), c);
  const f32 top = max_num(max_num(a, b), c);
  if (top == a) return max_num(b, c);
  if (top == b) return max_num(a, c);
  return max_num(a, b);
}
template <class T> [[nodiscard]] constexpr T smaller(T a, T b) noexcept { return a < b ? a : b; }
template <class T> [[nodiscard]] constexpr T larger(T a, T b) noexcept { return a > b ? a : b; }
template <class T> [[nodiscard]] constexpr T med3(T a, T b, T c) noexcept {
  return larger(smaller(a, b), smaller(larger(a, b), c));
}

// --- rounding to whole numbers ---

[[nodiscard]] constexpr f64 truncated(f64 x) noexcept {
  const int e = exponent(x) - 1023;
  if (e >= 52) return x;
  if (e < 0) return double_of(bits(x) & u64{1} << 63);
  return double_of(bits(x) & ~((u64{1} << (52 - e)) - 1));
}
[[nodiscard]] constexpr f64 floored(f64 x) noexcept {
  const f64 t = truncated(x);
  return x < t ? t - 1 : t;
}
[[nodiscard]] constexpr f64 ceiled(f64 x) noexcept {
  const f64 t = truncated(x);
  if (!(x > t)) return t;
  return t + 1;
}
[[nodiscard]] constexpr f64 rounded_even(f64 x) noexcept {
  const f64 t = truncated(x);
  const f64 rest = x - t;
  const f64 size = rest < 0 ? -rest : rest;
  const f64 half_way = truncated(t / 2) * 2;
  const bool up = size > 0.5 || (size == 0.5 && half_way != t);
  if (!up) return t;
  return is_negative(x) ? t - 1 : t + 1;
}
/// A rounding of f64 that keeps the sign of zero, applied to f32.
template <auto F> [[nodiscard]] constexpr f32 whole(f32 x) noexcept {
  const f32 result = static_cast<f32>(F(static_cast<f64>(x)));
  return result == 0 ? float_of(bits(x) & 0x80000000u) : result;
}
template <auto F> [[nodiscard]] constexpr f64 whole64(f64 x) noexcept {
  const f64 result = F(x);
  return result == 0 ? double_of(bits(x) & u64{1} << 63) : result;
}
/// x - floor(x), below 1.
[[nodiscard]] constexpr f32 fract(f32 x) noexcept {
  if (!(x - x == 0)) return float_of(0x7fc00000u);
  const f32 rest = x - whole<floored>(x);
  return rest < 1.0f ? rest : 0x1.fffffep-1f;
}
[[nodiscard]] constexpr f64 fract64(f64 x) noexcept {
  if (!(x - x == 0)) return double_of(u64{0x7ff8000000000000});
  const f64 rest = x - floored(x);
  return rest < 1.0 ? rest : 0x1.fffffffffffffp-1;
}

[[nodiscard]] constexpr f16 half_fract(f16 x) noexcept {
  const f16 rest = to_f16(fract(to_f32(x)));
  return rest.bits == 0x3c00 ? f16{0x3bff} : rest;
}

/// To a whole number toward zero; out of range saturates, NaN gives 0.
template <class T> [[nodiscard]] constexpr T saturated(f64 x) noexcept {
  constexpr T kLow = std::is_signed_v<T> ? static_cast<T>(T{1} << (sizeof(T) * 8 - 1)) : T{0};
  constexpr T kHigh = static_cast<T>(~kLow);
  if (is_nan(x)) return 0;
  if (x <= static_cast<f64>(kLow)) return kLow;
  if (x >= static_cast<f64>(kHigh)) return kHigh;
  return static_cast<T>(x);
}
template <class T> [[nodiscard]] constexpr T clamped(i64 x, i64 low, i64 high) noexcept {
  return static_cast<T>(x < low ? low : x > high ? high : x);
}

// --- exponents ---

[[nodiscard]] constexpr f64 scaled(f64 x, i64 n) noexcept {
  // Two steps stay exact: an f32 or f16 has at most 24 bits, and the first step keeps within f64's normal range.
  const i64 limited = n < -600 ? -600 : n > 600 ? 600 : n;
  return x * double_of(static_cast<u64>(1023 + limited) << 52);
}
[[nodiscard]] constexpr f32 ldexp(f32 x, i32 n) noexcept { return narrow_to_f32(scaled(static_cast<f64>(x), n)); }
[[nodiscard]] constexpr f16 ldexp(f16 x, i32 n) noexcept {
  return to_f16(narrow_to_f32(scaled(static_cast<f64>(to_f32(x)), n), Rounding::to_odd));
}
[[nodiscard]] constexpr f64 ldexp64(f64 x, i32 n) noexcept {
  if (x == 0 || !(x - x == 0)) return x;
  const u64 sign = bits(x) & u64{1} << 63;
  const auto parts = zrt::detail::float_parts(bits(x) & ~(u64{1} << 63));
  const int e = parts.exponent + (n < -5000 ? -5000 : n > 5000 ? 5000 : n);
  // Beyond every finite number; the exponent would not fit its field.
  if (e > 1100) return double_of(sign | 0x7ff0000000000000);
  const u64 code = zrt::detail::float_code<11, 52>(parts.significand, e, Rounding::nearest_even);
  return double_of(sign | (code > 0x7ff0000000000000 ? u64{0x7ff0000000000000} : code));
}
[[nodiscard]] constexpr i32 frexp_exp(f64 x, int) noexcept {
  if (x == 0 || !(x - x == 0)) return 0;
  const auto parts = zrt::detail::float_parts(bits(x) & ~(u64{1} << 63));
  return parts.exponent + 64 - std::countl_zero(parts.significand);
}
[[nodiscard]] constexpr i32 frexp_exp(f32 x) noexcept { return frexp_exp(static_cast<f64>(x), 0); }
[[nodiscard]] constexpr f32 frexp_mant(f32 x) noexcept {
  if (x == 0 || !(x - x == 0)) return x;
  return ldexp(x, -frexp_exp(x));
}
[[nodiscard]] constexpr f64 frexp_mant64(f64 x) noexcept {
  if (x == 0 || !(x - x == 0)) return x;
  return ldexp64(x, -frexp_exp(x, 0));
}

// --- elementary functions: computed in f64 and rounded, within 0.51 units of the last place ---

[[nodiscard]] constexpr f64 root(f64 x) noexcept { return __builtin_sqrt(x); }
[[nodiscard]] inline f32 sqrt(f32 x) noexcept {
  if (x < 0) return float_of(0x7fc00000u);
  return static_cast<f32>(root(static_cast<f64>(x)));
}
[[nodiscard]] inline f32 rsq(f32 x) noexcept {
  if (x < 0) return float_of(0x7fc00000u);
  if (x == 0) return float_of((bits(x) & 0x80000000u) | 0x7f800000u);
  return static_cast<f32>(1.0 / root(static_cast<f64>(x)));
}
[[nodiscard]] inline f64 sqrt64(f64 x) noexcept { return x < 0 ? double_of(u64{0x7ff8000000000000}) : root(x); }
[[nodiscard]] inline f64 rsq64(f64 x) noexcept {
  if (x < 0) return double_of(u64{0x7ff8000000000000});
  return 1.0 / root(x);
}
[[nodiscard]] constexpr f32 rcp(f32 x) noexcept { return 1.0f / x; }
[[nodiscard]] constexpr f32 exp2(f32 x) noexcept {
  if (is_nan(x)) return x;
  if (x >= 128.0f) return kInfinity;
  if (x <= -150.0f) return 0;
  const f64 n = rounded_even(static_cast<f64>(x));
  const f64 r = static_cast<f64>(x) - n;
  const f64 power = math::exp64(r * 0x1.62e42fefa39efp-1);
  return narrow_to_f32(scaled(power, static_cast<i64>(n)));
}
[[nodiscard]] constexpr f32 log2(f32 x) noexcept {
  if (is_nan(x) || x == kInfinity) return x;
  if (x < 0) return float_of(0x7fc00000u);
  if (x == 0) return -kInfinity;
  // The exponent apart, so that powers of two are exact.
  const i32 e = frexp_exp(x);
  const f64 m = static_cast<f64>(x) * double_of(static_cast<u64>(1023 - e) << 52);
  if (m == 0.5) return static_cast<f32>(e - 1);
  const f64 fraction = math::sealed(math::log64(m) * 0x1.71547652b82fep+0);
  return static_cast<f32>(static_cast<f64>(e) + fraction);
}
/// Sine and cosine of x turns.
[[nodiscard]] constexpr f32 sin_turns(f32 x) noexcept {
  if (!(x - x == 0)) return float_of(0x7fc00000u);
  const f64 turns = static_cast<f64>(x) - rounded_even(static_cast<f64>(x));
  if (turns == 0) return float_of(bits(x) & 0x80000000u);
  if (turns == 0.5 || turns == -0.5) return 0;
  return narrow_to_f32(math::sin64(turns * 0x1.921fb54442d18p+2));
}
[[nodiscard]] constexpr f32 cos_turns(f32 x) noexcept {
  if (!(x - x == 0)) return float_of(0x7fc00000u);
  const f64 turns = static_cast<f64>(x) - rounded_even(static_cast<f64>(x));
  if (turns == 0.25 || turns == -0.25) return 0;
  return narrow_to_f32(math::cos64(turns * 0x1.921fb54442d18p+2));
}

// --- division in steps ---

/// v_div_scale_f32: `x` is the denominator or the numerator, scaled so that no step of the division leaves the range.
[[nodiscard]] constexpr WithMask<f32> div_scale(f32 x, f32 denominator, f32 numerator) noexcept {
  if (numerator == 0 || denominator == 0) return {float_of(0x7fc00000u), false};
  const bool is_denominator = bits(x) == bits(denominator);
  const bool is_numerator = bits(x) == bits(numerator);
  auto tiny = [](f64 v) { return v != 0 && (v < 0 ? -v : v) < 0x1p-126; };
  const f64 inverse = 1.0 / static_cast<f64>(denominator);
  const f64 quotient = static_cast<f64>(numerator) / static_cast<f64>(denominator);
  if (exponent(numerator) - exponent(denominator) >= 96) return {is_denominator ? ldexp(x, 64) : x, true};
  if (tiny(static_cast<f64>(denominator))) return {ldexp(x, 64), false};
  // AMD's text has 2^64 here, by which such a denominator overflows; only 2^-64 gives the quotient that cards give.
  if (tiny(inverse) && tiny(quotient)) return {is_denominator ? ldexp(x, -64) : x, true};
  if (tiny(inverse)) return {ldexp(x, -64), false};
  if (tiny(quotient)) return {is_numerator ? ldexp(x, 64) : x, true};
  if (exponent(numerator) <= 23) return {ldexp(x, 64), false};
  return {x, false};
}
/// v_div_fmas_f32: a fused step whose result is scaled back where v_div_scale said so, rounded once.
[[nodiscard]] constexpr f32 div_fmas(f32 a, f32 b, f32 c, bool scale) noexcept {
  if (!scale) return fma_f32(a, b, c);
  const f64 sum = sum_to_odd(static_cast<f64>(a) * static_cast<f64>(b), static_cast<f64>(c));
  return narrow_to_f32(scaled(sum, exponent(c) > 127 ? 64 : -64));
}
/// v_div_fixup_f32: the quotient's special cases.
[[nodiscard]] constexpr f32 div_fixup(f32 quotient, f32 denominator, f32 numerator) noexcept {
  const u32 sign = (bits(denominator) ^ bits(numerator)) & 0x80000000u;
  if (is_nan(numerator)) return float_of(bits(numerator) | 0x400000u);
  if (is_nan(denominator)) return float_of(bits(denominator) | 0x400000u);
  const bool zero_by_zero = numerator == 0 && denominator == 0;
  const bool endless_numerator = exponent(numerator) == 255, endless_denominator = exponent(denominator) == 255;
  if (zero_by_zero || (endless_numerator && endless_denominator)) return float_of(0xffc00000u);
  if (denominator == 0 || endless_numerator) return float_of(sign | 0x7f800000u);
  if (endless_denominator || numerator == 0) return float_of(sign);
  if (exponent(numerator) - exponent(denominator) < -150) return float_of(sign);
  // Steps that overflow end as NaN; the quotient of finite numbers then overflows too.
  if (is_nan(quotient)) return float_of(sign | 0x7f800000u);
  return float_of(sign | (bits(quotient) & 0x7fffffffu));
}

// --- conversions ---

/// f32 to f16 toward zero.
[[nodiscard]] constexpr u16 half_toward_zero(f32 x) noexcept {
  const f16 nearest = to_f16(x);
  if (is_nan(x) || x == kInfinity || x == -kInfinity) return nearest.bits;
  const f32 back = to_f32(nearest);
  const bool beyond = is_negative(x) ? back < x : back > x;
  return static_cast<u16>(nearest.bits - (beyond ? 1 : 0));
}
[[nodiscard]] constexpr u32 joined(u16 low, u16 high) noexcept { return low | u32{high} << 16; }

/// Which of the ten classes that `mask` names `x` is in.
template <class T> [[nodiscard]] constexpr bool in_class(T x, u32 mask) noexcept {
  constexpr bool kWide = sizeof(T) == 8;
  constexpr unsigned kMantissa = kWide ? 52 : 23;
  const u64 code = u64{bits(x)};
  const u64 mantissa = code & ((u64{1} << kMantissa) - 1);
  const int e = exponent(x);
  const bool negative = is_negative(x);
  unsigned bit = 0;
  if (e == (kWide ? 0x7ff : 0xff))
    bit = mantissa != 0 ? (mantissa >> (kMantissa - 1) != 0 ? 1 : 0) : negative ? 2 : 9;
  else if (e == 0)
    bit = mantissa != 0 ? (negative ? 4 : 7) : negative ? 5 : 6;
  else
    bit = negative ? 3 : 8;
  return (mask >> bit & 1u) != 0;
}
[[nodiscard]] constexpr bool half_in_class(f16 x, u16 mask) noexcept {
  const u32 magnitude = x.bits & 0x7fffu;
  if (magnitude > 0x7c00 && (magnitude & 0x200u) == 0) return (mask & 1u) != 0;  // signalling
  if (magnitude != 0 && magnitude < 0x400) return (mask >> (x.bits >> 15 != 0 ? 4 : 7) & 1u) != 0;
  return in_class(to_f32(x), mask);
}

// --- integers ---

[[nodiscard]] constexpr u32 reversed(u32 x) noexcept {
  u32 result = 0;
  for (unsigned i = 0; i < 32; ++i) result |= (x >> i & 1u) << (31 - i);
  return result;
}
/// The leading bits that equal the sign, or -1 where all do.
[[nodiscard]] constexpr i32 sign_run(i32 x) noexcept {
  const u32 flipped = static_cast<u32>(x < 0 ? ~x : x);
  return flipped == 0 ? -1 : std::countl_zero(flipped);
}
[[nodiscard]] constexpr u32 bfe(u32 x, u32 offset, u32 width) noexcept {
  offset &= 31u;
  width &= 31u;
  return x >> offset & ((u32{1} << width) - 1);
}
[[nodiscard]] constexpr i32 bfe_signed(i32 x, u32 offset, u32 width) noexcept {
  offset &= 31u;
  width &= 31u;
  if (width == 0) return 0;
  const u32 field = bfe(static_cast<u32>(x >> offset), 0, width);
  const u32 top = u32{1} << (width - 1);
  return static_cast<i32>((field ^ top) - top);
}
/// v_perm_b32: bytes chosen from high:low; 8 to 11 repeat a sign, 12 is 0, above is 0xff.
[[nodiscard]] constexpr u32 perm(u32 high, u32 low, u32 selectors) noexcept {
  const u64 both = low | u64{high} << 32;
  u32 result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const u32 s = selectors >> 8 * i & 0xffu;
    u32 byte = 0;
    if (s < 8)
      byte = static_cast<u32>(both >> 8 * s) & 0xffu;
    else if (s < 12)
      byte = (both >> (16 * (s - 8) + 15) & 1u) != 0 ? 0xffu : 0;
    else
      byte = s == 12 ? 0 : 0xffu;
    result |= byte << 8 * i;
  }
  return result;
}
/// The low 24 bits as a signed number.
[[nodiscard]] constexpr i64 low24(u32 x) noexcept { return static_cast<i32>(x << 8) >> 8; }
/// Both halves as signed numbers, saturated to bytes.
[[nodiscard]] constexpr u32 saturated_bytes(u32 x) noexcept {
  auto byte = [](u32 half) { return clamped<u32>(static_cast<i16>(half), 0, 255); };
  return byte(x & 0xffffu) | byte(x >> 16) << 8;
}
[[nodiscard]] constexpr u32 sum_of_half_differences(u32 a, u32 b, u32 c) noexcept {
  for (unsigned i = 0; i < 32; i += 16) {
    const u32 x = a >> i & 0xffffu, y = b >> i & 0xffffu;
    c += x > y ? x - y : y - x;
  }
  return c;
}
[[nodiscard]] constexpr u32 sum_of_differences(u32 a, u32 b, u32 c) noexcept {
  for (unsigned i = 0; i < 32; i += 8) {
    const u32 x = a >> i & 0xffu, y = b >> i & 0xffu;
    c += x > y ? x - y : y - x;
  }
  return c;
}

}  // namespace zrt::inline ZRT_ABI::emulator::lane
ZRT_FP_END
