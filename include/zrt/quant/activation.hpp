// SPDX-License-Identifier: Apache-2.0
// zrt/quant/activation.hpp: rounding of activations to 8-bit integers with one scale per group.
#pragma once

#include <zrt/core/config.hpp>
#include <zrt/core/elementary_ops.hpp>

#include <bit>
#include <cstdint>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// How linear rounds its activations before a product with a block type.
///
/// The numbers stand in parameter blocks and never change.
enum class Act : std::uint8_t {
  none = 0,    ///< not rounded
  q8_32 = 1,   ///< 8 bits, one scale per 32 elements
  q8_256 = 2,  ///< 8 bits, one scale per 256 elements
};

/// Elements under one scale; 1 for Act::none.
[[nodiscard]] constexpr std::uint32_t group_elems(Act act) noexcept {
  return act == Act::q8_32 ? 32 : act == Act::q8_256 ? 256 : 1;
}

/// Rounds one group of `count` values and returns its scale d = max|x| / 127.
///
/// q = nearest-even of x * (127 / max|x|), within -127..127. A group of zeros has d = 0 and q = 0,
/// and so has one whose maximum is so small (below 3.8e-37) that 127 / max|x| is infinite. A group
/// with a NaN or an infinity has d = NaN and q = 0, so that every dot product over it is NaN.
[[nodiscard]] inline float round_group(const float* x, std::uint32_t count, std::int8_t* q) noexcept {
  // The order of magnitudes is the order of their bits, and a NaN is above them all.
  std::uint32_t largest = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  const float inverse = 127.0f / std::bit_cast<float>(largest);
  const bool finite = largest < 0x7f800000u;
  if (!finite || std::bit_cast<std::uint32_t>(inverse) >= 0x7f800000u) {
    for (std::uint32_t i = 0; i < count; ++i) q[i] = 0;
    return finite ? 0.0f : std::bit_cast<float>(0x7fc00000u);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int32_t rounded = math::to_i32(x[i] * inverse);
    q[i] = static_cast<std::int8_t>(rounded > 127 ? 127 : rounded < -127 ? -127 : rounded);
  }
  return std::bit_cast<float>(largest) / 127.0f;
}

/// Rounds `n` values, a multiple of `group`, group by group: n integers and n / group scales.
inline void round_activation(const float* x, std::uint64_t n, std::uint32_t group, std::int8_t* q, float* d) noexcept {
  for (std::uint64_t i = 0; i < n; i += group) d[i / group] = round_group(x + i, group, q + i);
}

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
