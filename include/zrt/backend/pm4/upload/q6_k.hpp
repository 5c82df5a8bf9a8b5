// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/upload/q6_k.hpp: Q6_K in four parts: low halves, top bit pairs, scales of runs, scales of blocks.
#pragma once

#include <zrt/backend/pm4/upload/part.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// low is the block's 128 bytes of low halves. Lane k of eight takes 16 of them: 16 values in the low halves, and 16
/// values that come 64 later in the high halves. top has the pairs of these 32 values in 8 bytes of lane k: byte m has
/// the pair of value 4i + m in bits 2i and 2i + 1, bytes 0 to 3 for the low halves, 4 to 7 for the high ones; so a
/// dword, shifted and masked, fits a dword of halves. scales are the 16 signed bytes; they and d come
/// in groups of the eight rows of a wave.
template <> struct Upload<DType::q6_k> {
  static constexpr DType kDType = DType::q6_k;
  static constexpr std::array<UploadPart, 4> kParts{{{"low", 128}, {"top", 64}, {"scales", 16, 8}, {"d", 2, 8}}};

  static constexpr void split(const std::byte* block, std::byte* const* to) noexcept {
    for (std::size_t i = 0; i < 128; ++i) to[0][i] = block[i];
    for (std::size_t lane = 0; lane < 8; ++lane) {
      // The file's top byte of a value is that of its place in 32; lanes with bit 1 set take the second 32 values.
      const std::byte* from = block + 128 + lane / 4 * 32 + lane % 2 * 16;
      const std::size_t shift = lane / 2 % 2 * 2;
      for (std::size_t high = 0; high < 2; ++high)
        for (std::size_t m = 0; m < 4; ++m) {
          unsigned byte = 0;
          for (std::size_t i = 0; i < 4; ++i)
            byte |= (std::to_integer<unsigned>(from[4 * i + m]) >> (shift + 4 * high) & 3u) << 2 * i;
          to[1][lane * 8 + high * 4 + m] = static_cast<std::byte>(byte);
        }
    }
    for (std::size_t i = 0; i < 16; ++i) to[2][i] = block[192 + i];
    for (std::size_t i = 0; i < 2; ++i) to[3][i] = block[208 + i];
  }
};
static_assert(UploadLayout<Upload<DType::q6_k>>);

}  // namespace zrt::inline ZRT_ABI::pm4
