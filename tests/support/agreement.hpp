// SPDX-License-Identifier: Apache-2.0
// tests/support/agreement.hpp: whether tensors are what was expected of them, to within a tolerance.
#pragma once

#include <zrt/core/cast.hpp>
#include <zrt/core/dims.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

namespace zrt::test {

struct Tolerance {
  double relative = 0;  ///< of the expected number
  double absolute = 0;
};

/// How far `got` lies from `wanted`: 0 where they are equal or both NaN, infinity where either is no finite number.
[[nodiscard]] inline double distance(double wanted, double got) {
  if (wanted == got || (std::isnan(wanted) && std::isnan(got))) return 0;
  return std::isfinite(wanted) && std::isfinite(got) ? std::abs(wanted - got) : std::numeric_limits<double>::infinity();
}

/// True when `got` is `wanted` within the tolerance. An infinity is met by itself alone, a NaN by a NaN.
[[nodiscard]] inline bool agrees(double wanted, double got, Tolerance tolerance) {
  const double apart = distance(wanted, got);
  // A part of an infinity is infinite, so that a tolerance says nothing there.
  return apart == 0 || (std::isfinite(apart) && apart <= tolerance.absolute + tolerance.relative * std::abs(wanted));
}

/// Empty when `got` holds the tensor `wanted` of a type: floats to within the tolerance, all else by its bytes.
/// The largest distance of any element is kept in `worst`: infinity where what is no float differs.
[[nodiscard]] inline std::string difference(const TensorType& type, std::span<const std::byte> wanted,
                                            std::span<const std::byte> got, Tolerance tolerance, double& worst) {
  if (wanted.size() != got.size())
    return worst = std::numeric_limits<double>::infinity(),
           std::to_string(got.size()) + " bytes, expected " + std::to_string(wanted.size());
  const std::size_t width = info(type.dtype).block_bytes;
  const std::size_t together = info(type.dtype).block_elems;  // two numbers of 4 bits are a byte
  std::string differs;
  for (std::size_t i = 0; i < (type.shape.elements({}).raw() + together - 1) / together; ++i) {
    const auto expected = wanted.subspan(i * width, width), found = got.subspan(i * width, width);
    if (!is_float(type.dtype)) {
      if (std::ranges::equal(expected, found)) continue;
      worst = std::numeric_limits<double>::infinity();
      return "element " + std::to_string(i * together) + " differs";
    }
    double x = 0, y = 0;
    cast_elements(type.dtype, expected.data(), DType::f64, reinterpret_cast<std::byte*>(&x), 0, 1);
    cast_elements(type.dtype, found.data(), DType::f64, reinterpret_cast<std::byte*>(&y), 0, 1);
    worst = std::max(worst, distance(x, y));
    if (differs.empty() && !agrees(x, y, tolerance))
      differs = "element " + std::to_string(i) + " is " + std::to_string(y) + ", expected " + std::to_string(x);
  }
  return differs;
}

}  // namespace zrt::test
