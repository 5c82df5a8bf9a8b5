// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q4_0.hpp: Q4_0, 32 four-bit values centred on 8 under one f16 scale.
#pragma once

#include <zrt/quant/forms.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, then 16 bytes. The low half of byte j is value j, the high half value j + 16;
/// the value of a half h is (h - 8) * d.
///
/// Source: the GGUF file format, type 2.
template <> struct Layout<DType::q4_0> : BlockOfRuns<DType::q4_0> {
  using Integers = IntegerRange<-8, 7>;

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    split_halves(block + 2, 16, q);
    for (std::uint32_t j = 0; j < kElems; ++j) q[j] = static_cast<std::int8_t>(q[j] - 8);
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    std::int8_t codes[kElems];
    for (std::uint32_t j = 0; j < kElems; ++j) codes[j] = static_cast<std::int8_t>(q[j] + 8);
    join_halves(codes, 16, block + 2);
  }
};

static_assert(BlockLayout<Layout<DType::q4_0>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
