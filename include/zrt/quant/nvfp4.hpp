// SPDX-License-Identifier: Apache-2.0
// zrt/quant/nvfp4.hpp: NVFP4, 64 four-bit floats in runs of 16 under an E4M3 scale.
#pragma once

#include <zrt/quant/codebooks.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: 4 scales, then 4 runs of 8 bytes. The low half of byte j is value j of the run, the high half value j + 8. A
/// scale is an E4M3 float without sign; the codebook is that of MXFP4, so the scale is halved.
/// The scale 0x7f, a NaN, counts as 0.
///
/// Source: the GGUF file format, type 40.
template <> struct Layout<DType::nvfp4> : BlockOfRuns<DType::nvfp4, 16> {
  using Integers = IntegerSet<kE2m1Levels>;
  static constexpr DType kScaleType = DType::bf16;  // holds every scale
  static constexpr std::uint32_t kUnderScale = 16;

  static constexpr float scale(const std::byte* block, std::uint32_t run) noexcept {
    const auto bits = std::to_integer<std::uint32_t>(block[run]);
    const std::uint32_t e = bits >> 3 & 15u;
    const std::uint32_t m = bits & 7u;
    if (bits == 0x7f) return 0.0f;
    // 2^-10 per unit of the fraction where the exponent is 0; else 2^(e - 8) (1 + m / 8).
    return e == 0 ? static_cast<float>(m) * 0x1p-10f : std::bit_cast<float>((e + 119) << 23 | m << 20);
  }
  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t run = 0; run < 4; ++run) look_up_halves(kE2m1Levels, block + 4 + 8 * run, 8, q + 16 * run);
  }
  static constexpr void store_scale(std::byte* block, std::uint32_t run, float d) noexcept {
    std::uint32_t low = 0;
    std::uint32_t high = 0x7e;
    const auto at = [&](std::uint32_t bits) {
      block[run] = static_cast<std::byte>(bits);
      return scale(block, run);
    };
    // The codes ascend with their values.
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (at(middle) <= d ? low : high) = middle;
    }
    const bool nearer = at(high) - d < d - at(low);
    (void)at(nearer ? high : low);
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    for (std::uint32_t run = 0; run < 4; ++run) find_halves<Integers>(q + 16 * run, 8, block + 4 + 8 * run);
  }
};

static_assert(BlockLayout<Layout<DType::nvfp4>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
