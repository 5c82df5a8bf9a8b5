// SPDX-License-Identifier: Apache-2.0
// tests/unit/engine_threads.cpp: requests come and go from several threads while one steps.
// test-set: smoke threads
#include <zrt/exec/cores.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <data/models/tiny_models.hpp>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <support/engines.hpp>
#include <thread>
#include <vector>

namespace engine_threads_test {
namespace {

using namespace zrt;
using test::On;

/// Three threads submit and cancel; every request ends exactly once, with a prefix of its own tokens.
void come_and_go(std::uint32_t workers) {
  const test::ModelFile file = test::tiny_model({});
  const auto alone = test::open_engine(On::cpu, file.bytes(), {.slots = 1});
  ASSERT_TRUE(alone);
  constexpr std::size_t kKinds = 6;
  std::vector<std::vector<std::int32_t>> prompts, solo(kKinds);
  std::vector<Request> requests(kKinds);
  for (std::size_t i = 0; i < kKinds; ++i) prompts.push_back(test::tiny_prompt(64, 3 + 9 * i, i));
  for (std::size_t i = 0; i < kKinds; ++i) {
    requests[i].tokens = prompts[i];
    requests[i].max_tokens = static_cast<std::uint32_t>(4 + i);
    requests[i].sampling.temperature = i % 2 == 0 ? 0.0f : 1.0f;
    requests[i].sampling.seed = i;
    ASSERT_TRUE((*alone)->generate(requests[i], [&](const Token& token) {
      if (token.id != kNoToken) solo[i].push_back(token.id);
      return true;
    }));
  }

  const auto engine = test::open_engine(On::cpu, file.bytes(), {.slots = 4, .chunk = 16, .threads = workers});
  ASSERT_TRUE(engine);
  struct Known {
    std::size_t kind = 0;
    std::vector<std::int32_t> tokens;
    std::vector<FinishReason> ends;
  };
  std::mutex mutex;
  std::map<RequestId, std::size_t> submitted;
  std::map<RequestId, Known> heard;
  std::atomic<int> busy{3};
  constexpr std::size_t kEach = 20;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      test::TinyRandom random(t);
      RequestId last{};
      for (std::size_t i = 0; i < kEach; ++i) {
        const std::size_t kind = random.below(kKinds);
        const auto id = (*engine)->submit(requests[kind]);
        if (!id) continue;
        {
          const std::lock_guard lock(mutex);
          submitted[*id] = kind;
        }
        if (random.below(3) == 0) (*engine)->cancel(*id);
        if (random.below(5) == 0) (*engine)->cancel(last);
        last = *id;
        if (random.below(2) == 0) std::this_thread::yield();
      }
      busy.fetch_sub(1);
    });
  for (;;) {
    const bool more = busy.load() != 0;
    const auto left = (*engine)->step([&](RequestId id, const Token& token) {
      Known& k = heard[id];
      if (token.id != kNoToken) k.tokens.push_back(token.id);
      if (token.finish != FinishReason::none) k.ends.push_back(token.finish);
      return true;
    });
    EXPECT_TRUE(left) << left.error().text();
    if (!more && *left == 0) break;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(submitted.size(), 3 * kEach);
  ASSERT_EQ(heard.size(), submitted.size());
  int whole = 0, cancelled = 0;
  for (auto& [id, known] : heard) {
    const std::vector<std::int32_t>& expected = solo[submitted.at(id)];
    ASSERT_EQ(known.ends.size(), 1u);
    if (known.ends[0] == FinishReason::length) {
      EXPECT_EQ(known.tokens, expected);
      ++whole;
    } else {
      EXPECT_EQ(known.ends[0], FinishReason::cancelled);
      ASSERT_LE(known.tokens.size(), expected.size());
      EXPECT_TRUE(std::equal(known.tokens.begin(), known.tokens.end(), expected.begin()));
      ++cancelled;
    }
  }
  EXPECT_GT(whole, 10);
  EXPECT_GT(cancelled, 10);
}

TEST(EngineThreads, RequestsComeAndGoWhileOneWorkerSteps) { come_and_go(1); }
TEST(EngineThreads, RequestsComeAndGoWhileTwoWorkersStep) { come_and_go(2); }

TEST(EngineThreads, AnEngineMayHaveTheWorkersOfAnother) {
  const test::ModelFile file = test::tiny_model({});
  const auto first = test::open_engine(On::cpu, file.bytes(), {.slots = 1, .threads = 2});
  ASSERT_TRUE(first);
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto before = threads();
  const ThreadHook workers = (*first)->workers();
  EXPECT_EQ(workers.run != nullptr, exec::usable_cores() > 1);
  const auto second = test::open_engine(On::cpu, file.bytes(), {.slots = 1, .thread_hook = workers});
  ASSERT_TRUE(second);
  EXPECT_EQ(threads(), before);
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 30, 1);
  Request r;
  r.tokens = prompt;
  r.max_tokens = 20;
  std::vector<std::int32_t> one, other;
  ASSERT_TRUE((*first)->generate(r, [&](const Token& token) { return one.push_back(token.id), true; }));
  ASSERT_TRUE((*second)->generate(r, [&](const Token& token) { return other.push_back(token.id), true; }));
  EXPECT_EQ(one, other);
}

TEST(EngineThreads, AStopTokenFromAnotherThreadEndsALongRequest) {
  const test::ModelFile file = test::tiny_model({.context = 2048});
  const auto engine = test::open_engine(On::cpu, file.bytes(), {.context = 2048, .chunk = 16, .threads = 2});
  ASSERT_TRUE(engine);
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 600, 1);
  Request request;
  request.tokens = prompt;
  request.max_tokens = 1400;
  std::stop_source source;
  std::atomic<bool> begun{false};
  std::thread stopper([&] {
    while (!begun.load()) std::this_thread::yield();
    source.request_stop();
  });
  // The stop falls into a step, wherever that is. Only a thread that has had no time for 1,000 tokens is waited for.
  std::uint32_t tokens = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto listen = [&](const Token& token) {
    if (token.id == kNoToken) return true;
    begun.store(true);
    if (++tokens == 1000)
      while (!source.stop_requested() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return true;
  };
  const auto done = (*engine)->generate(request, listen, source.get_token());
  begun.store(true);
  stopper.join();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->finish, FinishReason::cancelled);
  // A cancel takes effect within one step.
  EXPECT_GE(tokens, 1u);
  EXPECT_LE(tokens, 1001u);
  // Whatever was left half done, the slot begins anew.
  Request little = request;
  little.max_tokens = 3;
  std::vector<std::int32_t> one, two;
  ASSERT_TRUE((*engine)->generate(little, [&](const Token& token) { return one.push_back(token.id), true; }));
  ASSERT_TRUE((*engine)->generate(little, [&](const Token& token) { return two.push_back(token.id), true; }));
  EXPECT_EQ(one, two);
}

}  // namespace
}  // namespace engine_threads_test
