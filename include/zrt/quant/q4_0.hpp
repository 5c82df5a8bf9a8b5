// SPDX-License-Identifier: Apache-2.0
// zrt/quant/q4_0.hpp: Q4_0, 32 four-bit values centred on 8 under one f16 scale.
#pragma once

#include <zrt/quant/layout.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: f16 d, then 16 bytes. The low half of byte j is value j, the high half value j + 16;
/// the value of a half h is (h - 8) * d.
///
/// Source: the GGUF file format, type 2.
template <> struct Layout<DType::q4_0> {
  static constexpr DType kDType = DType::q4_0;
  static constexpr std::uint32_t kElems = 32;
  static constexpr std::uint32_t kBytes = 18;
  static constexpr Act kAct = Act::q8_32;
  static constexpr std::uint32_t kRun = 32;
  static constexpr bool kHasOffset = false;

  static constexpr float scale(const std::byte* block, std::uint32_t) noexcept { return read_f16(block); }

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t j = 0; j < 16; ++j) {
      const int byte = std::to_integer<int>(block[2 + j]);
      q[j] = static_cast<std::int8_t>((byte & 15) - 8);
      q[j + 16] = static_cast<std::int8_t>((byte >> 4) - 8);
    }
  }

  static constexpr std::int32_t dot(const std::byte* block, std::uint32_t, const std::int8_t* x) noexcept {
    std::int32_t sum = 0;
    for (std::uint32_t j = 0; j < 16; ++j) {
      const int byte = std::to_integer<int>(block[2 + j]);
      sum += ((byte & 15) - 8) * x[j] + ((byte >> 4) - 8) * x[j + 16];
    }
    return sum;
  }

  static constexpr void dequantise(const std::byte* blocks, std::uint64_t elems, float* out) noexcept {
    for (std::uint64_t i = 0; i < elems; i += kElems, blocks += kBytes) {
      const float d = read_f16(blocks);
      std::int8_t q[kElems]{};
      unpack(blocks, q);
      for (std::uint32_t j = 0; j < kElems; ++j) out[i + j] = static_cast<float>(q[j]) * d;
    }
  }
};

static_assert(BlockLayout<Layout<DType::q4_0>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
