// SPDX-License-Identifier: Apache-2.0
// zrt/device/upload/q8_0.hpp: Q8_0 in two parts: the signed bytes of all blocks, then the scales.
#pragma once

#include <zrt/device/upload/part.hpp>

namespace zrt::inline ZRT_ABI::device {

/// q is what stands behind the scale of each block, d the scales in f16.
template <> struct Upload<DType::q8_0> {
  static constexpr DType kDType = DType::q8_0;
  static constexpr std::array<UploadPart, 2> kParts{{{"q", 32, 1, 2}, {"d", 2, 8}}};

  static constexpr void split(const std::byte* block, std::byte* const* to) noexcept {
    for (std::size_t i = 0; i < 32; ++i) to[0][i] = block[2 + i];
    for (std::size_t i = 0; i < 2; ++i) to[1][i] = block[i];
  }
};
static_assert(UploadLayout<Upload<DType::q8_0>>);

}  // namespace zrt::inline ZRT_ABI::device
