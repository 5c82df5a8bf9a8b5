// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q6_k.hpp: Q6_K, 256 six-bit values centred on 32 in runs of 16 with eight-bit scales.
#pragma once

#include <zrt/quant/forms.hpp>

namespace zrt::inline ZRT_ABI::quant {

/// Block: 128 bytes of low halves, 64 bytes of top bit pairs, 16 signed scales, f16 d; the value is
/// d·scale·(h - 32). Each half of the block has 64 low bytes and 32 top bytes: low byte l + 32a holds
/// values 32a + l and 32a + 64 + l of the half, top byte l the pairs of values l, l+32, l+64, l+96.
///
/// Source: the GGUF file format, type 14.
template <> struct Layout<DType::q6_k> : BlockOfParts<DType::q6_k, 16> {
  using Integers = IntegerRange<-32, 31>;
  static constexpr std::uint32_t kScaleAt = 208;
  static constexpr std::int32_t kLeastFactor = -128;
  static constexpr std::int32_t kMostFactor = 127;

  static void factors(const std::byte* block, Factors& f) noexcept {
    for (std::uint32_t j = 0; j < 16; ++j) f.scale[j] = signed_bytes(block + 192)[j];
  }

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t half = 0; half < 2; ++half)
      for (std::uint32_t l = 0; l < 32; ++l) {
        const auto top = std::to_integer<unsigned>(block[128 + 32 * half + l]);
        for (std::uint32_t a = 0; a < 2; ++a) {
          const auto low = std::to_integer<unsigned>(block[64 * half + 32 * a + l]);
          const int first = static_cast<int>((low & 15u) | (top >> (2 * a) & 3u) << 4);
          const int second = static_cast<int>(low >> 4 | (top >> (2 * a + 4) & 3u) << 4);
          q[128 * half + 32 * a + l] = static_cast<std::int8_t>(first - 32);
          q[128 * half + 32 * a + 64 + l] = static_cast<std::int8_t>(second - 32);
        }
      }
  }
  static constexpr void store_factors(const Factors& f, std::byte* block) noexcept {
    for (std::uint32_t j = 0; j < 16; ++j) block[192 + j] = static_cast<std::byte>(f.scale[j]);
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    for (std::uint32_t half = 0; half < 2; ++half)
      for (std::uint32_t l = 0; l < 32; ++l) {
        const auto code = [&](std::uint32_t at) { return static_cast<unsigned>(q[128 * half + 32 * at + l] + 32); };
        for (std::uint32_t a = 0; a < 2; ++a)
          block[64 * half + 32 * a + l] = static_cast<std::byte>((code(a) & 15u) | (code(a + 2) & 15u) << 4);
        unsigned top = 0;
        for (std::uint32_t at = 0; at < 4; ++at) top |= (code(at) >> 4) << 2 * at;
        block[128 + 32 * half + l] = static_cast<std::byte>(top);
      }
  }
};

static_assert(BlockLayout<Layout<DType::q6_k>>);

}  // namespace zrt::inline ZRT_ABI::quant
