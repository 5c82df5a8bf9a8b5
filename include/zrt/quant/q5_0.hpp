// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q5_0.hpp: Q5_0, 32 five-bit values centred on 16 under one f16 scale.
#pragma once

#include <zrt/quant/forms.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, 4 bytes of fifth bits, then 16 bytes of halves as in Q4_0. Bit j of the four bytes is the fifth of
/// value j; the value of five bits h is (h - 16) * d.
///
/// Source: the GGUF file format, type 6.
template <> struct Layout<DType::q5_0> : BlockOfRuns<DType::q5_0> {
  using Integers = IntegerRange<-16, 15>;

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    unpack_fifths(block + 2, q);
    for (std::uint32_t j = 0; j < kElems; ++j) q[j] = static_cast<std::int8_t>(q[j] - 16);
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    std::int8_t codes[kElems];
    for (std::uint32_t j = 0; j < kElems; ++j) codes[j] = static_cast<std::int8_t>(q[j] + 16);
    pack_fifths(codes, block + 2);
  }
};

static_assert(BlockLayout<Layout<DType::q5_0>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
