// SPDX-License-Identifier: Apache-2.0
// zrt/device/upload/q5_k.hpp: Q5_K in three parts: the half bytes of all blocks, their fifth bits, then the scales.
#pragma once

#include <zrt/device/upload/part.hpp>

namespace zrt::inline ZRT_ABI::device {

/// q is the last 128 bytes of each block, top the 32 bytes before them, in which bit r is of run r, and head its first 16:
/// d, dmin and the twelve bytes of six-bit scales.
template <> struct Upload<DType::q5_k> {
  static constexpr DType kDType = DType::q5_k;
  static constexpr std::array<UploadPart, 3> kParts{{{"q", 128, 1, 8}, {"top", 32, 1, 2}, {"head", 16}}};

  static constexpr void split(const std::byte* block, std::byte* const* to) noexcept {
    for (std::size_t i = 0; i < 128; ++i) to[0][i] = block[48 + i];
    for (std::size_t i = 0; i < 32; ++i) to[1][i] = block[16 + i];
    for (std::size_t i = 0; i < 16; ++i) to[2][i] = block[i];
  }
};
static_assert(UploadLayout<Upload<DType::q5_k>>);

}  // namespace zrt::inline ZRT_ABI::device
