// SPDX-License-Identifier: Apache-2.0
// examples/zrt/train_rate.hpp: how the learning rate moves from step to step.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace program {

/// From 0 to `rate` in the first `warmup` steps, then to `last` at the last of `steps`: at once never (constant), in a
/// straight line, or along half a cosine.
struct RateSchedule {
  std::string_view name = "constant";
  double rate = 0;
  double last = 0;
  std::uint64_t warmup = 0;
  std::uint64_t steps = 0;

  [[nodiscard]] double at(std::uint64_t step) const {
    if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
    if (name == "constant" || steps <= warmup + 1) return rate;
    const double way = static_cast<double>(step - warmup) / static_cast<double>(steps - warmup - 1);
    const double left = name == "linear" ? 1 - way : (1 + std::cos(std::numbers::pi * way)) / 2;
    return last + (rate - last) * left;
  }
};

}  // namespace program
