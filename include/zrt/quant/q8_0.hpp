// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q8_0.hpp: Q8_0, 32 signed bytes under one f16 scale.
#pragma once

#include <zrt/quant/layout.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, then int8 q[32]. Value j is q[j] * d.
///
/// Source: the GGUF file format, type 8.
template <> struct Layout<DType::q8_0> {
  static constexpr DType kDType = DType::q8_0;
  static constexpr std::uint32_t kElems = 32;
  static constexpr std::uint32_t kBytes = 34;
  static constexpr Act kAct = Act::q8_32;
  static constexpr std::uint32_t kRun = 32;
  static constexpr bool kHasOffset = false;

  static constexpr float scale(const std::byte* block, std::uint32_t) noexcept { return read_f16(block); }

  static void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t j = 0; j < kElems; ++j) q[j] = signed_bytes(block + 2)[j];
  }

  static std::int32_t dot(const std::byte* block, std::uint32_t, const std::int8_t* x) noexcept {
    const std::int8_t* q = signed_bytes(block + 2);
    std::int32_t sum = 0;
    for (std::uint32_t j = 0; j < kElems; ++j) sum += q[j] * x[j];
    return sum;
  }

  static void dequantise(const std::byte* blocks, std::uint64_t elems, float* out) noexcept {
    for (std::uint64_t i = 0; i < elems; i += kElems, blocks += kBytes) {
      const float d = read_f16(blocks);
      for (std::uint32_t j = 0; j < kElems; ++j) out[i + j] = static_cast<float>(signed_bytes(blocks + 2)[j]) * d;
    }
  }
};

static_assert(BlockLayout<Layout<DType::q8_0>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
