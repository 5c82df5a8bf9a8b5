// SPDX-License-Identifier: Apache-2.0
// examples/types/q4_1.hpp: the weight type Q4_1, added by a host; every source of the program includes it first.
#pragma once

#include <zrt/quant/layout.hpp>

ZRT_FP_BEGIN

/// Block of 32: f16 d, f16 m, then 16 bytes. The low half of byte j is value j, the high half value j + 16; the value
/// of a half h is h * d + m.
template <> struct zrt::quant::Layout<zrt::DType::q4_1> {
  static constexpr DType kDType = DType::q4_1;
  static constexpr std::uint32_t kElems = 32;
  static constexpr std::uint32_t kBytes = 20;
  static constexpr Act kAct = Act::q8_32;    // activations are rounded in groups of 32
  static constexpr std::uint32_t kRun = 32;  // elements under one weight scale and one activation scale
  static constexpr bool kHasOffset = true;

  static constexpr float scale(const std::byte* block, std::uint32_t) noexcept { return read_f16(block); }
  static constexpr float offset(const std::byte* block, std::uint32_t) noexcept { return read_f16(block + 2); }

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t j = 0; j < 16; ++j) {
      const int byte = std::to_integer<int>(block[4 + j]);
      q[j] = static_cast<std::int8_t>(byte & 15);
      q[j + 16] = static_cast<std::int8_t>(byte >> 4);
    }
  }
  /// The exact integer sum of halves times activations, and of activations alone.
  static constexpr std::int32_t dot(const std::byte* block, std::uint32_t, const std::int8_t* x) noexcept {
    std::int32_t sum = 0;
    for (std::uint32_t j = 0; j < 16; ++j) {
      const int byte = std::to_integer<int>(block[4 + j]);
      sum += (byte & 15) * x[j] + (byte >> 4) * x[j + 16];
    }
    return sum;
  }
  static constexpr std::int32_t offset_sum(const std::byte*, std::uint32_t, const std::int8_t* x) noexcept {
    std::int32_t sum = 0;
    for (std::uint32_t j = 0; j < kRun; ++j) sum += x[j];
    return sum;
  }

  static constexpr void dequantise(const std::byte* blocks, std::uint64_t elems, float* out) noexcept {
    for (std::uint64_t i = 0; i < elems; i += kElems, blocks += kBytes) {
      const float d = read_f16(blocks);
      const float m = read_f16(blocks + 2);
      std::int8_t q[kElems]{};
      unpack(blocks, q);
      for (std::uint32_t j = 0; j < kElems; ++j) out[i + j] = __builtin_fmaf(static_cast<float>(q[j]), d, m);
    }
  }
};
static_assert(zrt::quant::OffsetLayout<zrt::quant::Layout<zrt::DType::q4_1>>);

template <> struct zrt::quant::HostTypes<void> {
  using List = boost::mp11::mp_list<Layout<DType::q4_1>>;
};

ZRT_FP_END
