// SPDX-License-Identifier: Apache-2.0
// zrt/core/checked.hpp: sums, products and narrowing of sizes that report overflow.
#pragma once

#include <zrt/core/error.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace zrt::inline ZRT_ABI {

/// Adds two unsigned sizes; false when the sum does not fit.
template <std::unsigned_integral T> [[nodiscard]] constexpr bool add_fits(T a, T b, T& sum) noexcept {
  return !__builtin_add_overflow(a, b, &sum);
}

/// Multiplies two unsigned sizes; false when the product does not fit.
template <std::unsigned_integral T> [[nodiscard]] constexpr bool mul_fits(T a, T b, T& product) noexcept {
  return !__builtin_mul_overflow(a, b, &product);
}

/// A running unsigned value that remembers whether any step overflowed.
class CheckedSize {
 public:
  constexpr CheckedSize(std::uint64_t value) noexcept : value_(value) {}  // NOLINT: a size is a checked size

  constexpr CheckedSize& operator+=(CheckedSize other) noexcept {
    ok_ = add_fits(value_, other.value_, value_) && ok_ && other.ok_;
    return *this;
  }
  constexpr CheckedSize& operator*=(CheckedSize other) noexcept {
    ok_ = mul_fits(value_, other.value_, value_) && ok_ && other.ok_;
    return *this;
  }
  friend constexpr CheckedSize operator+(CheckedSize a, CheckedSize b) noexcept { return a += b; }
  friend constexpr CheckedSize operator*(CheckedSize a, CheckedSize b) noexcept { return a *= b; }

  /// Rounds up to a multiple of `alignment`, a power of two.
  [[nodiscard]] constexpr CheckedSize aligned(std::uint64_t alignment) const noexcept {
    CheckedSize up = *this + CheckedSize(alignment - 1);
    up.value_ &= ~(alignment - 1);
    return up;
  }

  [[nodiscard]] constexpr bool ok() const noexcept { return ok_; }
  /// The value; meaningful only while ok().
  [[nodiscard]] constexpr std::uint64_t raw() const noexcept { return value_; }
  /// The value, or Errc::size_overflow naming `what`.
  [[nodiscard]] constexpr Result<std::uint64_t> get(std::string_view what) const noexcept {
    if (!ok_) return fail(Errc::size_overflow, "the size of ", what, " does not fit 64 bits");
    return value_;
  }

 private:
  std::uint64_t value_;
  bool ok_ = true;
};

/// Converts an integer to `To`, or fails with Errc::size_overflow naming `what`.
template <std::integral To, std::integral From>
[[nodiscard]] constexpr Result<To> narrow(From value, std::string_view what) noexcept {
  const auto narrowed = static_cast<To>(value);
  const bool same_sign = (value < From{}) == (narrowed < To{});
  if (!same_sign || static_cast<From>(narrowed) != value)
    return fail(Errc::size_overflow, what, " is ", value, ", at most ", std::numeric_limits<To>::max(), " expected");
  return narrowed;
}

/// Rounds up to a multiple of `alignment`, a power of two; the caller knows that it fits.
[[nodiscard]] constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) noexcept {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace zrt::inline ZRT_ABI
