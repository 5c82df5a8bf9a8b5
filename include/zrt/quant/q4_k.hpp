// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q4_k.hpp: Q4_K, 256 four-bit values in runs of 32 with six-bit scales and offsets.
#pragma once

#include <zrt/quant/k_scales.hpp>

namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, f16 dmin, 12 bytes of scales, 128 bytes. Byte 32c + l holds value 64c + l in its low
/// half and value 64c + 32 + l in its high half.
///
/// Source: the GGUF file format, type 12.
template <> struct Layout<DType::q4_k> : KOffsetLayout<DType::q4_k> {
  using Integers = IntegerRange<0, 15>;

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t c = 0; c < 4; ++c) split_halves(block + 16 + 32 * c, 32, q + 64 * c);
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    for (std::uint32_t c = 0; c < 4; ++c) join_halves(q + 64 * c, 32, block + 16 + 32 * c);
  }
};

static_assert(OffsetLayout<Layout<DType::q4_k>>);

}  // namespace zrt::inline ZRT_ABI::quant
