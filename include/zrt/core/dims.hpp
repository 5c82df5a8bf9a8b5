// SPDX-License-Identifier: Apache-2.0
// zrt/core/dims.hpp: extents that are constants or symbols of the step, shapes, and tensor types.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/dtype.hpp>
#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
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

/// One extent of a graph: a constant, or `extent` times the step's value of `symbol`.
struct Dim {
  std::uint32_t extent = 0;
  SymbolId symbol = 0;

  constexpr Dim() = default;
  constexpr Dim(std::uint32_t constant) noexcept : extent(constant) {}  // NOLINT: a number is a constant dim
  constexpr Dim(std::uint32_t factor, SymbolId of) noexcept : extent(factor), symbol(of) {}

  [[nodiscard]] constexpr bool is_constant() const noexcept { return symbol == 0; }
  [[nodiscard]] constexpr bool is_constant(std::uint64_t number) const noexcept {
    return symbol == 0 && extent == number;
  }
  /// The constant; 0 when the dim is none.
  [[nodiscard]] constexpr std::uint64_t constant() const noexcept { return symbol == 0 ? extent : 0; }

  /// The largest constant.
  static constexpr std::uint64_t largest = 0xffffffff;
  [[nodiscard]] static constexpr Dim of(std::uint64_t constant) noexcept {
    return Dim(static_cast<std::uint32_t>(constant));
  }
  /// An extent of which nothing is known: a graph has none.
  [[nodiscard]] static constexpr std::optional<Dim> open() noexcept { return std::nullopt; }
  [[nodiscard]] constexpr bool is_open() const noexcept { return false; }
  friend constexpr bool operator==(Dim, Dim) = default;
};

/// Extents of a graph agree where they are the same: what a symbol is shows in every step anew.
[[nodiscard]] constexpr bool unify(Dim a, Dim b, Dim& both) noexcept {
  both = a;
  return a == b;
}
/// Two parts side by side; nothing where they follow different symbols or do not fit.
[[nodiscard]] constexpr std::optional<Dim> plus(Dim a, Dim b) noexcept {
  if (b == Dim(0)) return a;
  if (a == Dim(0)) return b;
  Dim sum = a;
  if (a.symbol != b.symbol || !add_fits(a.extent, b.extent, sum.extent)) return std::nullopt;
  return sum;
}
/// `factor` parts of one extent side by side; nothing where they do not fit.
[[nodiscard]] constexpr std::optional<Dim> times(Dim dim, std::uint64_t factor) noexcept {
  const CheckedSize product = CheckedSize(dim.extent) * CheckedSize(factor);
  if (!product.ok() || product.raw() > Dim::largest) return std::nullopt;
  return factor == 0 ? Dim(0) : Dim(static_cast<std::uint32_t>(product.raw()), dim.symbol);
}
/// Appends "2" or "3*s1" to an error's text.
constexpr void append_extent(Error& error, Dim dim) noexcept {
  error.append(dim.extent);
  if (dim.symbol != 0) error.append("*s").append(unsigned{dim.symbol});
}

/// One extent of a shape: a number, or a name for one that is known later. Its models are the graph's Dim and that
/// of the portable tensor IR, ir::ptir::Dim.
template <class D>
concept Dimension =
    std::regular<D> && std::convertible_to<std::uint32_t, D> && requires(const D dim, std::uint64_t number, D& both) {
      { dim.is_constant() } -> std::same_as<bool>;
      { dim.is_constant(number) } -> std::same_as<bool>;
      { dim.constant() } -> std::same_as<std::uint64_t>;
      { dim.is_open() } -> std::same_as<bool>;
      { D::largest } -> std::convertible_to<std::uint64_t>;
      { D::of(number) } -> std::same_as<D>;
      { D::open() } -> std::same_as<std::optional<D>>;
      { unify(dim, dim, both) } -> std::same_as<bool>;
      { plus(dim, dim) } -> std::same_as<std::optional<D>>;
      { times(dim, number) } -> std::same_as<std::optional<D>>;
    };
static_assert(Dimension<Dim>);

/// Values of all symbols: upper bounds while planning, actual extents within a step.
struct Extents {
  std::array<std::uint32_t, kMaxSymbols> value{};

  [[nodiscard]] constexpr std::uint32_t of(Dim dim) const noexcept {
    return dim.symbol == 0 ? dim.extent : dim.extent * value[dim.symbol];
  }
  /// The same, or not ok when it overflows.
  [[nodiscard]] constexpr CheckedSize checked(Dim dim) const noexcept {
    return dim.symbol == 0 ? CheckedSize(dim.extent) : CheckedSize(dim.extent) * CheckedSize(value[dim.symbol]);
  }
};

/// An ordered tuple of extents, row-major. A tuple longer than kMaxRank keeps its rank and its first kMaxRank extents,
/// so that a check of the rank can refuse it.
template <Dimension D> struct BasicShape {
  std::uint8_t rank = 0;
  std::array<D, kMaxRank> dims{};

  constexpr BasicShape() = default;
  constexpr BasicShape(std::initializer_list<D> list) noexcept {
    for (const D dim : list) append(dim);
  }
  constexpr void append(D dim) noexcept {
    if (rank < kMaxRank) dims[rank] = dim;
    if (rank < 0xff) ++rank;
  }
  [[nodiscard]] constexpr BasicShape appended(D dim) const noexcept {
    BasicShape shape = *this;
    shape.append(dim);
    return shape;
  }
  /// How many extents there are to read.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return rank < kMaxRank ? rank : kMaxRank; }
  [[nodiscard]] constexpr Span<const D> view() const noexcept { return Span(dims).first(size()); }
  [[nodiscard]] constexpr D operator[](std::size_t axis) const noexcept { return dims[axis]; }
  /// The extent of the last axis; rank 0 counts as one element.
  [[nodiscard]] constexpr D last() const noexcept { return rank == 0 ? D(1) : dims[size() - 1]; }
  /// The same shape with another last axis.
  [[nodiscard]] constexpr BasicShape with_last(D dim) const noexcept {
    BasicShape shape = *this;
    if (shape.rank == 0) shape.rank = 1;
    shape.dims[shape.size() - 1] = dim;
    return shape;
  }
  /// The same elements without first axes of one: files of weights have them or leave them out.
  [[nodiscard]] constexpr BasicShape without_leading_ones() const noexcept {
    std::size_t first = 0;
    while (first < size() && dims[first].is_constant(1)) ++first;
    BasicShape shape;
    for (std::size_t axis = first; axis < size(); ++axis) shape.append(dims[axis]);
    return shape;
  }
  [[nodiscard]] constexpr bool is_constant() const noexcept {
    for (const D dim : view())
      if (!dim.is_constant()) return false;
    return true;
  }
  /// The product of the constant extents, 0 if one of them is; not ok when it overflows.
  [[nodiscard]] constexpr CheckedSize constant_elements() const noexcept {
    CheckedSize count = 1;
    for (const D dim : view()) {
      if (dim.is_constant(0)) return 0;
      if (dim.is_constant()) count *= CheckedSize(dim.constant());
    }
    return count;
  }
  /// Number of elements with the symbols at `extents`, or not ok when it overflows.
  [[nodiscard]] constexpr CheckedSize elements(const Extents& extents) const noexcept
    requires std::same_as<D, Dim>
  {
    CheckedSize count = 1;
    for (const D dim : view()) count *= extents.checked(dim);
    return count;
  }
  friend constexpr bool operator==(const BasicShape& a, const BasicShape& b) noexcept {
    if (a.rank != b.rank) return false;
    for (std::size_t axis = 0; axis < a.size(); ++axis)
      if (a.dims[axis] != b.dims[axis]) return false;
    return true;
  }
};

/// Joins two shapes whose extents agree into one; false when they do not.
template <Dimension D>
[[nodiscard]] constexpr bool unify(const BasicShape<D>& a, const BasicShape<D>& b, BasicShape<D>& both) noexcept {
  if (a.rank != b.rank) return false;
  both = a;
  for (std::size_t axis = 0; axis < a.size(); ++axis)
    if (!unify(a[axis], b[axis], both.dims[axis])) return false;
  return true;
}

/// Appends "[2, 3*s1]" to an error's text; `append(error, dim)` writes one extent.
template <Dimension D, class Append>
constexpr Error& append_shape(Error& error, const BasicShape<D>& shape, const Append& append) noexcept {
  error.append('[');
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis != 0) error.append(", ");
    append(error, shape[axis]);
  }
  return error.append(']');
}

/// Element type and shape of a value.
template <Dimension D> struct BasicTensorType {
  DType dtype = DType::f32;
  BasicShape<D> shape{};
  friend constexpr bool operator==(const BasicTensorType&, const BasicTensorType&) = default;
};

/// True when both dtypes are the same and the shapes may agree.
template <Dimension D>
[[nodiscard]] constexpr bool compatible(const BasicTensorType<D>& a, const BasicTensorType<D>& b) noexcept {
  BasicShape<D> both;
  return a.dtype == b.dtype && unify(a.shape, b.shape, both);
}

/// A shape and a tensor type of a graph.
using Shape = BasicShape<Dim>;
static_assert(Shape{1, 1, 3, 1}.without_leading_ones() == Shape{3, 1} && Shape{1}.without_leading_ones() == Shape{});
using TensorType = BasicTensorType<Dim>;

/// Appends "[2, 3*s1]" to an error's text.
constexpr Error& append_shape(Error& error, const Shape& shape) noexcept {
  return append_shape(error, shape, append_extent);
}

/// True when `shape` can be stored as a weight of `dtype`: constant extents, rows of whole blocks.
[[nodiscard]] constexpr bool whole_blocks(DType dtype, const Shape& shape) noexcept {
  return shape.is_constant() && (!is_block(dtype) || shape.last().extent % info(dtype).block_elems == 0);
}

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
    const CheckedSize extent = bounds.checked(dim);
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
