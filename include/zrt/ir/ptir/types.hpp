// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/types.hpp: extents, shapes and tensor types of the portable tensor IR, dynamic ones included.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/dims.hpp>
#include <zrt/core/dtype.hpp>
#include <zrt/core/span.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>

namespace zrt::inline ZRT_ABI::ir::ptir {

/// One extent: a constant, a named symbol of the program (`?N`), an unnamed dynamic one (`?`), or, in
/// reshape's `new_shape` alone, the extent that follows from the others (-1).
///
/// One signed number: constants are themselves, everything else is negative.
class Dim {
 public:
  constexpr Dim() = default;
  /// A constant for `number` >= 0; -1 is the inferred extent.
  constexpr Dim(std::int64_t number) noexcept : code_(number) {}  // NOLINT: a number is a constant dim

  [[nodiscard]] static constexpr Dim inferred() noexcept { return Dim(-1); }
  [[nodiscard]] static constexpr Dim any() noexcept { return Dim(-2); }
  [[nodiscard]] static constexpr Dim of_symbol(std::uint32_t index) noexcept { return Dim(-3 - std::int64_t{index}); }
  /// The dim that `code()` came from.
  [[nodiscard]] static constexpr Dim from_code(std::int64_t code) noexcept { return Dim(code); }

  [[nodiscard]] constexpr bool is_constant() const noexcept { return code_ >= 0; }
  [[nodiscard]] constexpr bool is_constant(std::uint64_t extent) const noexcept {
    return code_ >= 0 && static_cast<std::uint64_t>(code_) == extent;
  }
  [[nodiscard]] constexpr bool is_inferred() const noexcept { return code_ == -1; }
  [[nodiscard]] constexpr bool is_any() const noexcept { return code_ == -2; }
  [[nodiscard]] constexpr bool is_symbol() const noexcept { return code_ < -2; }
  [[nodiscard]] constexpr bool is_dynamic() const noexcept { return code_ < -1; }

  /// The constant; 0 when the dim is none.
  [[nodiscard]] constexpr std::uint64_t extent() const noexcept {
    return code_ < 0 ? 0 : static_cast<std::uint64_t>(code_);
  }
  /// Index into Program::symbols; meaningful only for a symbol.
  [[nodiscard]] constexpr std::uint64_t symbol() const noexcept {
    // Not -3 - code_: a hostile code may be the least integer.
    return static_cast<std::uint64_t>(-(code_ + 3));
  }
  [[nodiscard]] constexpr std::int64_t code() const noexcept { return code_; }
  friend constexpr bool operator==(Dim, Dim) = default;

 private:
  std::int64_t code_ = 0;
};

/// An ordered tuple of extents, row-major. Only the first kMaxRank of a longer one are kept; its rank
/// stays as it was, so that the verifier sees it.
struct Shape {
  std::uint8_t rank = 0;
  std::array<Dim, kMaxRank> dims{};

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<Dim> list) noexcept {
    for (const Dim dim : list) append(dim);
  }
  constexpr void append(Dim dim) noexcept {
    if (rank < kMaxRank) dims[rank] = dim;
    if (rank < 0xff) ++rank;
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return rank < kMaxRank ? rank : kMaxRank; }
  [[nodiscard]] constexpr Span<const Dim> view() const noexcept { return Span(dims).first(size()); }
  [[nodiscard]] constexpr Dim operator[](std::size_t axis) const noexcept { return dims[axis]; }
  [[nodiscard]] constexpr bool is_constant() const noexcept {
    for (const Dim dim : view())
      if (!dim.is_constant()) return false;
    return true;
  }
  /// The product of the constant extents, 0 if one of them is; not ok when it overflows.
  [[nodiscard]] constexpr CheckedSize constant_elements() const noexcept {
    CheckedSize count = 1;
    for (const Dim dim : view()) {
      if (dim.is_constant(0)) return 0;
      if (dim.is_constant()) count *= CheckedSize(dim.extent());
    }
    return count;
  }
  friend constexpr bool operator==(const Shape& a, const Shape& b) noexcept {
    if (a.rank != b.rank) return false;
    for (std::size_t axis = 0; axis < a.size(); ++axis)
      if (a.dims[axis] != b.dims[axis]) return false;
    return true;
  }
};

/// Element type and shape of one tensor.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape{};
  friend constexpr bool operator==(const TensorType&, const TensorType&) = default;
};

/// True for the element types of the portable tensor IR: all but the block types of weights.
[[nodiscard]] constexpr bool is_ptir_dtype(DType dtype) noexcept {
  return is_dtype(static_cast<std::uint8_t>(dtype)) && !is_block(dtype);
}

/// Bytes of a dense tensor of `type`, whose extents are constants. 4-bit integers lie two in a byte,
/// the first in the low half; the unused half of the last byte is zero.
[[nodiscard]] constexpr CheckedSize literal_bytes(const TensorType& type) noexcept {
  return bytes_of(type.dtype, type.shape.constant_elements());
}
static_assert([] {
  const TensorType packed{DType::si4, {3}};
  const TensorType empty{DType::cf64, {2, 0}};
  return literal_bytes(packed).raw() == 2 && literal_bytes(empty).raw() == 0;
}());

}  // namespace zrt::inline ZRT_ABI::ir::ptir
