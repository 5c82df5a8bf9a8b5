// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/types.hpp: extents, shapes and tensor types of the portable tensor IR, dynamic ones included.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/dims.hpp>
#include <zrt/core/dtype.hpp>

#include <cstdint>
#include <limits>
#include <optional>

ZRT_LOAD_TIME_BEGIN

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
  [[nodiscard]] constexpr std::uint64_t constant() const noexcept {
    return code_ < 0 ? 0 : static_cast<std::uint64_t>(code_);
  }
  /// Index into Program::symbols; meaningful only for a symbol.
  [[nodiscard]] constexpr std::uint64_t symbol() const noexcept {
    // Not -3 - code_: a hostile code may be the least integer.
    return static_cast<std::uint64_t>(-(code_ + 3));
  }
  [[nodiscard]] constexpr std::int64_t code() const noexcept { return code_; }

  /// The largest constant.
  static constexpr std::uint64_t largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  [[nodiscard]] static constexpr Dim of(std::uint64_t constant) noexcept {
    return Dim(static_cast<std::int64_t>(constant));
  }
  /// An extent of which nothing is known.
  [[nodiscard]] static constexpr std::optional<Dim> open() noexcept { return any(); }
  [[nodiscard]] constexpr bool is_open() const noexcept { return is_any(); }
  friend constexpr bool operator==(Dim, Dim) = default;

 private:
  std::int64_t code_ = 0;
};

/// The extent of two axes that must agree when the program runs; false when they cannot. A dynamic
/// extent agrees with any; the better known of the two is the result.
[[nodiscard]] constexpr bool unify(Dim a, Dim b, Dim& both) noexcept {
  if (a.is_constant() && b.is_constant()) {
    both = a;
    return a == b;
  }
  both = a.is_constant() ? a : b.is_constant() ? b : a.is_symbol() ? a : b;
  return true;
}
/// Two parts side by side: unknown where one is; nothing where they do not fit.
[[nodiscard]] constexpr std::optional<Dim> plus(Dim a, Dim b) noexcept {
  if (a.is_dynamic() || b.is_dynamic()) return Dim::any();
  const CheckedSize sum = CheckedSize(a.constant()) + CheckedSize(b.constant());
  return sum.ok() && sum.raw() <= Dim::largest ? std::optional(Dim::of(sum.raw())) : std::nullopt;
}
/// `factor` parts of one extent side by side; nothing where they do not fit.
[[nodiscard]] constexpr std::optional<Dim> times(Dim dim, std::uint64_t factor) noexcept {
  if (dim.is_dynamic()) return factor == 0 ? Dim(0) : factor == 1 ? dim : Dim::any();
  const CheckedSize product = CheckedSize(dim.constant()) * CheckedSize(factor);
  return product.ok() && product.raw() <= Dim::largest ? std::optional(Dim::of(product.raw())) : std::nullopt;
}
static_assert(Dimension<Dim>);

/// A shape and a tensor type of a program.
using Shape = BasicShape<Dim>;
using TensorType = BasicTensorType<Dim>;

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

ZRT_LOAD_TIME_END
