// SPDX-License-Identifier: Apache-2.0
// tests/process/patience.cpp: when a waiting worker offers its core, and what it learns from that.
#include <zrt/exec/patience.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <sys/syscall.h>
#include <unistd.h>

// --- a clock and a scheduler of the test's own, for the whole process ---------------------------------

namespace {
bool own_time = false;
std::uint64_t now = 0;          ///< nanoseconds
std::uint64_t offer_lasts = 0;  ///< nanoseconds
std::uint64_t offers = 0;
}  // namespace

extern "C" {
int sched_yield() noexcept {
  ++offers;
  now += offer_lasts;
  return 0;
}
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (!own_time) return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  *time = {static_cast<time_t>(now / 1'000'000'000u), static_cast<long>(now % 1'000'000'000u)};
  return 0;
}
}

namespace {

using zrt::exec::Patience;

/// Waits for something that is done at the look after `looks` others; returns how often it looked.
std::uint64_t wait(Patience& patience, std::uint64_t looks) {
  std::uint64_t seen = 0;
  own_time = true;
  patience.wait([&] { return seen++ == looks; });
  own_time = false;
  return seen;
}

TEST(Patience, AWaitThatEndsWhileItSpinsOffersNothing) {
  Patience patience;
  offers = 0;
  for (const std::uint64_t looks : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{Patience::kMostPauses - 1}}) {
    EXPECT_EQ(wait(patience, looks), looks + 1);
    EXPECT_EQ(patience.pauses(), Patience::kMostPauses) << looks << ": it was long enough";
  }
  EXPECT_EQ(offers, 0u);
}

TEST(Patience, AnOfferThatIsTakenHalvesItDownToTheLeast) {
  Patience patience;
  offer_lasts = Patience::kTakenNanoseconds;
  for (std::uint32_t expected = Patience::kMostPauses; expected > Patience::kLeastPauses;) {
    EXPECT_EQ(patience.pauses(), expected);
    wait(patience, patience.pauses());
    expected = std::max(expected / 2, Patience::kLeastPauses);
  }
  wait(patience, patience.pauses());
  EXPECT_EQ(patience.pauses(), Patience::kLeastPauses);
}

/// Sharing a core costs about two of the longest waits once, and then little more than the offers.
TEST(Patience, IsGoneWithinTwiceTheLongestWait) {
  Patience patience;
  offer_lasts = Patience::kTakenNanoseconds;
  wait(patience, 2u * Patience::kMostPauses);
  EXPECT_EQ(patience.pauses(), Patience::kLeastPauses);
}

/// A wait that is longer than what was learnt makes it long enough: the same wait offers nothing then.
TEST(Patience, AnOfferThatNobodyWantsDoublesIt) {
  for (const std::uint64_t looks :
       {std::uint64_t{100}, std::uint64_t{3000}, std::uint64_t{Patience::kMostPauses - 1}}) {
    Patience patience;
    patience.learn(Patience::kLeastPauses);
    offer_lasts = Patience::kTakenNanoseconds - 1;
    offers = 0;
    for (int i = 0; i < 12; ++i) wait(patience, looks);
    EXPECT_LE(offers, 10u);
    offers = 0;
    wait(patience, looks);
    EXPECT_EQ(offers, 0u);
    EXPECT_GT(patience.pauses(), looks);
    EXPECT_LE(patience.pauses(), Patience::kMostPauses);
  }
}

}  // namespace
