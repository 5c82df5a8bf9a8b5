// SPDX-License-Identifier: Apache-2.0
// zrt/core/dims.hpp: extents that are constants or symbols of the step, shapes, and tensor types.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/dtype.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace zrt::inline ZRT_ABI {

/// Views have at most this many axes.
inline constexpr std::uint8_t kMaxRank = 8;
/// Activations of macro and fused plans have at most this many axes.
inline constexpr std::uint8_t kMaxActivationRank = 4;
/// A plan knows at most this many symbols, the null symbol 0 included.
inline constexpr std::uint8_t kMaxSymbols = 16;

/// Bytes of `elements` elements of `dtype`, a multiple of its block; not ok() where they do not fit 64 bits.
[[nodiscard]] constexpr CheckedSize bytes_of(DType dtype, CheckedSize elements) noexcept {
  const DTypeInfo& row = info(dtype);
  const CheckedSize blocks = elements.raw() / row.block_elems + (elements.raw() % row.block_elems != 0 ? 1u : 0u);
  return elements.ok() ? blocks * CheckedSize(row.block_bytes) : elements;
}
static_assert(bytes_of(DType::si4, CheckedSize(3)).raw() == 2 && bytes_of(DType::q8_0, CheckedSize(64)).raw() == 68);
static_assert(!bytes_of(DType::f32, CheckedSize((std::uint64_t{1} << 62) + 128)).ok());

/// Names an extent that is data of the step; 0 names none.
using SymbolId = std::uint8_t;

/// One extent: a constant, or `extent` times the step's value of `symbol`.
struct Dim {
  std::uint32_t extent = 0;
  SymbolId symbol = 0;

  constexpr Dim() = default;
  constexpr Dim(std::uint32_t constant) noexcept : extent(constant) {}  // NOLINT: a number is a constant dim
  constexpr Dim(std::uint32_t factor, SymbolId of) noexcept : extent(factor), symbol(of) {}
  friend constexpr bool operator==(Dim, Dim) = default;
};

/// Values of all symbols: upper bounds while planning, actual extents within a step.
struct Extents {
  std::array<std::uint32_t, kMaxSymbols> value{};

  [[nodiscard]] constexpr std::uint32_t of(Dim dim) const noexcept {
    return dim.symbol == 0 ? dim.extent : dim.extent * value[dim.symbol];
  }
};

/// An ordered tuple of at most kMaxRank extents, row-major.
struct Shape {
  std::uint8_t rank = 0;
  std::array<Dim, kMaxRank> dims{};

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<Dim> list) noexcept {
    for (Dim dim : list)
      if (rank < kMaxRank) dims[rank++] = dim;
  }
  [[nodiscard]] constexpr Dim operator[](std::size_t axis) const noexcept { return dims[axis]; }
  /// The extent of the last axis; rank 0 counts as one element.
  [[nodiscard]] constexpr Dim last() const noexcept { return rank == 0 ? Dim(1) : dims[rank - 1u]; }
  /// The same shape with another last axis.
  [[nodiscard]] constexpr Shape with_last(Dim dim) const noexcept {
    Shape shape = *this;
    if (shape.rank == 0) shape.rank = 1;
    shape.dims[shape.rank - 1u] = dim;
    return shape;
  }
  [[nodiscard]] constexpr Shape appended(Dim dim) const noexcept {
    Shape shape = *this;
    if (shape.rank < kMaxRank) shape.dims[shape.rank++] = dim;
    return shape;
  }
  /// Number of elements with the symbols at `extents`, or not ok when it overflows.
  [[nodiscard]] constexpr CheckedSize elements(const Extents& extents) const noexcept {
    CheckedSize count = 1;
    for (std::uint8_t axis = 0; axis < rank; ++axis) {
      CheckedSize extent = dims[axis].extent;
      if (dims[axis].symbol != 0) extent *= CheckedSize(extents.value[dims[axis].symbol]);
      count *= extent;
    }
    return count;
  }
  friend constexpr bool operator==(const Shape& a, const Shape& b) noexcept {
    if (a.rank != b.rank) return false;
    for (std::uint8_t axis = 0; axis < a.rank; ++axis)
      if (a.dims[axis] != b.dims[axis]) return false;
    return true;
  }
};

/// Appends "[2, 3*s1]" to an error's text.
constexpr Error& append_shape(Error& error, const Shape& shape) noexcept {
  error.append('[');
  for (std::uint8_t axis = 0; axis < shape.rank; ++axis) {
    if (axis != 0) error.append(", ");
    error.append(shape.dims[axis].extent);
    if (shape.dims[axis].symbol != 0) error.append("*s").append(unsigned{shape.dims[axis].symbol});
  }
  return error.append(']');
}

/// True when `shape` can be stored as a weight of `dtype`: constant extents, rows of whole blocks.
[[nodiscard]] constexpr bool whole_blocks(DType dtype, const Shape& shape) noexcept {
  for (std::uint8_t axis = 0; axis < shape.rank; ++axis)
    if (shape[axis].symbol != 0) return false;
  return !is_block(dtype) || shape.last().extent % info(dtype).block_elems == 0;
}

/// Element type and shape of a value.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape{};
  friend constexpr bool operator==(const TensorType&, const TensorType&) = default;
};

/// How a view's elements lie.
enum class Layout : std::uint8_t { contiguous, strided, backend_native };

[[nodiscard]] constexpr std::string_view name(Layout layout) noexcept {
  switch (layout) {
    case Layout::contiguous:
      return "contiguous";
    case Layout::strided:
      return "strided";
    case Layout::backend_native:
      return "backend_native";
  }
  return "unknown";
}

/// Backend-agnostic description of a tensor in memory (runtime contract, TensorViewDesc; rank 8).
///
/// `shape` holds extents at the symbols' bounds; `symbol` says which axes follow the step.
struct TensorViewDesc {
  DType dtype = DType::f32;
  std::uint8_t rank = 0;
  Layout layout = Layout::contiguous;
  std::array<std::uint32_t, kMaxRank> shape{};
  std::array<std::uint32_t, kMaxRank> stride_elems{};
  std::array<SymbolId, kMaxRank> symbol{};

  /// Bytes from the first element to the end of the last one; meaningless for a backend's own layout.
  [[nodiscard]] constexpr CheckedSize bytes() const noexcept {
    CheckedSize elements = 1;
    for (std::uint8_t axis = 0; axis < rank; ++axis) {
      if (shape[axis] == 0) return 0;
      elements += CheckedSize(shape[axis] - 1) * CheckedSize(stride_elems[axis]);
    }
    return bytes_of(dtype, elements);
  }
  friend constexpr bool operator==(const TensorViewDesc&, const TensorViewDesc&) = default;
};

/// Describes a dense row-major tensor of `type` with its symbols at `bounds`.
///
/// Errors: Errc::unsupported_tensor_rank above kMaxRank, Errc::size_overflow when an extent or a
/// stride does not fit 32 bits.
[[nodiscard]] constexpr Result<TensorViewDesc> contiguous_view(const TensorType& type, const Extents& bounds) noexcept {
  if (type.shape.rank > kMaxRank)
    return fail(Errc::unsupported_tensor_rank, "a tensor has ", unsigned{type.shape.rank}, " axes, at most ",
                unsigned{kMaxRank}, " expected");
  TensorViewDesc view;
  view.dtype = type.dtype;
  view.rank = type.shape.rank;
  CheckedSize stride = 1;
  for (std::size_t axis = type.shape.rank; axis-- > 0;) {
    const Dim dim = type.shape[axis];
    const CheckedSize extent = CheckedSize(dim.extent) * CheckedSize(dim.symbol == 0 ? 1u : bounds.value[dim.symbol]);
    if (!extent.ok() || !stride.ok() || extent.raw() > 0xffffffffu || stride.raw() > 0xffffffffu) {
      Error error = Error::of(Errc::size_overflow, "an extent or stride does not fit 32 bits: ");
      return std::unexpected<Error>(append_shape(error, type.shape));
    }
    view.shape[axis] = static_cast<std::uint32_t>(extent.raw());
    view.stride_elems[axis] = static_cast<std::uint32_t>(stride.raw());
    view.symbol[axis] = dim.symbol;
    stride *= extent;
  }
  return view;
}

}  // namespace zrt::inline ZRT_ABI
