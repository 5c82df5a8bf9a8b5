// SPDX-License-Identifier: Apache-2.0
// zrt/ops/element_value.hpp: one element of any plain type in a parameter block.
#pragma once

#include <zrt/core/copy_elements.hpp>
#include <zrt/ops/params.hpp>

namespace zrt::inline ZRT_ABI {

/// An element as it stands in a tensor, from the first byte on; a 4-bit one in the lower half of it.
using ElementValue = std::array<std::uint8_t, 16>;

/// Writes `value` to elements [first, first + count) of a tensor of `dtype`.
inline void fill_with(const ElementValue& value, DType dtype, std::byte* to, std::uint64_t first,
                      std::uint64_t count) noexcept {
  const auto* from = reinterpret_cast<const std::byte*>(value.data());
  for (std::uint64_t i = 0; i < count; ++i) copy_elements(dtype, from, 0, to, first + i, 1);
}

}  // namespace zrt::inline ZRT_ABI
