// SPDX-License-Identifier: Apache-2.0
// tests/support/block_scales.hpp: the scales of a block of random bytes, wherever its type keeps them.
#pragma once

#include <zrt/core/dtype.hpp>
#include <zrt/core/half.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zrt::test {

/// Gives a block the scale and, where its type has one, the offset; a type whose scale is no f16 takes a power of two
/// near the scale's magnitude.
inline void set_scales(DType dtype, std::byte* block, float scale, float offset) {
  const auto put = [block](std::size_t at, float value) {
    const std::uint16_t bits = to_f16(value).bits;
    std::memcpy(block + at, &bits, 2);
  };
  const int power = scale == 0.0f ? -20 : std::ilogb(scale);
  switch (dtype) {
    case DType::mxfp4:
      block[0] = static_cast<std::byte>(power + 127);
      break;
    case DType::nvfp4:
      // Exponents of a byte are biased by 7; the fractions stay random.
      for (std::size_t i = 0; i < 4; ++i)
        block[i] = (block[i] & std::byte{7}) | static_cast<std::byte>((power < -7 ? 0 : power + 7) << 3);
      break;
    case DType::iq1_m:
      for (std::size_t i = 0; i < 4; ++i)
        block[49 + 2 * i] =
            (block[49 + 2 * i] & std::byte{15}) | static_cast<std::byte>((to_f16(scale).bits >> 4 * i & 15) << 4);
      break;
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k:
      put(0, scale);
      put(2, offset);
      break;
    case DType::q2_k:
      put(80, scale);
      put(82, offset);
      break;
    case DType::q3_k:
    case DType::q6_k:
    case DType::tq1_0:
    case DType::tq2_0:
      put(info(dtype).block_bytes - std::size_t{2}, scale);
      break;
    default:
      put(0, scale);
  }
}

}  // namespace zrt::test
