// SPDX-License-Identifier: Apache-2.0
// zrt/device/upload/q6_k.hpp: Q6_K in four parts: low halves, top bit pairs, scales of runs, scales of blocks.
#pragma once

#include <zrt/device/upload/part.hpp>

namespace zrt::inline ZRT_ABI::device {

/// low is the block's 128 bytes of low halves. Piece k of its eight has 16 values in the low halves, and 16 values that come
/// 64 later in the high halves. top has the pairs of these 32 values in 8 bytes: byte m has the pair of value 4i + m in
/// bits 2i and 2i + 1, bytes 0 to 3 for the low halves, 4 to 7 for the high ones; so a dword, shifted and masked, fits a
/// dword of halves. The upper bit of each pair is turned over, which takes 32 from the value: low half and pair are a
/// signed number of six bits. scales are the 16 signed bytes.
template <> struct Upload<DType::q6_k> {
  static constexpr DType kDType = DType::q6_k;
  static constexpr std::array<UploadPart, 4> kParts{{{"low", 128, 1, 8}, {"top", 64, 1, 4}, {"scales", 16}, {"d", 2}}};

  static constexpr void split(const std::byte* block, std::byte* const* to) noexcept {
    for (std::size_t i = 0; i < 128; ++i) to[0][i] = block[i];
    for (std::size_t piece = 0; piece < 8; ++piece) {
      // The file's top byte of a value is that of its place in 32; pieces with bit 1 set have the second 32 values.
      const std::byte* from = block + 128 + piece / 4 * 32 + piece % 2 * 16;
      const std::size_t shift = piece / 2 % 2 * 2;
      for (std::size_t high = 0; high < 2; ++high)
        for (std::size_t m = 0; m < 4; ++m) {
          unsigned byte = 0;
          for (std::size_t i = 0; i < 4; ++i)
            byte |= (std::to_integer<unsigned>(from[4 * i + m]) >> (shift + 4 * high) & 3u) << 2 * i;
          to[1][piece * 8 + high * 4 + m] = static_cast<std::byte>(byte ^ 0xaau);
        }
    }
    for (std::size_t i = 0; i < 16; ++i) to[2][i] = block[192 + i];
    for (std::size_t i = 0; i < 2; ++i) to[3][i] = block[208 + i];
  }
};
static_assert(UploadLayout<Upload<DType::q6_k>>);

}  // namespace zrt::inline ZRT_ABI::device
