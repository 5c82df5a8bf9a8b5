// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q8_0.hpp: Q8_0, 32 signed bytes under one f16 scale.
#pragma once

#include <zrt/quant/forms.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, then int8 q[32]. Value j is q[j] * d.
///
/// Source: the GGUF file format, type 8.
template <> struct Layout<DType::q8_0> : BlockOfRuns<DType::q8_0> {
  using Integers = IntegerRange<-127, 127>;

  static void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t j = 0; j < kElems; ++j) q[j] = signed_bytes(block + 2)[j];
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    for (std::uint32_t j = 0; j < kElems; ++j) block[2 + j] = static_cast<std::byte>(q[j]);
  }
};

static_assert(BlockLayout<Layout<DType::q8_0>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
