// SPDX-License-Identifier: Apache-2.0
// tests/unit/told_prompts.cpp: the log-probabilities of a prompt are those of an evaluation, however it is read.
#include <zrt/engine/log_probabilities.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <data/models/tiny_models.hpp>
#include <map>
#include <memory>
#include <support/sampled_requests.hpp>
#include <vector>

namespace told_prompts_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

constexpr std::uint32_t kContext = 96;
constexpr std::uint32_t kBest = 3;

/// A token with the bits of its numbers.
struct Told {
  std::int32_t id = kNoToken;
  std::uint32_t own = 0;
  std::vector<std::pair<std::int32_t, std::uint32_t>> best;

  [[nodiscard]] friend bool operator==(const Told&, const Told&) = default;
};

Told told_of(std::int32_t id, float own, Span<const TokenProbability> best) {
  Told told{id, std::bit_cast<std::uint32_t>(own), {}};
  for (const TokenProbability& one : best)
    told.best.emplace_back(one.id, std::bit_cast<std::uint32_t>(one.log_probability));
  return told;
}

struct Answer {
  std::vector<Told> prompt, generated;
  FinishReason finish = FinishReason::none;
  std::uint32_t cached = 0;

  void hear(const Token& token) {
    EXPECT_EQ(finish, FinishReason::none);
    if (token.in_prompt) {
      EXPECT_TRUE(generated.empty()) << "the prompt comes first";
      EXPECT_TRUE(token.text.empty());
      prompt.push_back(told_of(token.id, token.log_probability, token.best));
    } else if (token.id != kNoToken) {
      generated.push_back(told_of(token.id, token.log_probability, token.best));
    }
    finish = token.finish;
    cached = token.cached_tokens;
  }
};

std::vector<Told> evaluated(HostEngine& engine, std::span<const std::int32_t> prompt) {
  std::vector<Told> all{{prompt[0], 0, {}}};
  const auto done = engine.evaluate(prompt, {}, [&](std::uint32_t position, std::span<const float> row) {
    if (position + 1 == prompt.size()) return;
    std::vector<TokenProbability> best(kBest);
    const float total = log_probabilities(row, best);
    const std::int32_t next = prompt[position + 1];
    all.push_back(told_of(next, row[static_cast<std::size_t>(next)] - total, best));
  });
  EXPECT_TRUE(done) << done.error().text();
  return all;
}

Request told_request(std::span<const std::int32_t> prompt, std::uint32_t max_tokens, std::uint64_t seed = 1) {
  Request r = test::sampled_request(prompt, seed, max_tokens);
  r.log_probabilities = 2;
  r.prompt_log_probabilities = kBest;
  return r;
}

class ToldPrompts : public testing::TestWithParam<std::string_view> {
 protected:
  ToldPrompts() {
    for (test::TinySpec spec : test::kTinyFamilies)
      if (spec.name == GetParam()) file_ = test::tiny_model(spec);
  }
  [[nodiscard]] std::unique_ptr<HostEngine> open(EngineOptions options, On on = On::cpu) const {
    options.context = kContext;
    options.clock = {};
    auto engine = test::open_engine(on, file_.bytes(), options);
    EXPECT_TRUE(engine) << engine.error().text();
    return engine ? std::move(*engine) : nullptr;
  }
  static void step(HostEngine& engine, std::map<RequestId, Answer>& answers) {
    const auto left = engine.step([&](RequestId id, const Token& token) {
      answers[id].hear(token);
      return true;
    });
    ASSERT_TRUE(left) << left.error().text();
  }
  static void run(HostEngine& engine, std::map<RequestId, Answer>& answers) {
    while (engine.idle_ns() != kUntilSubmit) step(engine, answers);
  }
  static RequestId submit(HostEngine& engine, const Request& request) {
    const auto id = engine.submit(request);
    EXPECT_TRUE(id) << id.error().text();
    return id ? *id : RequestId{};
  }

  test::ModelFile file_;
};

TEST_P(ToldPrompts, HaveTheBitsOfAnEvaluationInStepsOfAnySize) {
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 50, 3);
  const std::vector<Told> expected = evaluated(*open({}), prompt);
  ASSERT_EQ(expected.size(), prompt.size());
  Request plain = told_request(prompt, 6);
  plain.prompt_log_probabilities = 0;
  const auto alone = open({});
  Answer without;
  ASSERT_TRUE(alone->generate(plain, [&](const Token& token) { return without.hear(token), true; }));
  for (const On on : {On::cpu, On::reference})
    for (const std::uint32_t rows : {1u, 3u, 512u}) {
      const auto engine = open({.logit_rows = rows}, on);
      std::map<RequestId, Answer> answers;
      const RequestId id = submit(*engine, told_request(prompt, 6));
      std::uint32_t before = 0, steps = 0;
      for (; answers[id].generated.empty(); ++steps) {
        step(*engine, answers);
        const std::uint32_t read = engine->processed(id);
        EXPECT_LE(read - before, rows);
        before = read;
        ASSERT_LT(steps, 60u);
      }
      EXPECT_EQ(steps, (prompt.size() + rows - 1) / rows) << rows << " rows";
      run(*engine, answers);
      EXPECT_EQ(answers[id].prompt, expected) << rows << " rows";
      EXPECT_EQ(answers[id].generated, without.generated);
      EXPECT_EQ(answers[id].finish, FinishReason::length);
    }
}

TEST_P(ToldPrompts, AreReadForNoTokenToo) {
  const auto engine = open({.logit_rows = 5});
  for (const std::size_t size : {1u, 2u, 17u, kContext}) {
    const std::vector<std::int32_t> prompt = test::tiny_prompt(64, size, 4);
    Answer answer;
    const auto done =
        engine->generate(told_request(prompt, 0), [&](const Token& token) { return answer.hear(token), true; });
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(answer.prompt, evaluated(*engine, prompt));
    EXPECT_TRUE(answer.generated.empty());
    EXPECT_EQ(done->finish, FinishReason::length);
    EXPECT_EQ(done->generated_tokens, 0u);
    EXPECT_EQ(answer.finish, FinishReason::length);
  }
  EXPECT_EQ(engine->usage({})->delivered_tokens, 0u);
}

TEST_P(ToldPrompts, AreTheSameBesideOthersBehindPrefixesAndWithGuesses) {
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 60, 5);
  const std::vector<std::int32_t> other = test::tiny_prompt(64, 21, 6);
  std::vector<std::int32_t> repeats;
  for (int i = 0; i < 12; ++i)
    for (const std::int32_t token : {5, 9, 3, 7}) repeats.push_back(token);
  const auto engine = open({.slots = 3, .logit_rows = 8, .draft_tokens = 6, .prefix_cache = true, .kept_states = 3});
  std::map<RequestId, Answer> answers;
  // A text that guesses itself, and one that leaves its pages to others.
  Request guessed = test::sampled_request(repeats, 2, 40);
  guessed.sampling.temperature = 0.0f;
  const Answer alone = [&] {
    Answer a;
    EXPECT_TRUE(open({})->generate(guessed, [&](const Token& token) { return a.hear(token), true; }));
    return a;
  }();
  const RequestId first = submit(*engine, test::sampled_request(prompt, 9, 2));
  run(*engine, answers);
  const RequestId guessing = submit(*engine, guessed);
  for (int i = 0; i < 8; ++i) step(*engine, answers);
  const RequestId again = submit(*engine, told_request(prompt, 4)), small = submit(*engine, told_request(other, 0));
  run(*engine, answers);
  const RequestId found = submit(*engine, test::sampled_request(prompt, 9, 2));
  run(*engine, answers);
  EXPECT_EQ(answers[again].prompt, evaluated(*engine, prompt));
  EXPECT_EQ(answers[again].cached, 0u) << "no prefix stands in for what is told";
  EXPECT_EQ(answers[small].prompt, evaluated(*engine, other));
  EXPECT_EQ(answers[guessing].generated, alone.generated);
  EXPECT_EQ(answers[found].generated, answers[first].generated);
  EXPECT_GT(answers[found].cached, 0u) << "others find the prompt";
}

TEST_P(ToldPrompts, ArePreemptedAndToldOnce) {
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 70, 7);
  const std::vector<std::int32_t> other = test::tiny_prompt(64, 20, 8);
  const std::vector<Told> expected = evaluated(*open({}), prompt);
  for (const bool prefixes : {false, true})
    for (int steps = 1; steps < 26; steps += 3) {
      std::uint64_t now = 1;
      EngineOptions options{.logit_rows = 3, .prefix_cache = prefixes, .kept_states = prefixes ? 4u : 0u};
      options.context = kContext;
      options.clock = {&now, [](void* time) noexcept { return *static_cast<std::uint64_t*>(time) += 1000; }};
      auto opened = test::open_engine(On::cpu, file_.bytes(), options);
      ASSERT_TRUE(opened) << opened.error().text();
      HostEngine& engine = **opened;
      const auto batch = engine.create_tenant({.service = ServiceClass::batch});
      const auto user = engine.create_tenant({.service = ServiceClass::interactive});
      ASSERT_TRUE(batch && user);
      Request told = told_request(prompt, 3), taking = test::sampled_request(other, 1, 4);
      told.tenant = *batch;
      taking.tenant = *user;
      std::map<RequestId, Answer> answers;
      const RequestId id = submit(engine, told);
      // Each time that it has come further, somebody takes its slot.
      for (int i = 0; i < steps; ++i) step(engine, answers);
      (void)submit(engine, taking);
      for (int i = 0; i < 12; ++i) step(engine, answers);
      (void)submit(engine, taking);
      run(engine, answers);
      EXPECT_GE(engine.usage(*batch)->preemptions, 1u);
      EXPECT_EQ(answers[id].prompt, expected) << "after " << steps << " steps";
      EXPECT_EQ(answers[id].generated.size(), 3u);
    }
}

TEST_P(ToldPrompts, WaitForAClientThatDoesNotRead) {
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 40, 10);
  for (const bool reads_again : {true, false}) {
    const auto engine = open({.slots = 2, .logit_rows = 5});
    std::map<RequestId, Answer> answers;
    const RequestId id = submit(*engine, told_request(prompt, 3)), other = submit(*engine, told_request(prompt, 9));
    step(*engine, answers);
    const std::size_t read = answers[id].prompt.size();
    ASSERT_TRUE(engine->pause(id));
    for (int i = 0; i < 60; ++i) step(*engine, answers);
    EXPECT_GT(answers[id].prompt.size(), read);
    EXPECT_LE(answers[id].prompt.size(), read + 4) << "one step's";
    EXPECT_EQ(answers[other].prompt.size(), prompt.size());
    EXPECT_EQ(answers[other].finish, FinishReason::length);
    if (reads_again) ASSERT_TRUE(engine->pause(id, false));
    run(*engine, answers);
    EXPECT_EQ(answers[id].finish, reads_again ? FinishReason::length : FinishReason::client_too_slow);
    if (reads_again) {
      EXPECT_EQ(answers[id].prompt, evaluated(*engine, prompt));
      EXPECT_EQ(answers[id].generated.size(), 3u);
    }
  }
}

TEST_P(ToldPrompts, EndWhereTheCallableSaysNo) {
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 40, 9);
  for (const std::size_t most : {1u, 2u, 9u, 40u}) {
    const auto engine = open({.slots = 2, .logit_rows = 6});
    std::map<RequestId, Answer> answers;
    const RequestId id = submit(*engine, told_request(prompt, 5)), other = submit(*engine, told_request(prompt, 5));
    while (engine->idle_ns() != kUntilSubmit) {
      const auto left = engine->step([&](RequestId request, const Token& token) {
        answers[request].hear(token);
        return request != id || answers[request].prompt.size() < most;
      });
      ASSERT_TRUE(left) << left.error().text();
    }
    EXPECT_EQ(answers[id].prompt.size(), most);
    EXPECT_TRUE(answers[id].generated.empty());
    EXPECT_EQ(answers[id].finish, FinishReason::none) << "it is not called again";
    EXPECT_EQ(answers[other].prompt.size(), prompt.size());
    EXPECT_EQ(answers[other].generated.size(), 5u);
    EXPECT_EQ(engine->running(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Unit, ToldPrompts, testing::Values("llama", "gemma3", "mamba2", "granitehybrid"));

TEST(ToldPromptRequests, AreRefusedWhereNothingCouldBeTold) {
  const test::ModelFile file = test::tiny_model(test::TinySpec{});
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 8, 1);
  const auto engine = test::open_engine(On::cpu, file.bytes(), {.context = kContext, .given_embeddings = true});
  ASSERT_TRUE(engine) << engine.error().text();
  const auto refused = [&](const Request& r, Errc code, std::string_view says) {
    const auto id = (*engine)->submit(r);
    ASSERT_FALSE(id);
    EXPECT_EQ(id.error().code(), code);
    EXPECT_NE(id.error().text().find(says), std::string_view::npos) << id.error().text();
  };
  Request many = told_request(prompt, 1);
  many.prompt_log_probabilities = 65;
  refused(many, Errc::invalid_argument, "65 log-probabilities");
  const std::vector<float> row(1024);
  const EmbeddingSpan span{.first = 1, .rows = row};
  Request given = told_request(prompt, 1);
  given.embeddings = {&span, 1};
  refused(given, Errc::invalid_argument, "prompt_log_probabilities");
  // What a snapshot has read of its prompt is told already.
  const auto id = (*engine)->submit(test::sampled_request(prompt, 1, 9));
  ASSERT_TRUE(id);
  ASSERT_TRUE((*engine)->step([](RequestId, const Token&) { return true; }));
  const auto saved = (*engine)->save(*id);
  ASSERT_TRUE(saved) << saved.error().text();
  const auto restored = (*engine)->restore(saved->span(), told_request(prompt, 9));
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code(), Errc::unimplemented);
}

}  // namespace
}  // namespace told_prompts_test
