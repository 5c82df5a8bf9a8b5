// SPDX-License-Identifier: Apache-2.0
// zrt/quant/integer_range.hpp: the integers that a weight type's block can hold, and the one nearest to a number.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::quant {

/// All integers from kLow to kHigh.
template <int kLowest, int kHighest> struct IntegerRange {
  static constexpr int kLow = kLowest;
  static constexpr int kHigh = kHighest;

  /// The integer nearest to `x`, halves away from zero; NaN gives the lowest.
  [[nodiscard]] static constexpr std::int8_t nearest(float x) noexcept {
    if (!(x > static_cast<float>(kLow))) return static_cast<std::int8_t>(kLow);
    if (x >= static_cast<float>(kHigh)) return static_cast<std::int8_t>(kHigh);
    return static_cast<std::int8_t>(static_cast<int>(x + (x < 0.0f ? -0.5f : 0.5f)));
  }
};

namespace detail {

template <std::size_t kCount>
[[nodiscard]] consteval std::array<std::int8_t, 16> up_to_sixteen(const std::int8_t (&levels)[kCount]) noexcept {
  std::array<std::int8_t, 16> codes{};
  for (std::size_t at = 0; at < kCount; ++at) codes[at] = levels[at];
  return codes;
}

}  // namespace detail

/// The integers of a codebook.
template <const auto& kLevels> struct IntegerSet {
 private:
  // In ascending order, those that stand twice once.
  struct Sorted {
    std::array<std::int8_t, 16> levels{};
    std::size_t count = 0;
  };
  static constexpr Sorted kSorted = [] {
    Sorted sorted;
    for (int x = -128; x < 128; ++x) {
      bool found = false;
      for (const int level : kLevels) found = found || level == x;
      if (found) sorted.levels[sorted.count++] = static_cast<std::int8_t>(x);
    }
    return sorted;
  }();

 public:
  /// The codebook, with zeros up to sixteen.
  static constexpr std::array<std::int8_t, 16> kCodes = detail::up_to_sixteen(kLevels);
  static constexpr std::size_t kCodeCount = sizeof(kLevels) / sizeof(kLevels[0]);
  static constexpr int kLow = kSorted.levels[0];
  static constexpr int kHigh = kSorted.levels[kSorted.count - 1];

  /// The level nearest to `x`, of two the higher; NaN gives the lowest.
  [[nodiscard]] static constexpr std::int8_t nearest(float x) noexcept {
    if (!(x > static_cast<float>(kLow))) return static_cast<std::int8_t>(kLow);
    if (x >= static_cast<float>(kHigh)) return static_cast<std::int8_t>(kHigh);
    const std::size_t at = kBelow[static_cast<std::size_t>(x - static_cast<float>(kLow))];
    const std::int8_t below = kSorted.levels[at];
    const std::int8_t above = kSorted.levels[at + 1];
    return x - static_cast<float>(below) < static_cast<float>(above) - x ? below : above;
  }
  /// The first place in the codebook that holds `level`, 0 when none does.
  [[nodiscard]] static constexpr std::uint8_t code(std::int8_t level) noexcept {
    std::uint8_t at = 0;
    for (const int each : kLevels) {
      if (each == level) return at;
      ++at;
    }
    return 0;
  }

 private:
  // The level at or below an integer, by its distance from the lowest. The distance of a number just below the highest
  // may round up to that of the highest.
  static constexpr auto kBelow = [] {
    std::array<std::uint8_t, static_cast<std::size_t>(kHigh - kLow) + 1> below{};
    std::size_t at = 0;
    for (int x = kLow; x < kHigh; ++x) {
      if (kSorted.levels[at + 1] == x) ++at;
      below[static_cast<std::size_t>(x - kLow)] = static_cast<std::uint8_t>(at);
    }
    below.back() = static_cast<std::uint8_t>(at);
    return below;
  }();
};

namespace detail {
inline constexpr std::int8_t kTwoLevels[2]{-127, 113};
}
static_assert(IntegerSet<detail::kTwoLevels>::nearest(112.99999f) == 113);
static_assert(IntegerRange<-8, 7>::nearest(-2.5f) == -3 && IntegerRange<-8, 7>::nearest(9.0f) == 7);

}  // namespace zrt::inline ZRT_ABI::quant
