// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q5_1.hpp: Q5_1, 32 five-bit values under one f16 scale and one f16 offset.
#pragma once

#include <zrt/quant/forms.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, f16 m, then 20 bytes of fifth bits and halves as in Q5_0. The value of five bits h is h * d + m.
///
/// Source: the GGUF file format, type 7.
template <> struct Layout<DType::q5_1> : BlockWithOffset<DType::q5_1> {
  using Integers = IntegerRange<0, 31>;

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept { unpack_fifths(block + 4, q); }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept { pack_fifths(q, block + 4); }
};

static_assert(OffsetLayout<Layout<DType::q5_1>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
