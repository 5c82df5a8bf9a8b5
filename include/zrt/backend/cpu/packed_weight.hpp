// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/packed_weight.hpp: block weights as the CPU's products read them: sixteen rows side by side.
#pragma once

#include <zrt/core/dims.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

/// Weight rows that lie side by side: one to a lane.
inline constexpr std::uint32_t kPackedRows = 16;
/// Elements whose codes lie together.
inline constexpr std::uint32_t kPackedElems = 32;

/// How a block type's rows are packed, whatever its file looks like.
///
/// Sixteen rows make a group; in it follow, for each block of `elems()` elements: the codes, then sixteen scales for
/// each run, as many offsets if there are any, and with `part` factors of the parts and their offsets, a byte for each
/// row, or half a byte. A code has `bits` bits. Codes of 32 elements are eight words of four, [8 words][16 rows][4]; they lie in planes of
/// 64-byte vectors, of four bits, of two, of one: as many as the binary form of `bits` has ones. A plane of b bits has b
/// vectors; vector i holds words i, i + b, i + 2b, ... from the lowest bits up. Codes of 8 bits are the integers themselves.
struct PackedForm {
  const std::int8_t* levels = nullptr;  ///< [16] what a code stands for; null: for itself plus `lowest`
  std::int32_t lowest = 0;
  std::uint32_t bits = 8;
  std::uint32_t run = kPackedElems;  ///< elements under one scale: 16, 32 or 256
  std::uint32_t part = 0;            ///< elements under an integer factor, 16 or 32; 0: there are no factors
  DType scale = DType::f32;          ///< of scales and offsets as they are stored: f16, bf16 or f32
  bool has_offset = false;
  bool half_factors = false;  ///< a byte has a part's factor in its low half and that of its offset in the high one

  [[nodiscard]] constexpr std::uint32_t elems() const noexcept { return run < kPackedElems ? kPackedElems : run; }
  /// Bytes of 32 elements' codes of sixteen rows.
  [[nodiscard]] constexpr std::uint32_t code_bytes() const noexcept { return bits * 64; }
  /// Bytes of sixteen scales.
  [[nodiscard]] constexpr std::uint32_t scale_bytes() const noexcept {
    return kPackedRows * (scale == DType::f32 ? 4u : 2u);
  }
  [[nodiscard]] constexpr std::uint32_t scales_at() const noexcept { return elems() / kPackedElems * code_bytes(); }
  [[nodiscard]] constexpr std::uint32_t offsets_at() const noexcept {
    return scales_at() + elems() / run * scale_bytes();
  }
  [[nodiscard]] constexpr std::uint32_t factors_at() const noexcept {
    return offsets_at() + (has_offset ? elems() / run * scale_bytes() : 0);
  }
  [[nodiscard]] constexpr std::uint32_t offset_factors_at() const noexcept {
    return half_factors ? factors_at() : factors_at() + factor_bytes();
  }
  [[nodiscard]] constexpr std::uint32_t block_bytes() const noexcept {
    const std::uint32_t end = (has_offset ? offset_factors_at() : factors_at()) + factor_bytes();
    return (end + 31) / 32 * 32;
  }

 private:
  [[nodiscard]] constexpr std::uint32_t factor_bytes() const noexcept {
    return part == 0 ? 0 : elems() / part * kPackedRows;
  }
};

/// The set of one kind of codes: of `bits` bits, that stand for themselves or for levels.
[[nodiscard]] constexpr std::uint32_t code_set(int bits, bool levels) noexcept {
  return 1u << (levels ? 16 + bits : bits);
}
/// Whether a set of codes has these.
[[nodiscard]] constexpr bool has_codes(std::uint32_t set, int bits, bool levels) noexcept {
  return (set & code_set(bits, levels)) != 0;
}

/// Which forms a host's types are packed in, as sets of their codes: products are compiled for no others.
struct PackedForms {
  std::uint32_t run_16 = 0;
  std::uint32_t run_32 = 0;
  std::uint32_t part_16 = 0;
  std::uint32_t part_32 = 0;

  constexpr void add(const PackedForm& form) noexcept {
    const std::uint32_t codes = code_set(static_cast<int>(form.bits), form.levels != nullptr);
    if (form.part != 0)
      (form.part == 16 ? part_16 : part_32) |= codes;
    else
      (form.run == 16 ? run_16 : run_32) |= codes;
  }
  /// Whether any has codes of `bits` bits.
  [[nodiscard]] constexpr bool has_width(int bits) const noexcept {
    const std::uint32_t all = run_16 | run_32 | part_16 | part_32;
    return has_codes(all, bits, false) || has_codes(all, bits, true);
  }
};

/// Weights in packed form, of one matrix or of several of the same size. A matrix begins with a new group.
struct PackedWeight {
  const std::byte* data = nullptr;
  const PackedForm* form = nullptr;
  std::uint32_t cols = 0;
  std::uint32_t matrix_rows = 0;
  std::uint64_t group_bytes = 0;

  [[nodiscard]] static constexpr std::uint64_t groups(std::uint32_t matrix_rows) noexcept {
    return (std::uint64_t{matrix_rows} + kPackedRows - 1) / kPackedRows;
  }
  /// The group whose first row is `row`.
  [[nodiscard]] const std::byte* group(std::uint32_t row) const noexcept {
    const std::uint64_t at = row / matrix_rows * groups(matrix_rows) + row % matrix_rows / kPackedRows;
    return data + at * group_bytes;
  }
};

/// Packs sixteen rows of `cols` elements, whole blocks.
using PackRows = void (*)(const std::byte* const* rows, std::uint32_t cols, std::byte* to) noexcept;

/// A weight type that is packed.
struct PackedType {
  PackedForm form{};
  PackRows pack = nullptr;
};

}  // namespace zrt::inline ZRT_ABI::cpu
