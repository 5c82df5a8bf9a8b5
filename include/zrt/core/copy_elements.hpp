// SPDX-License-Identifier: Apache-2.0
// zrt/core/copy_elements.hpp: moving elements of any plain type, the 4-bit ones included.
#pragma once

#include <zrt/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI {

/// Copies `count` elements of `dtype` from element `from_first` of `from` to element `to_first` of `to`.
///
/// The ranges do not overlap. Two 4-bit elements share a byte, the lower half first; the neighbour of
/// an element that is written stays as it was.
inline void copy_elements(DType dtype, const std::byte* from, std::uint64_t from_first, std::byte* to,
                          std::uint64_t to_first, std::uint64_t count) noexcept {
  const std::size_t bytes = info(dtype).block_bytes;
  if (info(dtype).block_elems == 1) {
    if (count != 0) std::memcpy(to + to_first * bytes, from + from_first * bytes, count * bytes);
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t source = from_first + i;
    const std::uint64_t target = to_first + i;
    const auto nibble = from[source / 2] >> (source % 2 * 4) & std::byte{0x0f};
    std::byte& byte = to[target / 2];
    byte = target % 2 == 0 ? (byte & std::byte{0xf0}) | nibble : (byte & std::byte{0x0f}) | nibble << 4;
  }
}

}  // namespace zrt::inline ZRT_ABI
