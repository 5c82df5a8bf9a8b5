// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/typed_lines.hpp: elements that lie a stride apart, read as domain values.
#pragma once

#include <zrt/backend/cpu/typed_runs.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

namespace detail {

template <std::size_t kBytes>
void gather_words(const std::byte* from, std::uint64_t stride, std::uint64_t count, std::byte* to) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(to + i * kBytes, from + i * stride * kBytes, kBytes);
}

}  // namespace detail

/// Reads `count` elements of a computed type that lie `stride` elements apart from element `first` on, cast to `as`,
/// whose domain is T; count <= kTypedRun.
template <DomainValue T>
void read_line(DType dtype, const std::byte* data, std::uint64_t first, std::uint64_t stride, std::uint64_t count,
               DType as, T* out) noexcept {
  if (stride == 1 || count <= 1) return read_as(dtype, data, first, count, as, out);
  const DTypeInfo& type = info(dtype);
  if (type.block_elems != 1) {
    for (std::uint64_t i = 0; i < count; ++i) read_as(dtype, data, first + i * stride, 1, as, out + i);
    return;
  }
  std::byte together[kTypedRun * sizeof(std::uint64_t)];
  const std::byte* from = data + first * type.block_bytes;
  switch (type.block_bytes) {
    case 1:
      detail::gather_words<1>(from, stride, count, together);
      break;
    case 2:
      detail::gather_words<2>(from, stride, count, together);
      break;
    case 4:
      detail::gather_words<4>(from, stride, count, together);
      break;
    default:
      detail::gather_words<8>(from, stride, count, together);
  }
  read_as(dtype, together, 0, count, as, out);
}

}  // namespace zrt::inline ZRT_ABI::cpu
