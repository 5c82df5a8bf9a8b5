// SPDX-License-Identifier: Apache-2.0
// zrt/serve/step_times.hpp: the measured time of steps by the number of their tokens.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <bit>
#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// Follows how long steps of one kind take. It is told the times and reads no clock.
class StepTimes {
 public:
  /// Takes in a step. One that took much longer than those before counts as twice as long: the machine had something else
  /// to do.
  void learn(std::uint32_t tokens, std::uint64_t nanoseconds) noexcept {
    if (tokens == 0 || nanoseconds == 0) return;
    Group& group = groups_[group_of(tokens)];
    std::uint64_t sample = nanoseconds < kLongest ? nanoseconds : kLongest;
    if (group.time != 0 && sample > 2 * group.time) sample = 2 * group.time;
    group.time = group.time == 0 ? sample : (3 * group.time + sample) / 4;
    group.time += group.time == 0 ? 1 : 0;
    group.tokens = tokens;
  }

  /// Expected nanoseconds of a step, less than 2^40; 0 while nothing is known. Between sizes that are known the time is on
  /// a straight line, beyond them it is that of the next: a larger step is tried before it is thought slow.
  [[nodiscard]] std::uint64_t of(std::uint32_t tokens) const noexcept {
    const std::size_t at = group_of(tokens);
    const Group* below = nullptr;
    const Group* above = nullptr;
    for (std::size_t i = at + 1; i-- > 0 && below == nullptr;)
      if (groups_[i].time != 0) below = &groups_[i];
    for (std::size_t i = at; i < groups_.size() && above == nullptr; ++i)
      if (groups_[i].time != 0) above = &groups_[i];
    if (below == nullptr) return above == nullptr ? 0 : above->time;
    if (above == nullptr || above->time <= below->time || tokens <= below->tokens || above->tokens <= below->tokens)
      return below->time;
    const std::uint64_t part = tokens < above->tokens ? tokens - below->tokens : above->tokens - below->tokens;
    return below->time + (above->time - below->time) * part / (above->tokens - below->tokens);
  }

 private:
  /// Each size up to 16, then eight sizes to an octave.
  struct Group {
    std::uint64_t time = 0;
    std::uint32_t tokens = 0;  ///< of the last step
  };
  static constexpr std::uint64_t kLongest = (std::uint64_t{1} << 40) - 1;
  static constexpr std::size_t kGroups = 96;

  [[nodiscard]] static constexpr std::size_t group_of(std::uint32_t tokens) noexcept {
    if (tokens < 16) return tokens;
    const auto octave = static_cast<std::uint32_t>(std::bit_width(tokens)) - 1;
    const std::size_t group = 16 + std::size_t{octave - 4} * 8 + ((tokens >> (octave - 3)) & 7u);
    return group < kGroups ? group : kGroups - 1;
  }
  std::array<Group, kGroups> groups_{};
};

}  // namespace zrt::inline ZRT_ABI::serve
