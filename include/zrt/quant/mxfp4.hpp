// SPDX-License-Identifier: Apache-2.0
// zrt/quant/mxfp4.hpp: MXFP4, 32 four-bit floats under one power of two.
#pragma once

#include <zrt/quant/codebooks.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: a biased exponent e, then 16 bytes of halves as in Q4_0. The value of a half h is its E2M1 float times
/// 2^(e - 127). The codebook holds twice the float, an integer, so the scale is half the power.
///
/// Source: the GGUF file format, type 39; OCP Microscaling Formats (MX) Specification 1.0, sections 5.3 and 5.4.
template <> struct Layout<DType::mxfp4> : BlockOfRuns<DType::mxfp4> {
  using Integers = IntegerSet<kE2m1Levels>;
  static constexpr DType kScaleType = DType::bf16;  // holds every scale

  /// 2^(e - 128), which is subnormal for e below 2.
  static constexpr float scale(const std::byte* block, std::uint32_t) noexcept {
    const auto e = std::to_integer<std::uint32_t>(block[0]);
    return std::bit_cast<float>(e < 2 ? 0x200000u << e : (e - 1) << 23);
  }
  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    look_up_halves(kE2m1Levels, block + 1, 16, q);
  }
  /// The power of two above or below `d` that is nearer, as ratios go.
  static constexpr void store_scale(std::byte* block, std::uint32_t, float d) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(d < 0.0f ? -d : d);
    // Half of the mantissa's range rounds up; what is subnormal as a scale becomes the least normal one.
    const std::uint32_t e = ((bits + 0x4afb0du) >> 23) + 1;
    block[0] = static_cast<std::byte>(e > 254 ? 254u : e);
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    find_halves<Integers>(q, 16, block + 1);
  }
};

static_assert(BlockLayout<Layout<DType::mxfp4>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
