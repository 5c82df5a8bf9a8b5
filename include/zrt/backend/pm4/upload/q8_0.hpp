// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/upload/q8_0.hpp: Q8_0 in three parts: first and second halves of all blocks, then the scales.
#pragma once

#include <zrt/backend/pm4/upload/part.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// low and high are the two pieces of 16 signed bytes behind the scale of each block, d the scales in f16, in groups of the
/// 32 rows of a wave.
template <> struct Upload<DType::q8_0> {
  static constexpr DType kDType = DType::q8_0;
  static constexpr std::array<UploadPart, 3> kParts{{{"low", 16, 32}, {"high", 16, 32}, {"d", 2, 32, 8}}};

  static constexpr void split(const std::byte* block, std::byte* const* to) noexcept {
    for (std::size_t i = 0; i < 16; ++i) to[0][i] = block[2 + i];
    for (std::size_t i = 0; i < 16; ++i) to[1][i] = block[18 + i];
    for (std::size_t i = 0; i < 2; ++i) to[2][i] = block[i];
  }
};
static_assert(UploadLayout<Upload<DType::q8_0>>);

}  // namespace zrt::inline ZRT_ABI::pm4
