// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q4_1.hpp: Q4_1, 32 four-bit values under one f16 scale and one f16 offset.
#pragma once

#include <zrt/quant/forms.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, f16 m, then 16 bytes of halves as in Q4_0. The value of a half h is h * d + m.
///
/// Source: the GGUF file format, type 3.
template <> struct Layout<DType::q4_1> : BlockWithOffset<DType::q4_1> {
  using Integers = IntegerRange<0, 15>;

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept { split_halves(block + 4, 16, q); }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept { join_halves(q, 16, block + 4); }
};

static_assert(OffsetLayout<Layout<DType::q4_1>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
