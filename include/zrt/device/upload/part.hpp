// SPDX-License-Identifier: Apache-2.0
// zrt/device/upload/part.hpp: a matrix in the parts in which the kernels read it, and the writing of them.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/dtype.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace zrt::inline ZRT_ABI::device {

/// Parts begin at multiples of so many bytes, as do the buffers of an allocation.
inline constexpr std::uint64_t kPartAlignment = 256;

/// Rows that lie together, one for each of 32 lanes that load together.
inline constexpr std::uint32_t kGroupRows = 32;

/// One part of a matrix: `block_bytes` of each block, in an order of their own, so that what 32 lanes load at once of all
/// rows of a group is one run of bytes.
///
/// Blocks lie [rows / 32][blocks of a row / together][32][together], and where a row ends with fewer blocks, they come in
/// powers of two, the larger first. A block of several pieces (then `together` is 1) lies piece by piece:
/// [rows / 32][blocks][pieces][32]. What fills up the last group is never used. A vector's `rows` are 1.
struct UploadPart {
  std::string_view name;
  std::uint32_t block_bytes = 0;
  std::uint32_t together = 1;  ///< a power of two
  std::uint32_t pieces = 1;
  std::uint32_t group = kGroupRows;

  /// Blocks of a row that lie side by side.
  struct Run {
    std::uint32_t first, width;
  };
  /// The run that block `block` of a row of `blocks` is in.
  [[nodiscard]] constexpr Run run(std::uint32_t block, std::uint32_t blocks) const noexcept {
    Run r{block - block % together, together};
    while (r.first + r.width > blocks) {
      r.width /= 2;
      if (block >= r.first + r.width) r.first += r.width;
    }
    return r;
  }
  /// Where piece `piece` of block `block` of row `row` is, in bytes.
  [[nodiscard]] constexpr std::uint64_t place(std::uint32_t row, std::uint32_t block, std::uint32_t blocks,
                                              std::uint32_t piece = 0) const noexcept {
    const Run r = run(block, blocks);
    const std::uint64_t before = (std::uint64_t{row / group} * blocks + r.first) * group * pieces;
    return (before + std::uint64_t{piece} * group + row % group * r.width + block - r.first) * piece_bytes();
  }
  [[nodiscard]] constexpr std::uint32_t piece_bytes() const noexcept { return block_bytes / pieces; }
  /// Bytes of the part of a matrix of `rows` times `blocks` blocks.
  [[nodiscard]] constexpr CheckedSize bytes(std::uint32_t rows, std::uint32_t blocks) const noexcept {
    const std::uint64_t groups = (std::uint64_t{rows} + group - 1) / group;
    return CheckedSize(groups) * group * blocks * block_bytes;
  }
};

/// The parts of one weight type: one header for each type, and one line in types.hpp.
///
/// `split(block, to)` writes one block of the file, `to[p]` being its bytes in part p, one piece behind the other. The
/// parts of a block have together its bytes.
template <DType T> struct Upload;

/// The parts of one weight type.
template <class U>
concept PartedLayout = requires(const std::byte* block, std::byte* const* to) {
  { U::kDType } -> std::convertible_to<DType>;
  { U::kParts[0] } -> std::convertible_to<UploadPart>;
  { U::split(block, to) } noexcept -> std::same_as<void>;
};

/// Bytes of a block's parts.
template <PartedLayout U>
inline constexpr std::uint32_t kPartedBytes = [] {
  std::uint32_t bytes = 0;
  for (const UploadPart& part : U::kParts) bytes += part.block_bytes;
  return bytes;
}();

/// The parts of one weight type; together they have the bytes of a block.
template <class U>
concept UploadLayout = PartedLayout<U> && kPartedBytes<U> == info(U::kDType).block_bytes;

/// Writes a matrix of `rows` rows, `row_bytes` apart, of `blocks` blocks each; part p begins at `to[p]`. The first part is
/// written from its beginning to its end, as memory behind a bus wants it.
template <PartedLayout U>
constexpr void upload(const std::byte* matrix, std::uint64_t row_bytes, std::uint32_t rows, std::uint32_t blocks,
                      std::byte* const* to) noexcept {
  constexpr std::uint32_t kBytes = info(U::kDType).block_bytes;
  constexpr UploadPart kFirst = U::kParts[0];
  for (std::uint64_t first = 0; first < rows; first += kFirst.group) {
    const auto count = static_cast<std::uint32_t>(first + kFirst.group < rows ? kFirst.group : rows - first);
    const auto group = static_cast<std::uint32_t>(first);
    for (std::uint32_t b = 0, width = 0; b < blocks; b += width) {
      width = kFirst.run(b, blocks).width;
      const std::byte* from = matrix + first * row_bytes + std::uint64_t{b} * kBytes;
      if constexpr (U::kParts.size() == 1) {
        // Blocks stay what they are.
        for (std::uint32_t r = 0; r < count; ++r)
          std::memcpy(to[0] + kFirst.place(group + r, b, blocks), from + r * row_bytes, std::size_t{width} * kBytes);
      } else {
        static_assert(kFirst.together == 1);
        // [parts][rows of the group]
        std::array<std::byte, kFirst.group * kPartedBytes<U>> parted;
        for (std::uint32_t r = 0; r < count; ++r) {
          std::array<std::byte*, U::kParts.size()> places{};
          std::size_t part_at = 0;
          for (std::size_t p = 0; p < places.size(); ++p) {
            places[p] = parted.data() + part_at + r * U::kParts[p].block_bytes;
            part_at += kFirst.group * U::kParts[p].block_bytes;
          }
          U::split(from + r * row_bytes, places.data());
        }
        const std::byte* part_from = parted.data();
        for (std::size_t p = 0; p < U::kParts.size(); ++p) {
          const UploadPart& part = U::kParts[p];
          const std::uint32_t bytes = part.piece_bytes();
          for (std::uint32_t piece = 0; piece < part.pieces; ++piece)
            for (std::uint32_t r = 0; r < count; ++r)
              std::memcpy(to[p] + part.place(group + r, b, blocks, piece),
                          part_from + r * part.block_bytes + piece * bytes, bytes);
          part_from += kFirst.group * part.block_bytes;
        }
      }
    }
  }
}

}  // namespace zrt::inline ZRT_ABI::device
