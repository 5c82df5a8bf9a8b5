// SPDX-License-Identifier: Apache-2.0
// zrt/device/upload/q4_k.hpp: Q4_K in two parts: the half bytes of all blocks, then what stands before them.
#pragma once

#include <zrt/device/upload/part.hpp>

namespace zrt::inline ZRT_ABI::device {

/// q is the 128 bytes of each block, head its first 16: d, dmin and the twelve bytes of six-bit scales.
template <> struct Upload<DType::q4_k> {
  static constexpr DType kDType = DType::q4_k;
  static constexpr std::array<UploadPart, 2> kParts{{{"q", 128, 1, 8}, {"head", 16}}};

  static constexpr void split(const std::byte* block, std::byte* const* to) noexcept {
    for (std::size_t i = 0; i < 128; ++i) to[0][i] = block[16 + i];
    for (std::size_t i = 0; i < 16; ++i) to[1][i] = block[i];
  }
};
static_assert(UploadLayout<Upload<DType::q4_k>>);

}  // namespace zrt::inline ZRT_ABI::device
