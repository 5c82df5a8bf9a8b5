// SPDX-License-Identifier: Apache-2.0
// zrt/device/upload/mxfp4.hpp: MXFP4 in two parts: the half bytes of all blocks, then the exponents.
#pragma once

#include <zrt/device/upload/part.hpp>

namespace zrt::inline ZRT_ABI::device {

/// q is what stands behind the exponent of each block, d the exponents.
template <> struct Upload<DType::mxfp4> {
  static constexpr DType kDType = DType::mxfp4;
  static constexpr std::array<UploadPart, 2> kParts{{{"q", 16}, {"d", 1, 8}}};

  static constexpr void split(const std::byte* block, std::byte* const* to) noexcept {
    for (std::size_t i = 0; i < 16; ++i) to[0][i] = block[1 + i];
    to[1][0] = block[0];
  }
};
static_assert(UploadLayout<Upload<DType::mxfp4>>);

}  // namespace zrt::inline ZRT_ABI::device
