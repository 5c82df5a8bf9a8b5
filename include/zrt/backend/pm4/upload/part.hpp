// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/upload/part.hpp: a matrix in the parts in which the kernels read it, and the writing of them.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/dtype.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace zrt::inline ZRT_ABI::pm4 {

/// Parts begin at multiples of so many bytes, as do the buffers of an allocation.
inline constexpr std::uint64_t kPartAlignment = 256;

/// One part of a matrix: `block_bytes` of each block, in an order of their own.
///
/// Blocks lie [rows / interleave][blocks of a row / together][interleave][together]: rows come in groups of
/// `interleave`, and of each as many blocks side by side as a wave loads at once, so that what it loads of its rows is one
/// run of bytes. Where a row ends with fewer blocks, they come in powers of two, the larger first. What fills up the last
/// group is never used.
struct UploadPart {
  std::string_view name;
  std::uint32_t block_bytes = 0;
  std::uint32_t interleave = 1;
  std::uint32_t together = 1;  ///< a power of two

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
  /// Where block `block` of row `row` is, in blocks.
  [[nodiscard]] constexpr std::uint64_t index(std::uint32_t row, std::uint32_t block,
                                              std::uint32_t blocks) const noexcept {
    const Run r = run(block, blocks);
    return (std::uint64_t{row / interleave} * blocks + r.first) * interleave + row % interleave * r.width + block -
           r.first;
  }
  /// Bytes of the part of a matrix of `rows` times `blocks` blocks.
  [[nodiscard]] constexpr CheckedSize bytes(std::uint32_t rows, std::uint32_t blocks) const noexcept {
    const std::uint64_t groups = (std::uint64_t{rows} + interleave - 1) / interleave;
    return CheckedSize(groups) * interleave * blocks * block_bytes;
  }
};

/// The parts of one weight type: one header for each type, and one line in types.hpp.
///
/// `split(block, to)` writes one block of the file, `to[p]` being its place in part p. The parts of a block have
/// together its bytes, in another order.
template <DType T> struct Upload;

template <class U>
concept UploadLayout = requires(const std::byte* block, std::byte* const* to) {
  { U::kDType } -> std::convertible_to<DType>;
  { U::kParts[0] } -> std::convertible_to<UploadPart>;
  { U::split(block, to) } noexcept -> std::same_as<void>;
  requires[] {
    std::uint32_t bytes = 0;
    for (const UploadPart& part : U::kParts) bytes += part.block_bytes;
    return bytes == info(U::kDType).block_bytes;
  }
  ();
};

/// Writes a matrix of `rows` rows, `row_bytes` apart, of `blocks` blocks each; part p begins at `to[p]`. The first part is
/// written from its beginning to its end, as memory behind a bus wants it.
template <UploadLayout U>
constexpr void upload(const std::byte* matrix, std::uint64_t row_bytes, std::uint32_t rows, std::uint32_t blocks,
                      std::byte* const* to) noexcept {
  constexpr std::uint32_t kBytes = info(U::kDType).block_bytes;
  constexpr UploadPart kFirst = U::kParts[0];
  for (std::uint64_t group = 0; group < rows; group += kFirst.interleave) {
    const std::uint64_t end = group + kFirst.interleave < rows ? group + kFirst.interleave : rows;
    for (std::uint32_t b = 0, width = 0; b < blocks; b += width) {
      width = kFirst.run(b, blocks).width;
      for (auto row = static_cast<std::uint32_t>(group); row < end; ++row) {
        const std::byte* from = matrix + row * row_bytes + std::uint64_t{b} * kBytes;
        if constexpr (U::kParts.size() == 1) {
          // Blocks stay what they are.
          std::memcpy(to[0] + kFirst.index(row, b, blocks) * kBytes, from, std::size_t{width} * kBytes);
        } else {
          for (std::uint32_t i = 0; i < width; ++i, from += kBytes) {
            std::array<std::byte*, U::kParts.size()> places{};
            for (std::size_t p = 0; p < places.size(); ++p)
              places[p] = to[p] + U::kParts[p].index(row, b + i, blocks) * U::kParts[p].block_bytes;
            U::split(from, places.data());
          }
        }
      }
    }
  }
}

}  // namespace zrt::inline ZRT_ABI::pm4
