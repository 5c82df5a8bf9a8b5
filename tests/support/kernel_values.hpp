// SPDX-License-Identifier: Apache-2.0
// tests/support/kernel_values.hpp: random values for kernels, and the comparison of what they give.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

namespace zrt::test {

/// Values between -scale and scale.
inline std::vector<float> reals(std::mt19937& random, std::size_t count, float scale = 1.0f) {
  std::vector<float> values(count);
  std::uniform_real_distribution<float> draw(-scale, scale);
  for (float& v : values) v = draw(random);
  return values;
}

/// Demands the same bits, NaNs apart.
inline void expect_same(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] != got[i] && want[i] != want[i]) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(want[i]))
        << "element " << i << " is " << got[i] << ", expected " << want[i];
  }
}

}  // namespace zrt::test
