// SPDX-License-Identifier: Apache-2.0
// tests/support/slope.hpp: whether a derivative is the slope of a function that may have kinks and jumps.
#pragma once

#include <cmath>

namespace zrt::test {

enum class Slope {
  right,  ///< the derivative is the slope, at one of two step sizes
  wrong,
  kink,  ///< the function has no slope there
};

/// Judges the derivative `found` of f at 0, to within `tolerance`.
///
/// f is asked at steps of `h` and of a tenth of it: where something breaks within the longer step alone, the
/// shorter one judges. Only what breaks within the shorter one too is a kink: there the slope to the left and
/// that to the right differ by more than `bend`, of which a smooth function with a second derivative below
/// 10 bend / h has not even a part.
template <class F> [[nodiscard]] Slope judge_slope(double found, F&& f, double h, double tolerance, double bend) {
  for (const double step : {h, h / 10})
    if (std::abs((f(step) - f(-step)) / (2 * step) - found) <= tolerance) return Slope::right;
  const double step = h / 10, here = f(0.0);
  const double ahead = (f(step) - here) / step, behind = (here - f(-step)) / step;
  return std::abs(ahead - behind) > bend ? Slope::kink : Slope::wrong;
}

}  // namespace zrt::test
