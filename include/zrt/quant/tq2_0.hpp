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
  using Integers = IntegerRange<-1, 1>;
  static constexpr std::uint32_t kScaleAt = 64;

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    unpack_pairs(block, q);
    for (std::uint32_t k = 0; k < kElems; ++k) q[k] = static_cast<std::int8_t>(q[k] - 1);
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    std::int8_t codes[kElems];
    for (std::uint32_t j = 0; j < kElems; ++j) codes[j] = static_cast<std::int8_t>(q[j] + 1);
    pack_pairs(codes, block);
  }
};

static_assert(BlockLayout<Layout<DType::tq2_0>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
