// SPDX-License-Identifier: Apache-2.0
// zrt/ops/strided_copy.hpp: moving a box of elements between two tensors that step through memory differently.
#pragma once

#include <zrt/core/copy_elements.hpp>
#include <zrt/core/dims.hpp>
#include <zrt/core/span.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::ops {

/// One axis of a box: its extent, and how far apart neighbours lie on either side, in elements.
struct CopyAxis {
  std::uint64_t extent = 0;
  std::uint64_t from_stride = 0;
  std::uint64_t to_stride = 0;
};

/// Two axes for each axis of a tensor, as a tiling has.
inline constexpr std::size_t kMaxCopyAxes = 2 * std::size_t{kMaxRank};

/// Elements of one tensor and where they go in another: the first of them on either side, and the axes, from the
/// outermost to the innermost. A `from_stride` of 0 repeats; a box without axes is one element.
struct CopyBox {
  std::uint64_t from_first = 0;
  std::uint64_t to_first = 0;
  std::size_t rank = 0;
  std::array<CopyAxis, kMaxCopyAxes> axis{};

  /// Adds an axis inside all others.
  constexpr void add(std::uint64_t extent, std::uint64_t from_stride, std::uint64_t to_stride) noexcept {
    ZRT_ASSERT(rank < kMaxCopyAxes);
    axis[rank++] = {extent, from_stride, to_stride};
  }
};

/// Copies the elements of a box in row-major order. The sides do not overlap.
inline void copy_strided(DType dtype, const std::byte* from, std::byte* to, const CopyBox& box) noexcept {
  const Span axes = Span(box.axis).first(box.rank);
  std::uint64_t from_first = box.from_first;
  std::uint64_t to_first = box.to_first;
  for (const CopyAxis& axis : axes)
    if (axis.extent == 0) return;
  std::uint64_t run = 1;
  std::size_t outer = axes.size();
  for (; outer != 0; --outer) {
    const CopyAxis& axis = axes[outer - 1];
    if (axis.extent != 1 && (axis.from_stride != run || axis.to_stride != run)) break;
    run *= axis.extent;
  }
  std::array<std::uint64_t, kMaxCopyAxes> at{};
  for (;;) {
    copy_elements(dtype, from, from_first, to, to_first, run);
    std::size_t axis = outer;
    for (; axis != 0; --axis) {
      const CopyAxis& a = axes[axis - 1];
      from_first += a.from_stride;
      to_first += a.to_stride;
      if (++at[axis - 1] != a.extent) break;
      at[axis - 1] = 0;
      from_first -= a.from_stride * a.extent;
      to_first -= a.to_stride * a.extent;
    }
    if (axis == 0) return;
  }
}

}  // namespace zrt::inline ZRT_ABI::ops
