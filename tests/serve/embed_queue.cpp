// SPDX-License-Identifier: Apache-2.0
// tests/serve/embed_queue.cpp: turns of tenants whose texts are embedded: shares by weight, rates, requests in pieces.
#include <gtest/gtest.h>

#include <embed_queue.hpp>

namespace embed_queue_test {
namespace {

using program::server::EmbedJob;
using program::server::EmbedQueue;

constexpr std::uint64_t kSecond = 1'000'000'000;

std::unique_ptr<EmbedJob> job(const std::string& tenant, std::size_t texts, std::size_t tokens,
                              std::uint32_t weight = 16, std::uint32_t rate = ~0u) {
  auto made = std::make_unique<EmbedJob>();
  made->tenant = tenant;
  made->quota.weight = weight;
  made->quota.prefill_tokens_per_s = rate;
  made->texts.assign(texts, std::vector<std::int32_t>(tokens));
  return made;
}

/// Computes the next piece. Whose it was, and how many tokens; nothing where none may run.
std::pair<std::string, std::uint64_t> run(EmbedQueue& queue, std::uint64_t now = 0) {
  const EmbedQueue::Piece piece = queue.next(now);
  if (piece.job == nullptr) return {};
  const std::string tenant = piece.job->tenant;
  const std::uint64_t tokens = queue.charge(piece);
  piece.job->done.tokens.resize(piece.job->done.tokens.size() + piece.count);
  if (piece.job->is_done()) (void)queue.take(*piece.job);
  return {tenant, tokens};
}

TEST(EmbedQueue, RunsARequestInPieces) {
  EmbedQueue queue;
  queue.push(job("a", 5, 100));
  EXPECT_EQ(run(queue).second, 200u);
  EXPECT_EQ(run(queue).second, 200u);
  EXPECT_EQ(run(queue).second, 100u);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next(0).job, nullptr);
}

TEST(EmbedQueue, ALongTextIsAPieceOfItsOwn) {
  EmbedQueue queue;
  queue.push(job("a", 2, 1000));
  EXPECT_EQ(run(queue).second, 1000u);
  EXPECT_EQ(run(queue).second, 1000u);
}

TEST(EmbedQueue, AnotherTenantWaitsForOnePiece) {
  EmbedQueue queue;
  queue.push(job("heavy", 1000, 100));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(run(queue).first, "heavy");
  queue.push(job("light", 1, 10));
  const std::string first = run(queue).first, second = run(queue).first;
  EXPECT_TRUE(first == "light" || second == "light") << first << ", " << second;
}

TEST(EmbedQueue, SharesByWeight) {
  EmbedQueue queue;
  queue.push(job("a", 10'000, 64, 48));
  queue.push(job("b", 10'000, 64, 16));
  std::map<std::string, std::uint64_t> tokens;
  for (int i = 0; i < 400; ++i) {
    const auto [tenant, count] = run(queue);
    tokens[tenant] += count;
  }
  EXPECT_EQ(tokens["a"], 3 * tokens["b"]);
}

TEST(EmbedQueue, IdleTenantsGatherNoClaim) {
  EmbedQueue queue;
  queue.push(job("a", 10'000, 64));
  for (int i = 0; i < 100; ++i) (void)run(queue);
  queue.push(job("b", 10'000, 64));
  std::map<std::string, int> turns;
  for (int i = 0; i < 100; ++i) ++turns[run(queue).first];
  EXPECT_NEAR(turns["a"], 50, 1);
}

TEST(EmbedQueue, NoFiveSecondsExceedTheRate) {
  EmbedQueue queue;
  queue.push(job("a", 1000, 10, 16, 20));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  for (std::uint64_t now = 0; now < 30 * kSecond; now += kSecond / 10)
    for (;;) {
      const std::uint64_t tokens = run(queue, now).second;
      if (tokens == 0) break;
      taken.emplace_back(now, tokens);
    }
  std::uint64_t all = 0;
  for (const auto& [begin, first] : taken) {
    std::uint64_t sum = 0;
    for (const auto& [at, tokens] : taken)
      if (at >= begin && at < begin + 5 * kSecond) sum += tokens;
    EXPECT_LE(sum, 100u) << begin;
    all += first;
  }
  EXPECT_GE(all, 500u);
}

TEST(EmbedQueue, SaysWhenARateHasRoomAgain) {
  EmbedQueue queue;
  queue.push(job("a", 30, 10, 16, 20));
  EXPECT_EQ(queue.idle_ns(0), 0u);
  while (run(queue).second != 0) {
  }
  const std::uint64_t wait = queue.idle_ns(0);
  EXPECT_GT(wait, 4 * kSecond);
  EXPECT_LE(wait, 6 * kSecond);
  EXPECT_EQ(queue.idle_ns(wait), 0u);
  EXPECT_EQ(run(queue, wait).first, "a");
}

TEST(EmbedQueue, TakesOutWhatIsGivenUp) {
  EmbedQueue queue;
  queue.push(job("a", 3, 10));
  queue.push(job("b", 3, 10));
  EXPECT_EQ(queue.take_all().size(), 2u);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next(0).job, nullptr);
}

}  // namespace
}  // namespace embed_queue_test
