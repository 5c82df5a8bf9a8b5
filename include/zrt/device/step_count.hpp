// SPDX-License-Identifier: Apache-2.0
// zrt/device/step_count.hpp: a number that follows the step: the size of a grid, or a count among a kernel's values.
#pragma once

#include <zrt/core/dims.hpp>

namespace zrt::inline ZRT_ABI::device {

/// ceil(times * symbol / per), where symbol 0 counts as 1; or what a part of that range has of it.
///
/// A device keeps such numbers in memory that a step patches, so that one record serves every batch.
class StepCount {
 public:
  constexpr StepCount(std::uint32_t constant = 1) noexcept
      : times_(constant) {}  // NOLINT: a number is a constant count

  /// The product of a shape's extents, the last axis left out.
  [[nodiscard]] static constexpr StepCount rows(const Shape& shape) noexcept {
    StepCount count;
    for (std::uint8_t axis = 0; axis + 1 < shape.rank; ++axis) count.multiply(shape[axis]);
    return count;
  }
  /// The product of a shape's extents.
  [[nodiscard]] static constexpr StepCount elements(const Shape& shape) noexcept {
    StepCount count;
    for (std::uint8_t axis = 0; axis < shape.rank; ++axis) count.multiply(shape[axis]);
    return count;
  }

  [[nodiscard]] constexpr StepCount times(std::uint32_t factor) const noexcept {
    StepCount count = *this;
    count.times_ *= factor;
    return count;
  }
  /// Divided by `divisor`, once, rounded up.
  [[nodiscard]] constexpr StepCount over(std::uint32_t divisor) const noexcept {
    StepCount count = *this;
    count.per_ = divisor;
    return count;
  }

  /// Of the numbers from 0 to before this one those from `first` on, at most `most`.
  [[nodiscard]] constexpr StepCount part(std::uint32_t first, std::uint32_t most) const noexcept {
    StepCount count = *this;
    count.first_ = first;
    count.most_ = most;
    return count;
  }

  /// The number in a step; extents that were checked with fits() do not overflow.
  [[nodiscard]] constexpr std::uint32_t in(const Extents& step) const noexcept {
    const auto whole = static_cast<std::uint32_t>(exact(step).raw());
    const std::uint32_t left = whole < first_ ? 0 : whole - first_;
    return left < most_ ? left : most_;
  }
  /// That no step within `bounds` gives more than 32 bits. False also for a product of two symbols.
  [[nodiscard]] constexpr bool fits(const Extents& bounds) const noexcept {
    return !mixed_ && exact(bounds).ok() && exact(bounds).raw() <= 0xffffffffu;
  }
  [[nodiscard]] constexpr bool constant() const noexcept { return symbol_ == 0; }

  friend constexpr bool operator==(const StepCount& a, const StepCount& b) noexcept {
    return a.symbol_ == b.symbol_ && a.mixed_ == b.mixed_ && a.per_ == b.per_ && a.times_.ok() == b.times_.ok() &&
           a.times_.raw() == b.times_.raw() && a.first_ == b.first_ && a.most_ == b.most_;
  }

 private:
  constexpr void multiply(Dim dim) noexcept {
    mixed_ = mixed_ || (symbol_ != 0 && dim.symbol != 0);
    if (dim.symbol != 0) symbol_ = dim.symbol;
    times_ *= dim.extent;
  }
  [[nodiscard]] constexpr CheckedSize exact(const Extents& step) const noexcept {
    const CheckedSize whole = times_ * CheckedSize(symbol_ == 0 ? 1u : step.value[symbol_]);
    return whole.ok() ? CheckedSize(whole.raw() / per_ + (whole.raw() % per_ != 0 ? 1u : 0u)) : whole;
  }

  CheckedSize times_;
  std::uint32_t per_ = 1;
  std::uint32_t first_ = 0;
  std::uint32_t most_ = ~std::uint32_t{0};
  SymbolId symbol_ = 0;
  bool mixed_ = false;
};
static_assert(StepCount::elements(Shape{Dim(1, 2), 96}).over(64).in({{0, 0, 3}}) == 5);
static_assert(StepCount(10).part(4, 4).in({}) == 4 && StepCount(10).part(8, 4).in({}) == 2);
static_assert(StepCount(10).part(12, 4).in({}) == 0 && StepCount(10).part(0, 12) != StepCount(10));
static_assert(!StepCount::rows(Shape{Dim(1, 1), Dim(1, 2), 4}).fits({}));

}  // namespace zrt::inline ZRT_ABI::device
