// SPDX-License-Identifier: Apache-2.0
// zrt/ops/row_major.hpp: a dense tensor in one step: its extents and strides, whole values copied and cleared.
#pragma once

#include <zrt/ops/op.hpp>

#include <algorithm>
#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

/// A tensor's extents in one step, and the elements that lie between neighbours along each axis.
struct RowMajor {
  std::uint8_t rank = 0;
  std::array<std::uint64_t, kMaxRank> extent{};
  std::array<std::uint64_t, kMaxRank> stride{};
  std::uint64_t elements = 1;

  RowMajor(const HostTensor& tensor, const ExecutionContext& step) noexcept : rank(tensor.type.shape.rank) {
    for (std::size_t axis = 0; axis < rank; ++axis) extent[axis] = step.extents.of(tensor.type.shape[axis]);
    measure();
  }
  explicit RowMajor(Span<const std::uint32_t> extents) noexcept : rank(static_cast<std::uint8_t>(extents.size())) {
    std::copy(extents.begin(), extents.end(), extent.begin());
    measure();
  }

 private:
  void measure() noexcept {
    for (std::size_t axis = rank; axis-- > 0;) {
      stride[axis] = elements;
      elements *= extent[axis];
    }
  }
};

/// A tensor as [outer, extent, inner], the middle one being an axis of its own.
struct AxisSplit {
  std::uint64_t outer = 1;
  std::uint64_t extent = 1;
  std::uint64_t inner = 1;

  AxisSplit(const HostTensor& tensor, std::size_t axis, const ExecutionContext& step) noexcept {
    const Shape& shape = tensor.type.shape;
    for (std::size_t a = 0; a < shape.rank; ++a)
      (a < axis ? outer : a == axis ? extent : inner) *= step.extents.of(shape[a]);
  }
};

/// Steps through the elements of a dense tensor in row-major order, keeping their index on every axis.
struct ElementIndex {
  std::array<std::uint64_t, kMaxRank> at{};

  /// The index of element `index` of a tensor of these extents and strides; there is one.
  [[nodiscard]] static ElementIndex of(const RowMajor& tensor, std::uint64_t index) noexcept {
    ElementIndex place;
    for (std::size_t axis = 0; axis < tensor.rank; ++axis)
      place.at[axis] = index / tensor.stride[axis] % tensor.extent[axis];
    return place;
  }
  /// Goes to the next element of a tensor of these extents.
  void advance(const RowMajor& within) noexcept {
    for (std::size_t axis = within.rank; axis-- > 0;) {
      if (++at[axis] < within.extent[axis]) return;
      at[axis] = 0;
    }
  }
};

/// Sets every element to the bits 0.
inline void clear(const HostTensor& tensor, const ExecutionContext& step) noexcept {
  const std::uint64_t bytes = bytes_of(tensor.type.dtype, tensor.elements(step));
  if (bytes != 0) std::memset(tensor.data, 0, bytes);
}

/// Copies a whole value, unless it lies where it shall go.
inline void copy_value(const HostTensor& from, const HostTensor& to, const ExecutionContext& step) noexcept {
  const std::uint64_t bytes = bytes_of(from.type.dtype, from.elements(step));
  if (from.data != to.data && bytes != 0) std::memcpy(to.data, from.data, bytes);
}

}  // namespace zrt::inline ZRT_ABI::ops
