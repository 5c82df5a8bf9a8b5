// SPDX-License-Identifier: Apache-2.0
// zrt/core/fp8.hpp: the two 8-bit floats as storage types, with exact widening and nearest-even narrowing.
#pragma once

#include <zrt/core/half.hpp>

namespace zrt::inline ZRT_ABI {

/// OCP E4M3 as stored: 4 exponent bits with bias 7, 3 mantissa bits, no infinities.
///
/// The largest number is 448; 0x7f and 0xff are NaN.
struct Fp8E4M3 {
  std::uint8_t bits;
  friend bool operator==(Fp8E4M3, Fp8E4M3) = default;
};

/// OCP E5M2 as stored: the upper byte of an f16, infinities and NaNs included; the largest number is 57344.
struct Fp8E5M2 {
  std::uint8_t bits;
  friend bool operator==(Fp8E5M2, Fp8E5M2) = default;
};

/// Widens exactly; NaN keeps its sign.
[[nodiscard]] constexpr float to_f32(Fp8E4M3 x) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x80u) << 24;
  const std::uint32_t magnitude = x.bits & 0x7fu;
  if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000u);
  // A normal number keeps its fields; a subnormal one is mantissa * 2^-9, exact in f32.
  if (magnitude >= 8) return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-9f));
}

[[nodiscard]] constexpr float to_f32(Fp8E5M2 x) noexcept {
  return to_f32(Half{static_cast<std::uint16_t>(x.bits << 8)});
}

/// Rounds to nearest, ties to even; what rounds beyond 448, infinity included, becomes a NaN of its sign.
///
/// That is ONNX's Cast with saturate = 0 and the conversion of ml_dtypes: the type has no infinity
/// that could stand for the overflow, and the largest number would hide it.
[[nodiscard]] constexpr Fp8E4M3 to_fp8_e4m3(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const auto [significand, exponent] = detail::float_parts(magnitude);
  const std::uint64_t code = detail::float_code<4, 3>(significand, exponent, Rounding::nearest_even);
  return {static_cast<std::uint8_t>(sign | (magnitude >= 0x7f800000u || code > 0x7e ? 0x7fu : code))};
}

/// Rounds to nearest, ties to even; overflow gives infinity, NaN stays a quiet NaN.
[[nodiscard]] constexpr Fp8E5M2 to_fp8_e5m2(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<std::uint8_t>(sign | 0x7eu | ((magnitude >> 21) & 3u))};
  const auto [significand, exponent] = detail::float_parts(magnitude);
  const std::uint64_t code = detail::float_code<5, 2>(significand, exponent, Rounding::nearest_even);
  return {static_cast<std::uint8_t>(sign | (code > 0x7c ? 0x7cu : code))};
}

/// Rounds an f64 once, by the rules of the conversion from f32.
[[nodiscard]] constexpr Fp8E4M3 to_fp8_e4m3(double x) noexcept {
  return to_fp8_e4m3(narrow_to_f32(x, Rounding::to_odd));
}

[[nodiscard]] constexpr Fp8E5M2 to_fp8_e5m2(double x) noexcept {
  return to_fp8_e5m2(narrow_to_f32(x, Rounding::to_odd));
}

static_assert(to_f32(Fp8E4M3{0x7e}) == 448.0f && to_f32(Fp8E4M3{1}) == 0x1p-9f && to_f32(Fp8E4M3{8}) == 0x1p-6f);
static_assert(to_fp8_e4m3(464.0f).bits == 0x7e && to_fp8_e4m3(464.0 + 0x1p-40).bits == 0x7f);
static_assert(to_f32(Fp8E5M2{0x7b}) == 57344.0f && to_fp8_e5m2(61440.0f).bits == 0x7c);

}  // namespace zrt::inline ZRT_ABI
