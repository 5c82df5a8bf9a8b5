// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q3_k.hpp: Q3_K, 256 three-bit values centred on 4 in runs of 16 with six-bit scales.
#pragma once

#include <zrt/quant/forms.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: 32 bytes of third bits, 64 bytes of pairs, 12 bytes of scales, f16 d; the value is d·(scale - 32)·(h - 4).
/// Bit a of byte l of the thirds belongs to value 32a + l. Scales 0..7 have their low four bits in the low halves of
/// bytes 0..7, scales 8..15 in the high halves; the top two of scale j are pair j / 4 of byte 8 + j mod 4.
///
/// Source: the GGUF file format, type 11.
template <> struct Layout<DType::q3_k> : BlockOfParts<DType::q3_k, 16> {
  using Integers = IntegerRange<-4, 3>;
  static constexpr std::uint32_t kScaleAt = 108;
  static constexpr std::int32_t kLeastFactor = -32;
  static constexpr std::int32_t kMostFactor = 31;

  static constexpr void factors(const std::byte* block, Factors& f) noexcept {
    for (std::uint32_t j = 0; j < 16; ++j) {
      const unsigned low = std::to_integer<unsigned>(block[96 + j % 8]) >> j / 8 * 4 & 15u;
      const unsigned top = std::to_integer<unsigned>(block[104 + j % 4]) >> j / 4 * 2 & 3u;
      f.scale[j] = static_cast<std::int8_t>(static_cast<int>(low | top << 4) - 32);
    }
  }
  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    unpack_pairs(block + 32, q);
    for (std::uint32_t a = 0; a < 8; ++a)
      for (std::uint32_t l = 0; l < 32; ++l) {
        const int third = std::to_integer<int>(block[l]) >> a & 1;
        q[32 * a + l] = static_cast<std::int8_t>(q[32 * a + l] + 4 * third - 4);
      }
  }
  static constexpr void store_factors(const Factors& f, std::byte* block) noexcept {
    for (std::uint32_t j = 0; j < 12; ++j) block[96 + j] = std::byte{0};
    for (std::uint32_t j = 0; j < 16; ++j) {
      const auto stored = static_cast<unsigned>(f.scale[j] + 32);
      block[96 + j % 8] |= static_cast<std::byte>((stored & 15u) << j / 8 * 4);
      block[104 + j % 4] |= static_cast<std::byte>((stored >> 4) << j / 4 * 2);
    }
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    std::int8_t codes[kElems];
    for (std::uint32_t j = 0; j < kElems; ++j) codes[j] = static_cast<std::int8_t>(q[j] + 4);
    pack_pairs(codes, block + 32);
    for (std::uint32_t l = 0; l < 32; ++l) {
      unsigned thirds = 0;
      for (std::uint32_t a = 0; a < 8; ++a) thirds |= (static_cast<unsigned>(codes[32 * a + l]) >> 2) << a;
      block[l] = static_cast<std::byte>(thirds);
    }
  }
};

static_assert(BlockLayout<Layout<DType::q3_k>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
