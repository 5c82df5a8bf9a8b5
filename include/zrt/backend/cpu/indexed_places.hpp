// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/indexed_places.hpp: the elements that indices along one axis name.
#pragma once

#include <zrt/ops/along_axis.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::cpu {

/// Calls `f(i, place)` for the indices i of [first, last) in row-major order, `place` being the element of x that it
/// names along `axis`, or ops::kNowhere. Neighbours behind the axis are a run, whose places differ by the index alone.
template <class F>
void for_each_indexed(const HostTensor& x, const HostTensor& indices, std::uint32_t axis, const ExecutionContext& step,
                      std::uint64_t first, std::uint64_t last, F&& f) noexcept {
  const ops::AxisSplit into(x, axis, step);
  const ops::AxisSplit over(indices, axis, step);
  for (std::uint64_t i = first; i < last;) {
    const std::uint64_t behind = i % over.inner;
    const std::uint64_t before = i / over.inner / over.extent * into.extent;
    const std::uint64_t end = i + std::min(over.inner - behind, last - i);
    for (std::uint64_t inner = behind; i < end; ++i, ++inner) {
      const std::uint64_t index = ops::index_at(indices, i);
      f(i, index < into.extent ? (before + index) * into.inner + inner : ops::kNowhere);
    }
  }
}

}  // namespace zrt::inline ZRT_ABI::cpu
