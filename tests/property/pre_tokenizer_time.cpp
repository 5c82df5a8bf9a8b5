// SPDX-License-Identifier: Apache-2.0
// tests/property/pre_tokenizer_time.cpp: cutting a text takes time in proportion to its length.
#include <zrt/text/pre_tokenizers.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <support/processor_time.hpp>

namespace zrt::pre_tokenizer_time_test {
namespace {

/// The seconds that cutting `size` bytes of repeated `unit` takes, the best of `runs`.
double seconds_to_cut(const text::PreTokenizerEntry& entry, std::string_view unit, std::size_t size, int runs) {
  std::string input;
  while (input.size() < size) input += unit;
  double best = 1e9;
  for (int run = 0; run < runs; ++run) {
    const double start = test::thread_seconds();
    std::size_t bytes = 0;
    const auto take = [](void* context, std::string_view piece) noexcept {
      *static_cast<std::size_t*>(context) += piece.size();
      return true;
    };
    EXPECT_TRUE(text::detail::cut(entry.stages, input, {&bytes, take}));
    EXPECT_EQ(bytes, input.size());
    best = std::min(best, test::thread_seconds() - start);
  }
  return best;
}

TEST(PreTokenizerTime, AMegabyteTakesEightTimesAnEighth) {
  std::set<const void*> seen;
  for (const auto& entry : text::kPreTokenizers) {
    if (!seen.insert(entry.stages.data()).second) continue;
    for (const std::string_view unit : {"a", "A", " ", "1", "!", "\xcc\x81", "A\xc3\xa9", "IMG"}) {
      const double eighth = seconds_to_cut(entry, unit, 1u << 17, 2);
      double whole = 1e9;
      // 64 times where the time is quadratic; a timer's grain and a cold cache are allowed for, and what runs beside.
      for (int run = 0; run < 3 && whole >= 24 * eighth + 0.02; ++run)
        whole = std::min(whole, seconds_to_cut(entry, unit, 1u << 20, 1));
      EXPECT_LT(whole, 24 * eighth + 0.02) << entry.name << " of " << unit;
    }
  }
}

}  // namespace
}  // namespace zrt::pre_tokenizer_time_test
