// SPDX-License-Identifier: Apache-2.0
// zrt/ops/index_operand.hpp: tensors of indices, si32 or si64.
#pragma once

#include <zrt/core/little_endian.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// Index `i` of a tensor of indices. A negative one comes out larger than every extent.
[[nodiscard]] inline std::uint64_t index_at(const HostTensor& indices, std::uint64_t i) noexcept {
  if (indices.type.dtype == DType::si64) return read_little<std::uint64_t>(indices.data + i * 8);
  return static_cast<std::uint64_t>(
      std::int64_t{static_cast<std::int32_t>(read_little<std::uint32_t>(indices.data + i * 4))});
}

/// Where a window of `size` along an axis of `extent` (at least `size`) begins: index `i` of `starts`, clamped.
[[nodiscard]] inline std::uint64_t clamped_start(const HostTensor& starts, std::uint64_t i, std::uint64_t extent,
                                                 std::uint64_t size) noexcept {
  const std::uint64_t start = index_at(starts, i);
  if (static_cast<std::int64_t>(start) < 0) return 0;
  return start < extent - size ? start : extent - size;
}

}  // namespace zrt::inline ZRT_ABI::ops
