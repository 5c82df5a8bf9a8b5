// SPDX-License-Identifier: Apache-2.0
// zrt/quant/tq1_0.hpp: TQ1_0, 256 ternary values, five in a byte, under one f16 scale.
#pragma once

#include <zrt/quant/forms.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Block: 32, then 16 bytes of five digits, 4 bytes of four digits, f16 d. Byte l of a stretch of n holds values l, n +
/// l, 2n + l and so on; digit a, the first being the most significant, is the integer part of 3 · (3^a · byte mod 256)
/// / 256; the value of a digit h is (h - 1) * d.
///
/// Source: the GGUF file format, type 34.
template <> struct Layout<DType::tq1_0> : BlockOfParts<DType::tq1_0, 256> {
  using Integers = IntegerRange<-1, 1>;
  static constexpr std::uint32_t kScaleAt = 52;

  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    digits(block, 32, 5, q);
    digits(block + 32, 16, 5, q + 160);
    digits(block + 48, 4, 4, q + 240);
  }
  static constexpr void pack(const std::int8_t* q, std::byte* block) noexcept {
    join_digits(q, 32, 5, block);
    join_digits(q + 160, 16, 5, block + 32);
    join_digits(q + 240, 4, 4, block + 48);
  }

 private:
  static constexpr void digits(const std::byte* bytes, std::uint32_t count, std::uint32_t per_byte,
                               std::int8_t* q) noexcept {
    for (std::uint32_t l = 0; l < count; ++l) {
      auto rest = std::to_integer<unsigned>(bytes[l]);
      for (std::uint32_t a = 0; a < per_byte; ++a, rest = rest * 3 & 255u)
        q[a * count + l] = static_cast<std::int8_t>(static_cast<int>(rest * 3 >> 8) - 1);
    }
  }
  /// The least byte whose first digits these are: digits as a fraction of 3^5, rounded up to 256ths.
  static constexpr void join_digits(const std::int8_t* q, std::uint32_t count, std::uint32_t per_byte,
                                    std::byte* bytes) noexcept {
    for (std::uint32_t l = 0; l < count; ++l) {
      unsigned digits = 0;
      for (std::uint32_t a = 0; a < 5; ++a)
        digits = 3 * digits + (a < per_byte ? static_cast<unsigned>(q[a * count + l] + 1) : 0u);
      bytes[l] = static_cast<std::byte>((digits * 256 + 242) / 243);
    }
  }
};

static_assert(BlockLayout<Layout<DType::tq1_0>>);

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
