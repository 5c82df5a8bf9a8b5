// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q1_0.hpp: Q1_0, 128 signs under one f16 scale.
#pragma once

#include <zrt/quant/forms.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

inline constexpr std::int8_t kSigns[2]{-1, 1};

/// Block: f16 d, then 16 bytes. Bit j of them, lowest first, is value j: d where it is set, else -d.
///
/// Source: the GGUF file format, type 41.
template <> struct Layout<DType::q1_0> : BlockOfRuns<DType::q1_0> {
  using Integers = IntegerSet<kSigns>;

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t j = 0; j < kElems; ++j) {
      const int bit = std::to_integer<int>(block[2 + j / 8]) >> j % 8 & 1;
      q[j] = static_cast<std::int8_t>(2 * bit - 1);
    }
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    for (std::uint32_t i = 0; i < kElems / 8; ++i) {
      unsigned byte = 0;
      for (std::uint32_t j = 0; j < 8; ++j) byte |= (q[8 * i + j] > 0 ? 1u : 0u) << j;
      block[2 + i] = static_cast<std::byte>(byte);
    }
  }
};

static_assert(BlockLayout<Layout<DType::q1_0>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
