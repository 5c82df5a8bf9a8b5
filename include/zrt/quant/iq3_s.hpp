// SPDX-License-Identifier: Apache-2.0
// zrt/quant/iq3_s.hpp: IQ3_S, 256 values in fours of a grid of 512 with signs.
#pragma once

#include <zrt/quant/grid_entries.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, 64 low bytes of entries, 8 bytes of the entries' ninth bits, 32 bytes of signs, 8 scales s in halves.
/// The value is d · (2 s + 1) · the entry's.
///
/// Source: the GGUF file format, type 21.
template <> struct Layout<DType::iq3_s> : BlockOfParts<DType::iq3_s, 32> {
  static constexpr auto& kGrid = kIq3S;
  static constexpr std::uint32_t kEach = 4;  // values of an entry
  static constexpr GridSigns kSigns = GridSigns::free;
  static constexpr auto kLevels = signed_levels(kIq3SLevels, kSigns);
  static constexpr std::int32_t kMostFactor = 31;

  static constexpr void factors(const std::byte* block, Factors& f) noexcept { odd_factors(block + 106, 8, f); }

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t o = 0; o < 32; ++o) {
      const unsigned tops = std::to_integer<unsigned>(block[66 + o / 4]) >> 2 * (o % 4);
      const std::uint64_t first = kIq3S[std::to_integer<unsigned>(block[2 + 2 * o]) | (tops & 1u) << 8];
      const std::uint64_t second = kIq3S[std::to_integer<unsigned>(block[3 + 2 * o]) | (tops & 2u) << 7];
      put_eight(negate(first | second << 32, std::to_integer<unsigned>(block[74 + o])), q + 8 * o);
    }
  }
  static constexpr void store_entry(std::byte* block, std::uint32_t at, unsigned entry) noexcept {
    block[2 + at] = static_cast<std::byte>(entry & 255u);
    block[66 + at / 8] |= static_cast<std::byte>((entry >> 8) << at % 8);
  }
  static constexpr void store_signs(std::byte* block, std::uint32_t o, unsigned signs) noexcept {
    block[74 + o] = static_cast<std::byte>(signs);
  }
  static constexpr void store_factors(const Factors& f, std::byte* block) noexcept {
    store_odd_factors(f, 8, block + 106);
  }
};

static_assert(BlockLayout<Layout<DType::iq3_s>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
