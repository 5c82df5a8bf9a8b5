// SPDX-License-Identifier: Apache-2.0
// zrt/quant/plain.hpp: the weight types without blocks: f32, f16 and bf16.
#pragma once

#include <zrt/quant/layout.hpp>

#include <bit>

namespace zrt::inline ZRT_ABI::quant {

template <> struct Layout<DType::f32> {
  static constexpr DType kDType = DType::f32;
  static constexpr std::uint32_t kElems = 1;
  static constexpr std::uint32_t kBytes = 4;
  static constexpr Act kAct = Act::none;

  static constexpr void dequantise(const std::byte* blocks, std::uint64_t elems, float* out) noexcept {
    for (std::uint64_t i = 0; i < elems; ++i) out[i] = std::bit_cast<float>(read_u32(blocks + i * kBytes));
  }
};

template <> struct Layout<DType::f16> {
  static constexpr DType kDType = DType::f16;
  static constexpr std::uint32_t kElems = 1;
  static constexpr std::uint32_t kBytes = 2;
  static constexpr Act kAct = Act::none;

  static constexpr void dequantise(const std::byte* blocks, std::uint64_t elems, float* out) noexcept {
    for (std::uint64_t i = 0; i < elems; ++i) out[i] = read_f16(blocks + i * kBytes);
  }
};

template <> struct Layout<DType::bf16> {
  static constexpr DType kDType = DType::bf16;
  static constexpr std::uint32_t kElems = 1;
  static constexpr std::uint32_t kBytes = 2;
  static constexpr Act kAct = Act::none;

  static constexpr void dequantise(const std::byte* blocks, std::uint64_t elems, float* out) noexcept {
    for (std::uint64_t i = 0; i < elems; ++i) out[i] = to_f32(BFloat16{read_u16(blocks + i * kBytes)});
  }
};

static_assert(WeightLayout<Layout<DType::f32>> && WeightLayout<Layout<DType::f16>> &&
              WeightLayout<Layout<DType::bf16>>);

}  // namespace zrt::inline ZRT_ABI::quant
