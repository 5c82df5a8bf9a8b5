// SPDX-License-Identifier: Apache-2.0
// zrt/quant/tq2_0.hpp: TQ2_0, 256 ternary values in two bits each under one f16 scale.
#pragma once

#include <zrt/quant/forms.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: 64 bytes of pairs, f16 d. The value of a pair h is (h - 1) * d.
///
/// Source: the GGUF file format, type 35.
template <> struct Layout<DType::tq2_0> : BlockOfParts<DType::tq2_0, 256> {
  static constexpr float scale(const std::byte* block, std::uint32_t) noexcept { return read_f16(block + 64); }
  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    unpack_pairs(block, q);
    for (std::uint32_t k = 0; k < kElems; ++k) q[k] = static_cast<std::int8_t>(q[k] - 1);
  }
};

static_assert(BlockLayout<Layout<DType::tq2_0>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
