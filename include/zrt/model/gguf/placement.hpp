// SPDX-License-Identifier: Apache-2.0
// zrt/model/gguf/placement.hpp: checks that every tensor's data lies in the file, aligned and alone.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/core/span.hpp>
#include <zrt/model/gguf/index.hpp>

#include <algorithm>
#include <cstdint>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::detail {

template <class... Pieces>
[[nodiscard]] std::unexpected<Error> misplaced(Errc code, const GgufTensor& tensor, const Pieces&... pieces) noexcept {
  auto error = Error::of(code, "tensor '", Quoted(tensor.name).view(), "': ");
  (error.append(pieces), ...);
  return std::unexpected<Error>(error.at_offset(tensor.entry_offset));
}

[[nodiscard]] inline Result<void> check_no_overlap(Span<const GgufTensor> tensors,
                                                   const Allocator& allocator) noexcept {
  Vector<std::uint32_t> order(allocator);
  if (auto r = order.resize(tensors.size()); !r) return r;
  for (std::size_t i = 0; i < tensors.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  const auto before = [tensors](std::uint32_t a, std::uint32_t b) noexcept {
    return tensors[a].offset != tensors[b].offset ? tensors[a].offset < tensors[b].offset : a < b;
  };
  // Files list their tensors in the order of their data, almost always.
  if (!std::is_sorted(order.begin(), order.end(), before)) heap_sort(order.span(), before);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const GgufTensor& lower = tensors[order[i - 1]];
    const GgufTensor& upper = tensors[order[i]];
    if (upper.offset - lower.offset < lower.bytes) {
      return misplaced(Errc::invalid_file, upper, "its data at ", upper.offset, " overlaps the ", lower.bytes,
                       " bytes of '", Quoted(lower.name).view(), "' at ", lower.offset);
    }
  }
  return {};
}

// Checks all tensors against a file of `file_bytes` and returns where its data section begins.
[[nodiscard]] inline Result<std::uint64_t> place_tensors(const GgufHeader& header, Span<const GgufTensor> tensors,
                                                         std::uint64_t file_bytes,
                                                         const Allocator& allocator) noexcept {
  const auto data_offset = CheckedSize(header.index_end).aligned(header.alignment).get("the index");
  if (!data_offset) return data_offset;
  if (!tensors.empty() && *data_offset > file_bytes) {
    auto error = Error::of(Errc::truncated_file, "the data section begins at ", *data_offset,
                           ", behind the end of the file at ", file_bytes);
    return std::unexpected<Error>(error.at_offset(header.index_end));
  }
  for (const GgufTensor& tensor : tensors) {
    if (tensor.offset % header.alignment != 0) {
      return misplaced(Errc::invalid_file, tensor, "the data offset ", tensor.offset, " is not a multiple of ",
                       header.alignment);
    }
    const std::uint64_t room = file_bytes - *data_offset;
    if (tensor.offset > room || tensor.bytes > room - tensor.offset) {
      return misplaced(Errc::truncated_file, tensor, tensor.bytes, " bytes at ", tensor.offset,
                       " reach past the data section of ", room, " bytes");
    }
  }
  if (auto r = check_no_overlap(tensors, allocator); !r) return pass(r);
  return data_offset;
}

}  // namespace zrt::inline ZRT_ABI::model::detail

ZRT_LOAD_TIME_END
