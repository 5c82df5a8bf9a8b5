// SPDX-License-Identifier: Apache-2.0
// zrt/ops/strided_copy.hpp: moving a box of elements between two tensors that step through memory differently.
#pragma once

#include <zrt/core/copy_elements.hpp>
#include <zrt/core/dims.hpp>

#include <array>
#include <span>

namespace zrt::inline ZRT_ABI::ops {

/// One axis of a box: its extent, and how far apart neighbours lie on either side, in elements.
struct CopyAxis {
  std::uint64_t extent = 0;
  std::uint64_t from_stride = 0;
  std::uint64_t to_stride = 0;
};

/// Two axes for each axis of a tensor, as a tiling has.
inline constexpr std::size_t kMaxCopyAxes = 2 * std::size_t{kMaxRank};

/// Copies the elements of a box, whose axes go from the outermost to the innermost, in row-major order.
///
/// The first element goes from `from_first` to `to_first`. The sides do not overlap; a `from_stride`
/// of 0 repeats. A box without axes is one element.
inline void copy_strided(DType dtype, const std::byte* from, std::uint64_t from_first, std::byte* to,
                         std::uint64_t to_first, std::span<const CopyAxis> axes) noexcept {
  ZRT_ASSERT(axes.size() <= kMaxCopyAxes);
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
