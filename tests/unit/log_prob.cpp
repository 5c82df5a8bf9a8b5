// SPDX-License-Identifier: Apache-2.0
// tests/unit/log_prob.cpp: log-probabilities against a softmax in double precision.
#include <zrt/engine/log_probabilities.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <data/models/tiny_models.hpp>
#include <limits>
#include <vector>

namespace log_prob_test {
namespace {

using namespace zrt;

TEST(LogProbabilities, EqualASoftmaxInDoublePrecision) {
  test::TinyRandom random(2);
  for (const std::size_t vocabulary : {1u, 7u, 255u, 256u, 257u, 2048u, 32000u}) {
    for (const float scale : {0.0f, 1.0f, 20.0f, 80.0f}) {
      std::vector<float> logits;
      for (std::size_t i = 0; i < vocabulary; ++i) logits.push_back(scale * random.signed_unit());
      const float top = *std::max_element(logits.begin(), logits.end());
      double sum = 0;
      for (float x : logits) sum += std::exp(double{x} - double{top});
      const double total = double{top} + std::log(sum);
      EXPECT_NEAR(log_sum_exp(logits), total, 1e-6 * (1.0 + std::fabs(total)));

      std::vector<std::int32_t> order(vocabulary);
      for (std::size_t i = 0; i < vocabulary; ++i) order[i] = static_cast<std::int32_t>(i);
      std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
        return x != y ? x > y : a < b;
      });
      std::vector<TokenProbability> best(std::min<std::size_t>(20, vocabulary));
      log_probabilities(logits, best);
      for (std::size_t i = 0; i < best.size(); ++i) {
        EXPECT_EQ(best[i].id, order[i]);
        EXPECT_NEAR(best[i].log_probability, double{logits[static_cast<std::size_t>(order[i])]} - total,
                    1e-5 * (1.0 + scale));
      }
    }
  }
}

TEST(LogProbabilities, EqualLogitsGoByIdAndNanIsNeverBest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits{1.0f, 3.0f, 3.0f, nan, 2.0f};
  std::vector<TokenProbability> best(5);
  log_probabilities(logits, best);
  EXPECT_EQ(best[0].id, 1);
  EXPECT_EQ(best[1].id, 2);
  EXPECT_EQ(best[2].id, 4);
  EXPECT_EQ(best[3].id, 0);
  EXPECT_EQ(best[4].id, kNoToken);
}

}  // namespace
}  // namespace log_prob_test
