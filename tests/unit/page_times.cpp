// SPDX-License-Identifier: Apache-2.0
// tests/unit/page_times.cpp: how long pages live, lie unused and wait to be used again.
#include <zrt/serve/shared_pages.hpp>

#include <gtest/gtest.h>

namespace page_times_test {
namespace {

using zrt::serve::DurationCounts;
using zrt::serve::SharedPages;

constexpr std::uint64_t kMs = 1'000'000;

/// The counts with one in the range of `ms`.
DurationCounts of(std::uint64_t ms) {
  DurationCounts counts;
  counts.add(ms * kMs);
  return counts;
}

TEST(DurationCounts, ABoundIsTheMostOfItsRange) {
  DurationCounts counts;
  for (const std::uint64_t ns :
       {std::uint64_t{0}, kMs, kMs + 1, 2 * kMs, 1'800'000 * kMs, 1'800'000 * kMs + 1, ~std::uint64_t{0} / 2})
    counts.add(ns);
  EXPECT_EQ(counts.counts[0], 2u);
  EXPECT_EQ(counts.counts[1], 2u);
  EXPECT_EQ(counts.counts[20], 1u);
  EXPECT_EQ(counts.counts[21], 2u);
  EXPECT_EQ(counts.total(), 7u);
}

class TimesOfPages : public testing::Test {
 protected:
  SharedPages pages_ = std::move(*SharedPages::make(4, zrt::system_allocator()));
};

TEST_F(TimesOfPages, AreThoseOfAPrefixThatIsUsedAgainAndEvicted) {
  pages_.pass_time(1000 * kMs);
  const std::uint32_t page = pages_.take({}, 0);
  pages_.pass_time(1003 * kMs);
  pages_.release(page, true);
  pages_.pass_time(1040 * kMs);
  pages_.share(page);
  EXPECT_EQ(pages_.times().reuse_gap.counts, of(37).counts);
  EXPECT_EQ(pages_.times().reuse_gap.sum_ns, 37 * kMs);
  EXPECT_EQ(pages_.times().lifetime.total(), 0u);
  pages_.pass_time(1100 * kMs);
  pages_.release(page, true);
  pages_.pass_time(1700 * kMs);
  pages_.evict(page);
  EXPECT_EQ(pages_.times().lifetime.counts, of(700).counts);
  EXPECT_EQ(pages_.times().lifetime.sum_ns, 700 * kMs);
  EXPECT_EQ(pages_.times().idle.counts, of(600).counts);
  EXPECT_EQ(pages_.times().idle.sum_ns, 600 * kMs);
}

TEST_F(TimesOfPages, AreNoneWithoutTime) {
  const std::uint32_t early = pages_.take({}, 0);
  pages_.release(early, true);
  pages_.pass_time(5 * kMs);
  pages_.share(early);
  pages_.release(early, true);
  pages_.evict(early);
  EXPECT_EQ(pages_.times().lifetime.total() + pages_.times().idle.total() + pages_.times().reuse_gap.total(), 0u);
}

TEST_F(TimesOfPages, DoNotGoBack) {
  pages_.pass_time(50 * kMs);
  const std::uint32_t page = pages_.take({}, 0);
  pages_.pass_time(20 * kMs);
  pages_.release(page, true);
  pages_.evict(page);
  EXPECT_EQ(pages_.times().lifetime.sum_ns, 0u);
}

TEST_F(TimesOfPages, OfAPageThatIsNoPrefixAreNotCounted) {
  pages_.pass_time(5 * kMs);
  pages_.release(pages_.take({}, 0), false);
  EXPECT_EQ(pages_.times().lifetime.total(), 0u);
}

}  // namespace
}  // namespace page_times_test
