// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/region_call.hpp: values at the border of a region.
#pragma once

#include <zrt/core/copy_elements.hpp>
#include <zrt/ops/execution_context.hpp>
#include <zrt/ops/host.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// Copies a value, or slice `from_slice` of one, to a value of its type, or to slice `to_slice` of one. Slices of 4-bit
/// elements lie where their elements do.
inline void hand_over(const HostTensor& from, std::uint64_t from_slice, const HostTensor& to, std::uint64_t to_slice,
                      std::uint64_t elements) noexcept {
  copy_elements(from.type.dtype, from.data, from_slice * elements, to.data, to_slice * elements, elements);
}
inline void hand_over(const HostTensor& from, const HostTensor& to, const ExecutionContext& step) noexcept {
  hand_over(from, 0, to, 0, from.elements(step));
}

}  // namespace zrt::inline ZRT_ABI::cpu
