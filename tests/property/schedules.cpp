// SPDX-License-Identifier: Apache-2.0
// tests/property/schedules.cpp: a request gives the same bits alone and in whatever batch it meets.
#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <data/models/tiny_models.hpp>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <support/engines.hpp>
#include <vector>

namespace {

using namespace zrt;
using test::HostEngine;
using test::On;
using test::TinyRandom;

constexpr std::uint32_t kVocabulary = 64;
constexpr std::uint32_t kContext = 128;
constexpr std::uint32_t kBest = 12;

/// A generated token with the bits of its log-probabilities.
struct Heard {
  std::int32_t id = kNoToken;
  std::vector<std::pair<std::int32_t, std::uint32_t>> best;
  friend bool operator==(const Heard&, const Heard&) = default;
};

Heard heard(const Token& token) {
  Heard h{token.id, {}};
  for (const TokenProbability& p : token.best)
    h.best.emplace_back(p.id, std::bit_cast<std::uint32_t>(p.log_probability));
  return h;
}

/// A request with what it views.
struct Ask {
  std::vector<std::int32_t> prompt;
  std::vector<TokenBias> bias;
  Request request;

  [[nodiscard]] Request view() const {
    Request r = request;
    r.tokens = prompt;
    r.sampling.bias = bias;
    return r;
  }
};

/// A third of the requests are greedy, the others sample with every setting there is.
Ask random_ask(TinyRandom& random) {
  Ask ask;
  const std::uint32_t lengths[] = {1, 1 + random.below(15), 16, 17 + random.below(40), 64, 1 + random.below(90)};
  ask.prompt = test::tiny_prompt(kVocabulary, lengths[random.below(6)], random.next());
  ask.request.max_tokens = 1 + random.below(16);
  ask.request.log_probabilities = kBest;
  Sampling& s = ask.request.sampling;
  if (random.below(3) == 0) return ask;
  s.temperature = 0.5f + 0.25f * static_cast<float>(random.below(5));
  s.seed = random.next();
  if (random.below(2) == 0) s.top_k = 1 + random.below(40);
  if (random.below(2) == 0) s.top_p = 0.5f + 0.125f * static_cast<float>(random.below(4));
  if (random.below(3) == 0) s.min_p = 0.0625f;
  if (random.below(3) == 0) s.repetition_penalty = 1.25f;
  if (random.below(3) == 0) s.frequency_penalty = 0.5f;
  if (random.below(3) == 0) s.presence_penalty = 0.5f;
  s.penalty_window = random.below(65);
  for (std::uint32_t i = random.below(4); i > 0; --i)
    ask.bias.push_back({static_cast<std::int32_t>(random.below(kVocabulary)), 2.0f * random.signed_unit()});
  return ask;
}

std::vector<Heard> alone(HostEngine& engine, const Ask& ask) {
  std::vector<Heard> tokens;
  const auto done = engine.generate(ask.view(), [&](const Token& token) {
    if (token.id != kNoToken) tokens.push_back(heard(token));
    return true;
  });
  EXPECT_TRUE(done.has_value() && done->finish == FinishReason::length);
  return tokens;
}

std::vector<std::uint32_t> bits(std::span<const float> row) {
  std::vector<std::uint32_t> out(row.size());
  std::memcpy(out.data(), row.data(), row.size_bytes());
  return out;
}

/// Runs workers one after the other, last first: no worker may wait for another.
ThreadHook one_after_the_other() {
  return {nullptr,
          [](void*, ThreadHook::Work work, void* argument) noexcept {
            for (std::uint32_t worker = 3; worker-- > 0;) work(argument, worker, 3);
          },
          3, false};
}

enum class Threads { one, pool_of_two, hook };

struct World {
  DType weights;
  DType kv;
  test::ModelFile file;
  std::vector<Ask> asks;
  std::vector<std::vector<Heard>> solo;
  std::vector<std::int32_t> text;  ///< for evaluate
  std::vector<std::vector<std::uint32_t>> text_logits;
};

EngineOptions base_options(const World& world) {
  EngineOptions options;
  options.context = kContext;
  options.kv_type = world.kv;
  return options;
}

World make_world(DType weights, DType kv, std::uint64_t seed) {
  World world{
      weights, kv, test::tiny_model({.weights = weights, .vocabulary = kVocabulary, .context = kContext, .seed = seed}),
      {},      {}, {},
      {}};
  TinyRandom random(seed * 977 + 5);
  for (int i = 0; i < 40; ++i) world.asks.push_back(random_ask(random));
  world.text = test::tiny_prompt(kVocabulary, 40, 77);
  EngineOptions options = base_options(world);
  options.logit_rows = 64;
  auto engine = test::open_engine(On::cpu, world.file.bytes(), options);
  auto oracle = test::open_engine(On::reference, world.file.bytes(), options);
  if (!engine || !oracle) {
    ADD_FAILURE() << (!engine ? engine.error().text() : oracle.error().text());
    return world;
  }
  for (std::size_t i = 0; i < world.asks.size(); ++i) {
    world.solo.push_back(alone(**engine, world.asks[i]));
    EXPECT_EQ(world.solo.back().size(), world.asks[i].request.max_tokens);
    if (i < 12) {
      EXPECT_EQ(world.solo.back(), alone(**oracle, world.asks[i])) << "request " << i << " on the reference";
    }
  }
  EXPECT_TRUE((*engine)->evaluate(
      world.text, {}, [&](std::uint32_t, std::span<const float> row) { world.text_logits.push_back(bits(row)); }));
  return world;
}

struct Tally {
  int schedules = 0, requests = 0, cancelled = 0, left = 0, restored = 0, evaluated = 0, steps = 0, most_at_once = 0;
};

/// A request on its way through one schedule.
struct Journey {
  std::size_t ask = 0;
  std::optional<RequestId> id;
  std::vector<Heard> tokens;
  FinishReason finish = FinishReason::none;
  std::size_t leave_after = ~std::size_t{0};  ///< the callable says stop here
  std::optional<Vector<std::byte>> saved;     ///< taken out; comes back from this
};

void run_schedule(const World& world, HostEngine& engine, TinyRandom& random, Tally& tally) {
  std::deque<Journey> journeys;
  const std::uint32_t count = 2 + random.below(9);
  for (std::uint32_t i = 0; i < count; ++i) {
    journeys.emplace_back().ask = random.below(world.asks.size());
    if (random.below(8) == 0) journeys.back().leave_after = 1 + random.below(6);
  }
  std::map<RequestId, Journey*> by_id;
  const auto listen = [&](RequestId id, const Token& token) {
    Journey& j = *by_id.at(id);
    if (token.id != kNoToken) j.tokens.push_back(heard(token));
    if (token.finish != FinishReason::none) j.finish = token.finish;
    if (token.finish == FinishReason::none && j.tokens.size() >= j.leave_after) {
      j.finish = FinishReason::callback;
      return false;
    }
    return true;
  };
  const std::uint32_t eagerness = 1 + random.below(5);
  std::size_t submitted = 0;
  for (int step = 0; step < 2000; ++step) {
    while (submitted < journeys.size() && random.below(eagerness) == 0) {
      Journey& j = journeys[submitted++];
      const auto id = engine.submit(world.asks[j.ask].view());
      ASSERT_TRUE(id) << id.error().text();
      j.id = *id;
      by_id[*id] = &j;
    }
    Journey& any = journeys[random.below(journeys.size())];
    const bool running = any.id && any.finish == FinishReason::none;
    const std::uint32_t event = random.below(24);
    if (event == 0 && running && !any.saved) {
      engine.cancel(*any.id);
    } else if (event < 3 && running && !any.saved) {
      if (auto bytes = engine.save(*any.id)) {  // it may still wait for a slot
        any.saved.emplace(std::move(*bytes));
        engine.cancel(*any.id);
      }
    } else if (event == 3) {
      std::size_t row = 0;
      const auto done = engine.evaluate(world.text, {}, [&](std::uint32_t position, std::span<const float> logits) {
        EXPECT_EQ(position, row);
        EXPECT_EQ(bits(logits), world.text_logits[row++]);
      });
      if (done)
        ++tally.evaluated;
      else
        ASSERT_EQ(done.error().code(), Errc::capacity_exceeded) << done.error().text();
    }
    for (Journey& j : journeys) {
      // Out of its slot and not yet back in one.
      if (!j.saved || j.finish != FinishReason::cancelled || random.below(3) != 0) continue;
      const auto id = engine.restore(j.saved->span(), world.asks[j.ask].view());
      if (!id) {
        ASSERT_EQ(id.error().code(), Errc::capacity_exceeded) << id.error().text();
        continue;
      }
      ++tally.restored;
      j.id = *id;
      by_id[*id] = &j;
      j.finish = FinishReason::none;
      j.saved.reset();
    }
    int at_once = 0;
    for (const Journey& j : journeys) at_once += j.id && j.finish == FinishReason::none ? 1 : 0;
    tally.most_at_once = std::max(tally.most_at_once, at_once);
    const auto left = engine.step(listen);
    ASSERT_TRUE(left) << left.error().text();
    ++tally.steps;
    bool waiting = submitted < journeys.size();
    for (const Journey& j : journeys) waiting = waiting || j.saved;
    if (*left == 0 && !waiting) break;
  }
  for (const Journey& j : journeys) {
    const std::vector<Heard>& solo = world.solo[j.ask];
    ++tally.requests;
    if (j.finish == FinishReason::length) {
      ASSERT_EQ(j.tokens, solo) << "request " << j.ask;
      continue;
    }
    ASSERT_TRUE(j.finish == FinishReason::cancelled || j.finish == FinishReason::callback) << name(j.finish);
    tally.cancelled += j.finish == FinishReason::cancelled ? 1 : 0;
    tally.left += j.finish == FinishReason::callback ? 1 : 0;
    ASSERT_LE(j.tokens.size(), solo.size());
    ASSERT_TRUE(std::equal(j.tokens.begin(), j.tokens.end(), solo.begin())) << "request " << j.ask << " up to its end";
  }
  ++tally.schedules;
}

class Schedules : public testing::TestWithParam<std::tuple<DType, DType>> {};

TEST_P(Schedules, SameBitsAloneAndInAnyBatch) {
  const auto [weights, kv] = GetParam();
  const World world = make_world(weights, kv, 3 + static_cast<std::uint64_t>(kv));
  ASSERT_EQ(world.solo.size(), world.asks.size());
  Tally tally;
  TinyRandom random(static_cast<std::uint64_t>(weights) * 31 + static_cast<std::uint64_t>(kv));
  for (int round = 0; round < 60; ++round) {
    for (const Threads threads : {Threads::one, Threads::pool_of_two, Threads::hook}) {
      // The pool shares two cores with the rest of the machine: fewer engines, as many schedules.
      if (threads == Threads::pool_of_two && round % 4 != 0) continue;
      EngineOptions options = base_options(world);
      options.slots = 1 + random.below(8);
      const std::uint32_t chunks[] = {16, 32, 48, 64, 128, 512};
      options.chunk = chunks[random.below(6)];
      options.logit_rows = random.below(2) == 0 ? 0 : 16 + random.below(49);
      if (threads == Threads::pool_of_two) options.threads = 2;
      if (threads == Threads::hook) options.thread_hook = one_after_the_other();
      auto engine = test::open_engine(On::cpu, world.file.bytes(), options);
      ASSERT_TRUE(engine) << engine.error().text();
      const int runs = threads == Threads::pool_of_two ? 4 : 1;
      for (int run = 0; run < runs; ++run) {
        run_schedule(world, **engine, random, tally);
        ASSERT_FALSE(HasFatalFailure() || HasNonfatalFailure())
            << "slots " << options.slots << ", chunk " << options.chunk << ", logit rows " << options.logit_rows
            << ", threads " << static_cast<int>(threads) << ", round " << round;
      }
    }
  }
  std::printf(
      "weights %s, kv %s: %d schedules, %d steps, %d requests (at most %d at once), %d cancelled, %d left, %d "
      "restored, %d evaluated between\n",
      std::string(name(weights)).c_str(), std::string(name(kv)).c_str(), tally.schedules, tally.steps, tally.requests,
      tally.most_at_once, tally.cancelled, tally.left, tally.restored, tally.evaluated);
  RecordProperty("schedules", tally.schedules);
  EXPECT_GE(tally.schedules, 180);
  EXPECT_GT(tally.cancelled, 20);
  EXPECT_GT(tally.left, 20);
  EXPECT_GT(tally.restored, 20);
  EXPECT_GT(tally.evaluated, 20);
}
INSTANTIATE_TEST_SUITE_P(Property, Schedules,
                         testing::Combine(testing::Values(DType::f32, DType::q8_0),
                                          testing::Values(DType::f16, DType::f32, DType::bf16)),
                         [](const auto& param) {
                           return std::string(name(std::get<0>(param.param))) + "_kv_" +
                                  std::string(name(std::get<1>(param.param)));
                         });

}  // namespace
