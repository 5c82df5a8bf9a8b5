// SPDX-License-Identifier: Apache-2.0
// zrt/quant/k_scales.hpp: the eight six-bit scales and offsets of Q4_K and Q5_K.
#pragma once

#include <zrt/quant/layout.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::quant {

/// Integer factors of the eight runs of 32 in a block of 256.
struct KScales {
  std::array<std::uint8_t, 8> scale{};
  std::array<std::uint8_t, 8> offset{};
};

/// Unpacks twelve bytes. Runs 0..3 have their low six bits in bytes 0..3 (scale) and 4..7 (offset);
/// runs 4..7 have four bits in bytes 8..11 and two in the tops of the others.
[[nodiscard]] constexpr KScales read_k_scales(const std::byte* bytes) noexcept {
  KScales s;
  for (std::size_t j = 0; j < 4; ++j) {
    const auto a = std::to_integer<unsigned>(bytes[j]);
    const auto b = std::to_integer<unsigned>(bytes[j + 4]);
    const auto c = std::to_integer<unsigned>(bytes[j + 8]);
    s.scale[j] = static_cast<std::uint8_t>(a & 63u);
    s.offset[j] = static_cast<std::uint8_t>(b & 63u);
    s.scale[j + 4] = static_cast<std::uint8_t>((c & 15u) | a >> 6 << 4);
    s.offset[j + 4] = static_cast<std::uint8_t>(c >> 4 | b >> 6 << 4);
  }
  return s;
}

/// What Q4_K and Q5_K share: a block of 256 in runs of 32 with value d·scale·q - dmin·offset.
///
/// T supplies kBytes and `unpack`. The block is one run: sub-scales are part of the integer sums.
template <class T> struct KOffsetLayout {
  static constexpr std::uint32_t kElems = 256;
  static constexpr Act kAct = Act::q8_256;
  static constexpr std::uint32_t kRun = 256;
  static constexpr bool kHasOffset = true;

  static constexpr float scale(const std::byte* block, std::uint32_t) noexcept { return read_f16(block); }
  static constexpr float offset(const std::byte* block, std::uint32_t) noexcept { return -read_f16(block + 2); }

  static constexpr std::int32_t dot(const std::byte* block, std::uint32_t, const std::int8_t* x) noexcept {
    const KScales s = read_k_scales(block + 4);
    std::int8_t q[kElems]{};
    T::unpack(block, q);
    std::int32_t sum = 0;
    for (std::uint32_t j = 0; j < 8; ++j) {
      std::int32_t run = 0;
      for (std::uint32_t i = 32 * j; i < 32 * j + 32; ++i) run += q[i] * x[i];
      sum += s.scale[j] * run;
    }
    return sum;
  }
  static constexpr std::int32_t offset_sum(const std::byte* block, std::uint32_t, const std::int8_t* x) noexcept {
    const KScales s = read_k_scales(block + 4);
    std::int32_t sum = 0;
    for (std::uint32_t j = 0; j < 8; ++j) {
      std::int32_t run = 0;
      for (std::uint32_t i = 32 * j; i < 32 * j + 32; ++i) run += x[i];
      sum += s.offset[j] * run;
    }
    return sum;
  }

  /// value = fma(d·scale, q, -(dmin·offset)), both products rounded to f32 first.
  static constexpr void dequantise(const std::byte* blocks, std::uint64_t elems, float* out) noexcept {
    for (std::uint64_t i = 0; i < elems; i += kElems, blocks += T::kBytes) {
      const KScales s = read_k_scales(blocks + 4);
      const float d = read_f16(blocks);
      const float dmin = read_f16(blocks + 2);
      std::int8_t q[kElems]{};
      T::unpack(blocks, q);
      for (std::uint32_t k = 0; k < kElems; ++k) {
        const float factor = d * static_cast<float>(s.scale[k / 32]);
        const float low = dmin * static_cast<float>(s.offset[k / 32]);
        out[i + k] = __builtin_fmaf(factor, static_cast<float>(q[k]), -low);
      }
    }
  }
};

}  // namespace zrt::inline ZRT_ABI::quant
