// SPDX-License-Identifier: Apache-2.0
// zrt/core/half.hpp: f16 and bf16 as storage types, with exact widening and nearest-even narrowing.
#pragma once

#include <zrt/core/float_rounding.hpp>

#include <bit>
#include <cstdint>

namespace zrt::inline ZRT_ABI {

/// IEEE binary16 as stored; arithmetic happens in f32.
struct Half {
  std::uint16_t bits;
  friend bool operator==(Half, Half) = default;
};

/// bfloat16 as stored: the upper half of an f32.
struct BFloat16 {
  std::uint16_t bits;
  friend bool operator==(BFloat16, BFloat16) = default;
};

/// Widens exactly; a signalling NaN becomes quiet, as the hardware conversion makes it.
[[nodiscard]] constexpr float to_f32(Half h) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (h.bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = h.bits & 0x3ffu;
  if (exponent == 0x1f) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
  // A subnormal half is mantissa * 2^-24, exact in f32.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

[[nodiscard]] constexpr float to_f32(BFloat16 b) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16);
}

/// Rounds to nearest, ties to even; overflow gives infinity, NaN stays a quiet NaN.
[[nodiscard]] constexpr Half to_f16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu))};
  if (magnitude >= 0x477ff000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x38800000u) {
    const auto [significand, exponent] = detail::float_parts(magnitude);
    const std::uint64_t code = detail::float_code<5, 10>(significand, exponent, Rounding::nearest_even);
    return {static_cast<std::uint16_t>(sign | code)};
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  return {static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13))};
}

[[nodiscard]] constexpr BFloat16 to_bf16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

static_assert(to_f16(1.0f).bits == 0x3c00 && to_f16(65504.0f).bits == 0x7bff && to_f16(65520.0f).bits == 0x7c00);
static_assert(to_f16(0x1p-24f).bits == 1 && to_f16(0x1p-25f).bits == 0 && to_f32(Half{1}) == 0x1p-24f);
static_assert(to_bf16(1.0f).bits == 0x3f80 && to_f32(BFloat16{0x4049}) == 3.140625f);

}  // namespace zrt::inline ZRT_ABI
