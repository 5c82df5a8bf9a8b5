// SPDX-License-Identifier: Apache-2.0
// zrt/core/float_rounding.hpp: rounding to binary floating formats in integers, whatever mode the host has set.
#pragma once

#include <zrt/core/config.hpp>

#include <bit>
#include <cstdint>

namespace zrt::inline ZRT_ABI {

/// How a result that is not exact is rounded.
///
/// `to_odd` takes the neighbour whose last bit is 1, overflow the largest finite number. It is for
/// a value that is rounded again: rounded to odd first, with two bits more than the last format
/// has, the value reaches that format as if it had been rounded once.
enum class Rounding : std::uint8_t { nearest_even, to_odd };

namespace detail {

/// `value` / 2^shift as a whole number; `shift` may exceed 63.
[[nodiscard]] constexpr std::uint64_t shift_right(std::uint64_t value, unsigned shift, Rounding rounding) noexcept {
  if (shift == 0) return value;
  const std::uint64_t whole = shift < 64 ? value >> shift : 0;
  const std::uint64_t rest = shift < 64 ? value & ((std::uint64_t{1} << shift) - 1) : value;
  if (rounding == Rounding::to_odd) return whole | (rest != 0 ? 1u : 0u);
  // At a shift of 65 or more a half is 2^64 or more, beyond every value.
  if (shift > 64) return 0;
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return whole + (rest > half || (rest == half && (whole & 1u) != 0) ? 1u : 0u);
}

/// The bits of significand * 2^exponent in a format of so many exponent and mantissa bits with
/// IEEE's bias and subnormals.
///
/// The exponent field is not bounded above: what overflows gives a code above the largest finite
/// one, and the caller says what that means in its format.
template <unsigned kExponentBits, unsigned kMantissaBits>
[[nodiscard]] constexpr std::uint64_t float_code(std::uint64_t significand, int exponent, Rounding rounding) noexcept {
  if (significand == 0) return 0;
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  const int zeros = std::countl_zero(significand);
  const std::uint64_t normalised = significand << zeros;
  const int field = exponent - zeros + 63 + kBias;
  constexpr unsigned kDropped = 63 - kMantissaBits;
  if (field < 1) return shift_right(normalised, kDropped + 1 + static_cast<unsigned>(-field), rounding);
  // The leading bit of the significand adds the one that is taken from the field.
  return (static_cast<std::uint64_t>(field - 1) << kMantissaBits) + shift_right(normalised, kDropped, rounding);
}

/// A finite f32 without its sign as significand * 2^exponent; `magnitude` is its bits.
struct FloatParts {
  std::uint64_t significand;
  int exponent;
};

[[nodiscard]] constexpr FloatParts float_parts(std::uint32_t magnitude) noexcept {
  const std::uint32_t field = magnitude >> 23;
  const std::uint32_t mantissa = magnitude & 0x7fffffu;
  return field == 0 ? FloatParts{mantissa, -149} : FloatParts{mantissa | 0x800000u, static_cast<int>(field) - 150};
}

[[nodiscard]] constexpr FloatParts float_parts(std::uint64_t magnitude) noexcept {
  const std::uint64_t field = magnitude >> 52;
  const std::uint64_t mantissa = magnitude & 0xfffffffffffffu;
  return field == 0 ? FloatParts{mantissa, -1074}
                    : FloatParts{mantissa | 0x10000000000000u, static_cast<int>(field) - 1075};
}

[[nodiscard]] constexpr std::uint32_t f32_code(FloatParts parts, Rounding rounding) noexcept {
  const std::uint64_t overflow = rounding == Rounding::to_odd ? 0x7f7fffffu : 0x7f800000u;
  const std::uint64_t code = float_code<8, 23>(parts.significand, parts.exponent, rounding);
  return static_cast<std::uint32_t>(code < overflow ? code : overflow);
}

}  // namespace detail

/// Rounds an f64 to f32; NaN stays a NaN, made quiet, with the upper bits of its payload.
[[nodiscard]] constexpr float narrow_to_f32(double x, Rounding rounding = Rounding::nearest_even) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto sign = static_cast<std::uint32_t>(bits >> 32) & 0x80000000u;
  const std::uint64_t magnitude = bits & 0x7fffffffffffffffu;
  constexpr std::uint64_t kInfinity = 0x7ff0000000000000u;
  if (magnitude > kInfinity)
    return std::bit_cast<float>(sign | 0x7fc00000u | (static_cast<std::uint32_t>(magnitude >> 29) & 0x3fffffu));
  if (magnitude == kInfinity) return std::bit_cast<float>(sign | 0x7f800000u);
  return std::bit_cast<float>(sign | detail::f32_code(detail::float_parts(magnitude), rounding));
}

/// Rounds a whole number to f32.
[[nodiscard]] constexpr float integer_to_f32(std::uint64_t x, Rounding rounding = Rounding::nearest_even) noexcept {
  return std::bit_cast<float>(detail::f32_code({x, 0}, rounding));
}

/// Rounds a whole number to the nearest f64, ties to even.
[[nodiscard]] constexpr double integer_to_f64(std::uint64_t x) noexcept {
  return std::bit_cast<double>(detail::float_code<11, 52>(x, 0, Rounding::nearest_even));
}

static_assert(narrow_to_f32(1.0 + 0x1p-24) == 1.0f && narrow_to_f32(1.0 + 0x3p-24) == 1.0f + 0x1p-22f);
static_assert(narrow_to_f32(1.0 + 0x1p-52, Rounding::to_odd) == 1.0f + 0x1p-23f);
static_assert(integer_to_f32(0x1000001) == 0x1p24f && integer_to_f64(~std::uint64_t{0}) == 0x1p64);
static_assert(narrow_to_f32(0x1p-150) == 0.0f && narrow_to_f32(0x1p-150, Rounding::to_odd) == 0x1p-149f);

}  // namespace zrt::inline ZRT_ABI
