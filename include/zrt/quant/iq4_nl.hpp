// SPDX-License-Identifier: Apache-2.0
// zrt/quant/iq4_nl.hpp: IQ4_NL, 32 values of a codebook of 16 under one f16 scale.
#pragma once

#include <zrt/quant/codebooks.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, then 16 bytes of halves as in Q4_0. The value of a half h is kIq4Levels[h] * d.
///
/// Source: the GGUF file format, type 20.
template <> struct Layout<DType::iq4_nl> : BlockOfRuns<DType::iq4_nl> {
  using Integers = IntegerSet<kIq4Levels>;

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    look_up_halves(kIq4Levels, block + 2, 16, q);
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    find_halves<Integers>(q, 16, block + 2);
  }
};

static_assert(BlockLayout<Layout<DType::iq4_nl>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
