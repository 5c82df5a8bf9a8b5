// SPDX-License-Identifier: Apache-2.0
// tests/unit/device_pace.cpp: what is handed to a device at once follows from how fast it was so far.
// covers: device/pace.hpp device/launch_work.hpp
// test-set: full
#include <zrt/device/launch_work.hpp>
#include <zrt/device/pace.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace zrt::test {
namespace {

using device::launch_work;
using device::Pace;

constexpr std::uint64_t work(std::string_view kernel, std::initializer_list<std::uint32_t> values,
                             std::array<std::uint32_t, 2> grid = {1, 1}, std::uint32_t furthest = 0) {
  return launch_work(kernel, 64, Span<const std::uint32_t>(values.begin(), values.size()), grid, furthest);
}

static_assert(work("matvec_q8_0", {4096, 2048, 1}) >= 4096u * 2048);
static_assert(work("matmul_q4_k", {4096, 2048, 512}) > 100 * work("matmul_q4_k", {4096, 2048, 1}));
static_assert(work("experts_mxfp4", {512, 256, 4, 32}, {16, 8}) ==
              8 * work("experts_mxfp4", {512, 256, 4, 32}, {16, 1}));
static_assert(work("paged_attention_f16", {8, 2, 64, 64, 0, 0, 0, 99, 0}, {8, 4}, 1023) == 8ull * 4 * 128 * 1024);
static_assert(work("paged_attention_f16", {8, 2, 64, 64, 0, 0, 100, 99, 0}, {8, 4}, 1023) == 8ull * 4 * 128 * 100);
static_assert(work("paged_attention_f16", {8, 2, 64, 64, 0, 0, 100, 99, 0}, {8, 4}, ~0u) == 8ull * 4 * 128 * 100);
static_assert(work("residual_add", {1000, 0}, {4, 1}) >= 4 * 64);
static_assert(work("matmul_f32", {~0u, ~0u, ~0u}) == work("matmul_f32", {~0u, ~0u, ~0u - 1}), "no product overflows");

/// A device of so many picoseconds per multiply-add, with a price for each submission.
struct Modelled {
  std::uint64_t picoseconds;

  /// The longest submission of a step of these pieces, and how many there were.
  std::pair<std::uint64_t, std::size_t> run(Pace& pace, const std::vector<std::uint64_t>& pieces) const {
    std::uint64_t longest = 0;
    std::size_t count = 0;
    for (std::size_t at = 0; at < pieces.size(); ++count) {
      const std::size_t end = pace.cut(pieces, at);
      EXPECT_GT(end, at);
      std::uint64_t all = 0;
      for (; at < end; ++at) all += pieces[at];
      const std::uint64_t took = 50'000 + all * picoseconds / 1000;
      pace.learn(all, took);
      longest = std::max(longest, took);
    }
    return {longest, count};
  }
};

TEST(DevicePace, SubmissionsOfAnyDeviceEndInTimeAndAFastOneGetsFew) {
  constexpr std::uint64_t kLongest = 100'000'000;
  std::mt19937 random(7);
  std::vector<std::uint64_t> pieces(300);
  for (std::uint64_t& piece : pieces) piece = Pace::kLeastWork + random() % (4 * Pace::kLeastWork);
  // From a thousand GFLOP/s to one at which a single piece is late.
  for (const std::uint64_t picoseconds : {1u, 10u, 100u, 1000u, 2000u, 10'000u}) {
    SCOPED_TRACE(picoseconds);
    Pace pace(kLongest);
    const Modelled device{picoseconds};
    const auto first = device.run(pace, pieces), then = device.run(pace, pieces);
    const std::uint64_t one = 50'000 + 5 * Pace::kLeastWork * picoseconds / 1000;
    // Nothing is known of a device before its first submission: one of 10 ns is slower than thought.
    EXPECT_LE(first.first, std::max({kLongest + 100'000, one, kLongest * picoseconds / 4000 + 100'000}));
    EXPECT_LE(then.first, std::max(kLongest + 100'000, one));
    std::uint64_t all = 0;
    for (const std::uint64_t piece : pieces) all += piece;
    const std::uint64_t needed = all * picoseconds / 1000 / kLongest + 1;
    EXPECT_LE(then.second, std::min<std::uint64_t>(2 * needed + 1, pieces.size()));
  }
}

TEST(DevicePace, ADeviceThatBecomesSlowIsTakenForOneAtOnceAndForgivenByAndBy) {
  Pace pace(100'000'000);
  const std::vector<std::uint64_t> pieces(200, Pace::kLeastWork);
  for (int i = 0; i < 4; ++i) Modelled{10}.run(pace, pieces);
  const std::size_t fast = Modelled{10}.run(pace, pieces).second;
  EXPECT_EQ(fast, 1u);
  Modelled{1000}.run(pace, pieces);
  EXPECT_LE(Modelled{1000}.run(pace, pieces).first, 100'100'000u);
  for (int i = 0; i < 4; ++i) Modelled{10}.run(pace, pieces);
  EXPECT_EQ(Modelled{10}.run(pace, pieces).second, fast);
}

TEST(DevicePace, SmallPiecesForgiveASubmissionThatWasLate) {
  Pace pace(100'000'000);
  pace.learn(120'000'000, 3'000'000'000);
  EXPECT_FALSE(pace.is_timely(24'000'000));
  for (int i = 0; i < 200; ++i) pace.learn(5'000'000, 110'000);
  EXPECT_TRUE(pace.is_timely(24'000'000));
}

TEST(DevicePace, WhatIsSoonDoneTeachesNothing) {
  Pace pace(100'000'000);
  const std::uint64_t before = pace.of_a_million();
  pace.learn(10, 900'000);
  pace.learn(0, 1);
  EXPECT_EQ(pace.of_a_million(), before);
  pace.learn(0, 50'000'000);
  EXPECT_GT(pace.of_a_million(), before) << "it was no work at all, and took long";
}

}  // namespace
}  // namespace zrt::test
