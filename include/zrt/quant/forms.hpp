// SPDX-License-Identifier: Apache-2.0
// zrt/quant/forms.hpp: what weight types share: integers under scales, and the ways in which integers are stored.
#pragma once

#include <zrt/quant/integer_range.hpp>
#include <zrt/quant/layout.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// The exact sum of q · x.
///
/// The weights go in as values that are never negative: see signed_bytes for why.
[[nodiscard]] constexpr std::int32_t dot_integers(const std::int8_t* q, const std::int8_t* x,
                                                  std::uint32_t count) noexcept {
  std::int32_t sum = 0;
  std::int32_t excess = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    sum += static_cast<std::uint8_t>(q[i] + 128) * x[i];
    excess += x[i];
  }
  return sum - 128 * excess;
}

/// The integer factors of a block's parts; those of a part without any are 1.
struct Factors {
  static constexpr std::uint32_t kMost = 16;

  std::int8_t scale[kMost]{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  std::int8_t offset[kMost]{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
};

/// Everything that follows from a block's integers, factors and scales: value = scale · factor · q, and with an offset
/// fma(scale · factor, q, offset · its factor), each product rounded to f32.
///
/// The type's Layout supplies kAct, kRun, `scale` and `unpack`, with kHasOffset `offset`; and kPart, the elements under
/// one integer factor. Where that is less than kRun, `factors(block, f)` reads the factors.
template <DType kType> struct BlockForm {
  static constexpr DType kDType = kType;
  static constexpr std::uint32_t kElems = info(kType).block_elems;
  static constexpr std::uint32_t kBytes = info(kType).block_bytes;
  static constexpr bool kHasOffset = false;
  static constexpr std::uint32_t kUnderScale = kElems;  // elements under one stored scale
  static constexpr std::uint32_t kScaleAt = 0;          // byte of the f16 scale, of types with one
  static constexpr float kScaleUnit = 1.0f;             // of that scale, a power of two
  static constexpr std::uint32_t kOffsetAt = 2;         // byte of the f16 offset, of types with one
  using L = Layout<kType>;

  static constexpr float scale(const std::byte* block, std::uint32_t) noexcept {
    return read_f16(block + L::kScaleAt) * L::kScaleUnit;
  }
  static constexpr void store_scale(std::byte* block, std::uint32_t, float d) noexcept {
    store_f16(block + L::kScaleAt, d / L::kScaleUnit);
  }

  static constexpr std::int32_t dot(const std::byte* block, std::uint32_t run, const std::int8_t* x) noexcept {
    std::int8_t q[kElems]{};
    L::unpack(block, q);
    const Factors f = factors_of(block);
    std::int32_t sum = 0;
    for (std::uint32_t i = 0, at = run * L::kRun; i < L::kRun; i += L::kPart)
      sum += f.scale[(at + i) / L::kPart] * dot_integers(q + at + i, x + i, L::kPart);
    return sum;
  }

  static constexpr std::int32_t offset_sum(const std::byte* block, std::uint32_t run, const std::int8_t* x) noexcept {
    const Factors f = factors_of(block);
    std::int32_t total = 0;
    for (std::uint32_t i = 0, at = run * L::kRun; i < L::kRun; i += L::kPart) {
      std::int32_t sum = 0;
      for (std::uint32_t j = i; j < i + L::kPart; ++j) sum += x[j];
      total += f.offset[(at + i) / L::kPart] * sum;
    }
    return total;
  }

  static constexpr void dequantise(const std::byte* blocks, std::uint64_t elems, float* out) noexcept {
    for (std::uint64_t i = 0; i < elems; i += kElems, blocks += kBytes) {
      std::int8_t q[kElems]{};
      L::unpack(blocks, q);
      const Factors f = factors_of(blocks);
      for (std::uint32_t k = 0; k < kElems; k += L::kPart) {
        const std::uint32_t run = k / L::kRun;
        const float step = L::scale(blocks, run) * static_cast<float>(f.scale[k / L::kPart]);
        float low = 0.0f;
        if constexpr (L::kHasOffset) low = L::offset(blocks, run) * static_cast<float>(f.offset[k / L::kPart]);
        for (std::uint32_t j = k; j < k + L::kPart; ++j) {
          const auto integer = static_cast<float>(q[j]);
          out[i + j] = L::kHasOffset ? __builtin_fmaf(step, integer, low) : step * integer;
        }
      }
    }
  }

  /// The integer factors of a block.
  [[nodiscard]] static constexpr Factors factors_of(const std::byte* block) noexcept {
    static_assert(kElems % L::kRun == 0 && L::kRun % L::kPart == 0 && kElems / L::kPart <= Factors::kMost,
                  "zrt: a block holds whole runs, a run whole parts, and a block at most 16 parts");
    Factors f;
    if constexpr (L::kPart < L::kRun) L::factors(block, f);
    return f;
  }
};

/// A block of runs with a scale each and no factors.
template <DType kType, std::uint32_t kElemsOfRun = 32> struct BlockOfRuns : BlockForm<kType> {
  static constexpr Act kAct = Act::q8_32;
  static constexpr std::uint32_t kRun = kElemsOfRun;
  static constexpr std::uint32_t kPart = kElemsOfRun;
};

/// A block of 32 that begins with two f16, the scale and the offset.
template <DType kType> struct BlockWithOffset : BlockOfRuns<kType> {
  static constexpr bool kHasOffset = true;

  static constexpr float offset(const std::byte* block, std::uint32_t) noexcept { return read_f16(block + 2); }
  static constexpr void store_offset(std::byte* block, float m) noexcept { store_f16(block + 2, m); }
};

/// A block of 256 that is one run, whose parts have integer factors.
template <DType kType, std::uint32_t kElemsOfPart> struct BlockOfParts : BlockForm<kType> {
  static constexpr Act kAct = Act::q8_256;
  static constexpr std::uint32_t kRun = 256;
  static constexpr std::uint32_t kPart = kElemsOfPart;
};

/// The same with an offset, which is subtracted: value = d·scale·q - dmin·offset.
template <DType kType, std::uint32_t kElemsOfPart> struct BlockOfOffsetParts : BlockOfParts<kType, kElemsOfPart> {
  static constexpr bool kHasOffset = true;
  static constexpr std::int32_t kLeastFactor = 0;
  using L = Layout<kType>;

  static constexpr float offset(const std::byte* block, std::uint32_t) noexcept {
    return -read_f16(block + L::kOffsetAt);
  }
  static constexpr void store_offset(std::byte* block, float m) noexcept { store_f16(block + L::kOffsetAt, -m); }
};

/// Splits `count` bytes: byte j holds value j in its low half and value j + count in its high half.
constexpr void split_halves(const std::byte* bytes, std::uint32_t count, std::int8_t* q) noexcept {
  for (std::uint32_t j = 0; j < count; ++j) {
    const auto byte = std::to_integer<unsigned>(bytes[j]);
    q[j] = static_cast<std::int8_t>(byte & 15u);
    q[j + count] = static_cast<std::int8_t>(byte >> 4);
  }
}

/// The inverse of split_halves, for values of four bits.
constexpr void join_halves(const std::int8_t* q, std::uint32_t count, std::byte* bytes) noexcept {
  for (std::uint32_t j = 0; j < count; ++j)
    bytes[j] =
        static_cast<std::byte>((static_cast<unsigned>(q[j]) & 15u) | (static_cast<unsigned>(q[j + count]) & 15u) << 4);
}

/// Four bytes of fifth bits, then 16 bytes of halves: 32 values of five bits.
constexpr void unpack_fifths(const std::byte* bytes, std::int8_t* q) noexcept {
  split_halves(bytes + 4, 16, q);
  const std::uint32_t fifths = read_u32(bytes);
  for (std::uint32_t j = 0; j < 32; ++j)
    q[j] = static_cast<std::int8_t>(q[j] | static_cast<int>(fifths >> j & 1u) << 4);
}

/// The inverse of unpack_fifths.
constexpr void pack_fifths(const std::int8_t* q, std::byte* bytes) noexcept {
  join_halves(q, 16, bytes + 4);
  std::uint32_t fifths = 0;
  for (std::uint32_t j = 0; j < 32; ++j) fifths |= (static_cast<std::uint32_t>(q[j]) >> 4 & 1u) << j;
  write_little<std::uint32_t>(bytes, fifths);
}

/// 64 bytes of pairs: pair a, the lowest first, of byte 32c + l is value 128c + 32a + l.
constexpr void unpack_pairs(const std::byte* bytes, std::int8_t* q) noexcept {
  for (std::uint32_t c = 0; c < 2; ++c)
    for (std::uint32_t a = 0; a < 4; ++a)
      for (std::uint32_t l = 0; l < 32; ++l)
        q[128 * c + 32 * a + l] = static_cast<std::int8_t>(std::to_integer<unsigned>(bytes[32 * c + l]) >> 2 * a & 3u);
}

/// The inverse of unpack_pairs.
constexpr void pack_pairs(const std::int8_t* q, std::byte* bytes) noexcept {
  for (std::uint32_t c = 0; c < 2; ++c)
    for (std::uint32_t l = 0; l < 32; ++l) {
      unsigned byte = 0;
      for (std::uint32_t a = 0; a < 4; ++a) byte |= (static_cast<unsigned>(q[128 * c + 32 * a + l]) & 3u) << 2 * a;
      bytes[32 * c + l] = static_cast<std::byte>(byte);
    }
}

/// Stores half `index` of bytes that are zero there.
constexpr void put_half(std::byte* bytes, std::uint32_t index, unsigned half) noexcept {
  bytes[index / 2] |= static_cast<std::byte>(half << index % 2 * 4);
}

/// Half `index` of bytes whose low halves come first.
[[nodiscard]] constexpr unsigned half_at(const std::byte* bytes, std::uint32_t index) noexcept {
  return std::to_integer<unsigned>(bytes[index / 2]) >> index % 2 * 4 & 15u;
}

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
