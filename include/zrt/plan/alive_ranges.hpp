// SPDX-License-Identifier: Apache-2.0
// zrt/plan/alive_ranges.hpp: how many of the registers that live lie in a range of bytes.
#pragma once

#include <zrt/core/heap.hpp>

#include <algorithm>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::detail {

/// The bytes of a register, or of a workspace.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] bool overlaps(const ByteRange& other) const noexcept {
    return begin < end && other.begin < other.end && begin < other.end && other.begin < end;
  }
};

/// A multiset of numbers out of a list that is known before: counts those below a number in logarithmic time.
class CountBelow {
 public:
  explicit CountBelow(Allocator a) noexcept : numbers_(a), sums_(a) {}

  [[nodiscard]] Result<void> allow(std::uint64_t number) noexcept { return numbers_.push_back(number); }
  /// Ends the list.
  [[nodiscard]] Result<void> close() noexcept {
    heap_sort(numbers_.span(), [](std::uint64_t a, std::uint64_t b) noexcept { return a < b; });
    return sums_.resize(numbers_.size() + 1);
  }
  void add(std::uint64_t number, std::int32_t change) noexcept {
    for (std::size_t i = below(number) + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += change;
  }
  [[nodiscard]] std::int32_t count(std::uint64_t limit) const noexcept {
    std::int32_t sum = 0;
    for (std::size_t i = below(limit); i > 0; i &= i - 1) sum += sums_[i];
    return sum;
  }

 private:
  [[nodiscard]] std::size_t below(std::uint64_t number) const noexcept {
    return static_cast<std::size_t>(std::lower_bound(numbers_.begin(), numbers_.end(), number) - numbers_.begin());
  }

  Vector<std::uint64_t> numbers_;
  Vector<std::int32_t> sums_;  ///< a binary indexed tree
};

/// The registers that live. Adding one, removing one and asking for a range take logarithmic time.
class AliveRanges {
 public:
  explicit AliveRanges(Allocator a) noexcept : ranges_(a), alive_(a), begins_(a), ends_(a) {}

  /// Adds the next register, which does not live yet.
  [[nodiscard]] Result<void> append(const ByteRange& range) noexcept {
    if (auto r = begins_.allow(range.begin); !r) return r;
    if (auto r = ends_.allow(range.end); !r) return r;
    if (auto r = alive_.push_back(0); !r) return r;
    return ranges_.push_back(range);
  }
  /// Ends the list of registers.
  [[nodiscard]] Result<void> close() noexcept {
    if (auto r = begins_.close(); !r) return r;
    return ends_.close();
  }

  [[nodiscard]] const ByteRange& operator[](std::size_t reg) const noexcept { return ranges_[reg]; }
  [[nodiscard]] bool is_alive(std::size_t reg) const noexcept { return alive_[reg] != 0; }
  void set_alive(std::size_t reg, bool alive) noexcept {
    if (is_alive(reg) == alive) return;
    alive_[reg] = alive ? 1 : 0;
    const ByteRange& range = ranges_[reg];
    if (range.begin >= range.end) return;
    const std::int32_t change = alive ? 1 : -1;
    begins_.add(range.begin, change);
    ends_.add(range.end, change);
  }
  /// How many of those that live overlap `range`: all but those that end before it or begin behind it.
  [[nodiscard]] std::int32_t overlapping(const ByteRange& range) const noexcept {
    if (range.begin >= range.end) return 0;
    return begins_.count(range.end) - ends_.count(range.begin + 1);
  }

 private:
  Vector<ByteRange> ranges_;
  Vector<std::uint8_t> alive_;
  CountBelow begins_;
  CountBelow ends_;
};

}  // namespace zrt::inline ZRT_ABI::plan::detail

ZRT_LOAD_TIME_END
