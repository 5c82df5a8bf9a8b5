// SPDX-License-Identifier: Apache-2.0
// tests/unit/slow_clients.cpp: a client that does not read has one token held, costs nobody else a token, and ends in time.
#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <map>
#include <memory>
#include <support/sampled_requests.hpp>
#include <vector>

namespace slow_clients_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

constexpr std::uint64_t kPatience = 1'000'000'000;
constexpr std::uint32_t kAnswer = 20;

struct Heard {
  std::vector<std::int32_t> tokens;
  std::string text;
  FinishReason finish = FinishReason::none;
};

class SlowClients : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<HostEngine> open(EngineOptions options, bool clock = true) {
    options.context = 128;
    options.slow_client_ns = kPatience;
    options.clock = {};
    if (clock) options.clock = {&now_, [](void* now) noexcept { return *static_cast<std::uint64_t*>(now); }};
    auto engine = test::open_engine(On::cpu, file_.bytes(), options);
    EXPECT_TRUE(engine) << engine.error().text();
    return engine ? std::move(*engine) : nullptr;
  }
  RequestId submit(HostEngine& engine, std::uint64_t seed) {
    const auto id = engine.submit(test::sampled_request(prompt_, seed, kAnswer));
    EXPECT_TRUE(id) << id.error().text();
    return id ? *id : RequestId{};
  }
  std::size_t step(HostEngine& engine) {
    const auto left = engine.step([this](RequestId id, const Token& token) {
      if (token.id != kNoToken) heard_[id].tokens.push_back(token.id);
      heard_[id].text += token.text;
      heard_[id].finish = token.finish;
      return true;
    });
    EXPECT_TRUE(left) << left.error().text();
    return left ? *left : 0;
  }
  [[nodiscard]] Heard alone(std::uint64_t seed) {
    heard_.clear();
    const auto engine = open({});
    const RequestId id = submit(*engine, seed);
    while (step(*engine) != 0) {
    }
    return heard_[id];
  }

  test::ModelFile file_ = test::tiny_model(test::TinySpec{});
  std::vector<std::int32_t> prompt_ = test::tiny_prompt(64, 10, 3);
  std::map<RequestId, Heard> heard_;
  std::uint64_t now_ = 77'000'000'000;
};

TEST_F(SlowClients, OneTokenIsHeldAndTheAnswerGoesOnWhereItWas) {
  const Heard first = alone(1), second = alone(2);
  heard_.clear();
  const auto engine = open({.slots = 2, .draft_tokens = 4});
  const RequestId slow = submit(*engine, 1), other = submit(*engine, 2);
  for (int i = 0; i < 4; ++i) step(*engine);
  const std::size_t read = heard_[slow].tokens.size();
  ASSERT_GE(read, 1u);
  ASSERT_TRUE(engine->pause(slow));
  for (int i = 0; i < 30; ++i) step(*engine);
  EXPECT_EQ(heard_[slow].tokens.size(), read);
  EXPECT_EQ(engine->processed(slow), prompt_.size() + read) << "the held token is drawn and not computed on";
  EXPECT_EQ(heard_[other].tokens, second.tokens) << "the other did not wait";
  EXPECT_EQ(heard_[other].finish, FinishReason::length);
  ASSERT_TRUE(engine->pause(slow, false));
  step(*engine);
  EXPECT_GE(heard_[slow].tokens.size(), read + 2) << "the held token, and the next";
  while (step(*engine) != 0) {
  }
  EXPECT_EQ(heard_[slow].tokens, first.tokens);
  EXPECT_EQ(heard_[slow].text, first.text);
  EXPECT_EQ(heard_[slow].finish, FinishReason::length);
}

TEST_F(SlowClients, OneThatGoesOnNotToReadEnds) {
  const Heard second = alone(2);
  heard_.clear();
  const auto engine = open({.slots = 1});
  const RequestId slow = submit(*engine, 1), waits = submit(*engine, 2);
  for (int i = 0; i < 4; ++i) step(*engine);
  const std::size_t read = heard_[slow].tokens.size();
  ASSERT_TRUE(engine->pause(slow));
  for (int i = 0; i < 5; ++i) step(*engine);
  EXPECT_EQ(engine->idle_ns(), kPatience) << "nothing can be done until its time is over";
  now_ += kPatience - 1;
  step(*engine);
  EXPECT_EQ(engine->idle_ns(), 1u);
  EXPECT_EQ(heard_[slow].finish, FinishReason::none);
  EXPECT_TRUE(heard_[waits].tokens.empty());
  now_ += 1;
  EXPECT_EQ(engine->idle_ns(), 0u);
  step(*engine);
  EXPECT_EQ(heard_[slow].finish, FinishReason::client_too_slow);
  EXPECT_EQ(heard_[slow].tokens.size(), read);
  EXPECT_EQ(name(heard_[slow].finish), "client_too_slow");
  while (step(*engine) != 0) {
  }
  EXPECT_EQ(heard_[waits].tokens, second.tokens);
  ASSERT_TRUE(engine->pause(slow));
  EXPECT_EQ(step(*engine), 0u) << "of an ended request nothing is heard";
}

TEST_F(SlowClients, ALastTokenIsHeldBesideASlotThatIsFree) {
  const Heard first = alone(1);
  for (const bool reads : {true, false}) {
    heard_.clear();
    const auto engine = open({.slots = 1});
    const RequestId slow = submit(*engine, 1);
    while (heard_[slow].tokens.size() + 1 < kAnswer) step(*engine);
    ASSERT_TRUE(engine->pause(slow));
    for (int i = 0; i < 3; ++i) step(*engine);
    EXPECT_EQ(engine->running(), 0u);
    EXPECT_EQ(heard_[slow].finish, FinishReason::none);
    if (!reads) now_ += kPatience;
    ASSERT_TRUE(!reads || engine->pause(slow, false));
    EXPECT_EQ(step(*engine), 0u);
    EXPECT_EQ(heard_[slow].finish, reads ? FinishReason::length : FinishReason::client_too_slow);
    EXPECT_EQ(heard_[slow].tokens.size(), reads ? kAnswer : kAnswer - 1);
    if (reads) {
      EXPECT_EQ(heard_[slow].tokens, first.tokens);
    }
  }
}

TEST_F(SlowClients, AnAnswerWhoseTenantGoesBeforeItsLastTokenIsReadIsNotWhole) {
  const auto engine = open({.slots = 1});
  Request r = test::sampled_request(prompt_, 1, 1);
  const auto tenant = engine->create_tenant({});
  ASSERT_TRUE(tenant);
  r.tenant = *tenant;
  const auto id = engine->submit(r);
  ASSERT_TRUE(id && engine->pause(*id));
  for (int i = 0; i < 4; ++i) step(*engine);
  EXPECT_EQ(engine->running(), 0u) << "all is computed";
  ASSERT_TRUE(engine->remove_tenant(*tenant));
  EXPECT_EQ(step(*engine), 0u);
  EXPECT_EQ(heard_[*id].finish, FinishReason::cancelled);
  EXPECT_TRUE(heard_[*id].tokens.empty());
}

TEST_F(SlowClients, OneThatNeverReadHasItsFirstTokenHeld) {
  const auto engine = open({.slots = 1});
  const RequestId slow = submit(*engine, 1);
  ASSERT_TRUE(engine->pause(slow));
  for (int i = 0; i < 5; ++i) step(*engine);
  EXPECT_TRUE(heard_[slow].tokens.empty());
  EXPECT_EQ(engine->processed(slow), prompt_.size());
  EXPECT_EQ(engine->save(slow).error().code(), Errc::invalid_state) << "no snapshot holds a token for a client";
  engine->cancel(slow);
  EXPECT_EQ(step(*engine), 0u);
  EXPECT_EQ(heard_[slow].finish, FinishReason::cancelled);
  EXPECT_TRUE(heard_[slow].text.empty()) << "no text comes behind a token that was not told";
}

TEST_F(SlowClients, WithoutAClockStepsCount) {
  const auto engine = open({.slots = 1}, false);
  const RequestId slow = submit(*engine, 1);
  ASSERT_TRUE(engine->pause(slow));
  int steps = 0;
  while (step(*engine) != 0) ++steps;
  EXPECT_EQ(heard_[slow].finish, FinishReason::client_too_slow);
  EXPECT_GE(steps, 256);
  EXPECT_LE(steps, 260);
}

}  // namespace
}  // namespace slow_clients_test
