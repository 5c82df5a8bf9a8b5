// SPDX-License-Identifier: Apache-2.0
// tests/unit/draft_tokens.cpp: guessed tokens give the same answers in fewer steps.
#include <zrt/serve/draft_pay.hpp>
#include <zrt/serve/ngram_draft.hpp>
#include <zrt/serve/ngram_memory.hpp>

#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <map>
#include <string>
#include <support/counted_allocator.hpp>
#include <support/engines.hpp>
#include <vector>

namespace draft_tokens_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

std::vector<std::uint32_t> drafted(std::vector<std::uint32_t> tokens, std::uint32_t most) {
  const auto found = serve::ngram_draft(tokens, most);
  return {found.begin(), found.end()};
}

TEST(NgramDraft, IsWhatFollowedTheLastTokensBefore) {
  using Tokens = std::vector<std::uint32_t>;
  EXPECT_EQ(drafted({1, 2, 3, 4, 9, 1, 2}, 3), (Tokens{3, 4, 9}));
  EXPECT_EQ(drafted({1, 2, 3, 4, 9, 1, 2}, 1), Tokens{3});
  EXPECT_EQ(drafted({1, 2, 3, 1, 2, 4, 1, 2}, 2), (Tokens{4, 1})) << "of equal matches the latest";
  EXPECT_EQ(drafted({7, 1, 2, 3, 5, 1, 2, 4, 7, 1, 2}, 2), (Tokens{3, 5})) << "a longer match goes before a later one";
  EXPECT_EQ(drafted({5, 5, 5}, 4), Tokens{5});
  EXPECT_EQ(drafted({1, 2, 3, 2}, 4), Tokens{}) << "one token is no match";
  for (const Tokens& none : {Tokens{}, Tokens{1}, Tokens{1, 1}, Tokens{1, 2, 3}}) EXPECT_EQ(drafted(none, 4), Tokens{});
}

TEST(NgramDraft, ReadsNoTextInAPause) {
  const Span<const std::uint32_t> unreadable(static_cast<const std::uint32_t*>(nullptr), 4096);
  EXPECT_TRUE(serve::ngram_draft(unreadable, 0).empty());
}

using Said = std::vector<std::uint32_t>;

Said said(const serve::NgramMemory& memory, serve::Handle tenant, const Said& text, std::uint32_t most) {
  const auto found = memory.guess(tenant, text, most);
  return {found.begin(), found.end()};
}

TEST(NgramMemory, SaysWhatATenantSaidBehindTheSameTokens) {
  auto memory = serve::NgramMemory::make(2, system_allocator());
  ASSERT_TRUE(memory);
  const serve::Handle a = serve::handle_of(0, 1), b = serve::handle_of(1, 1), next_b = serve::handle_of(1, 2);
  memory->remember(a, Said{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(said(*memory, a, {9, 1, 2, 3}, 2), (Said{4, 5}));
  EXPECT_EQ(said(*memory, a, {3, 4, 5}, 8), Said{6}) << "no more than was said";
  EXPECT_EQ(said(*memory, a, {4, 5, 6}, 8), Said{}) << "nothing followed";
  EXPECT_EQ(said(*memory, a, {2, 3}, 8), Said{}) << "two tokens are too few";
  EXPECT_EQ(said(*memory, a, {1, 3, 2}, 8), Said{});
  EXPECT_EQ(said(*memory, b, {1, 2, 3}, 2), Said{}) << "another tenant's";
  memory->remember(a, Said{7, 1, 2, 3, 8, 8});
  EXPECT_EQ(said(*memory, a, {1, 2, 3}, 1), Said{8}) << "the last time counts";
  memory->remember(b, Said{1, 2, 3, 30});
  EXPECT_EQ(said(*memory, b, {1, 2, 3}, 1), Said{30});
  EXPECT_EQ(said(*memory, next_b, {1, 2, 3}, 1), Said{}) << "who comes to its row does not find it";
  memory->remember(next_b, Said{5, 5, 5, 5});
  EXPECT_EQ(said(*memory, next_b, {1, 2, 3}, 1), Said{});
  EXPECT_EQ(said(*memory, serve::handle_of(7, 1), {1, 2, 3}, 1), Said{}) << "no such row";
  memory->forget(b);
  EXPECT_EQ(said(*memory, next_b, {5, 5, 5}, 1), Said{5}) << "the one before has nothing there any more";
  memory->forget(next_b);
  EXPECT_EQ(said(*memory, next_b, {5, 5, 5}, 1), Said{});
  EXPECT_EQ(said(*memory, a, {1, 2, 3}, 1), Said{8});
  EXPECT_GE(memory->bytes(), 2u * 32 * 1024);
}

TEST(NgramMemory, ForgetsTheOldestFirst) {
  auto memory = serve::NgramMemory::make(1, system_allocator());
  ASSERT_TRUE(memory);
  const serve::Handle a = serve::handle_of(0, 1);
  std::uint32_t token = 0;
  const auto text_of = [&](std::uint32_t size) {
    Said text;
    for (std::uint32_t i = 0; i < size; ++i) text.push_back(++token);
    return text;
  };
  const Said first = text_of(100);
  memory->remember(a, first);
  const Said longer = text_of(2 * serve::NgramMemory::kOfOneText);
  memory->remember(a, longer);
  EXPECT_EQ(said(*memory, a, {longer[10], longer[11], longer[12]}, 1), Said{}) << "the end of a long text counts";
  EXPECT_EQ(said(*memory, a, {first[0], first[1], first[2]}, 1), Said{first[3]});
  Said last;
  for (int i = 0; i < 8; ++i) memory->remember(a, last = text_of(serve::NgramMemory::kOfOneText));
  EXPECT_EQ(said(*memory, a, {first[0], first[1], first[2]}, 1), Said{});
  EXPECT_EQ(said(*memory, a, {last[0], last[1], last[2]}, 2), (Said{last[3], last[4]}));
}

TEST(DraftLength, FollowsLuckAndRests) {
  serve::DraftLength length;
  EXPECT_EQ(length.next(), 2u);
  length.learn(2, 2);
  EXPECT_EQ(length.next(), 4u);
  length.learn(4, 3);
  EXPECT_EQ(length.next(), 4u) << "one more than were right";
  std::vector<std::uint32_t> pauses;
  for (int rest = 0; rest < 8; ++rest) {
    length.rest();
    pauses.push_back(0);
    while (length.next() == 0) ++pauses.back();
    EXPECT_TRUE(length.probes());
    EXPECT_EQ(length.next(), 1u) << "one guess behind a pause";
  }
  EXPECT_EQ(pauses, (std::vector<std::uint32_t>{1, 2, 4, 8, 16, 32, 64, 64}));
  length.learn(1, 1);
  EXPECT_FALSE(length.probes());
  length.go_on();
  length.rest();
  EXPECT_EQ(length.next(), 0u);
  EXPECT_EQ(length.next(), 1u) << "the next pause is short again";
}

TEST(DraftLength, ExpectsWhatItHasSeen) {
  serve::DraftLength sure, wrong;
  for (int i = 0; i < 100; ++i) sure.learn(4, 4), wrong.learn(1, 0);
  EXPECT_GT(sure.expected(4), 3u * serve::DraftLength::kSure);
  EXPECT_LT(wrong.expected(4), serve::DraftLength::kSure / 16);
  EXPECT_EQ(sure.expected(0), 0u);
  for (std::uint32_t n = 1; n < 64; ++n) EXPECT_LE(sure.expected(n), n * serve::DraftLength::kSure);
}

TEST(StepTimes, AreOnALineBetweenSizesThatAreKnown) {
  serve::StepTimes times;
  EXPECT_EQ(times.of(1), 0u) << "nothing is known";
  times.learn(2, 100);
  EXPECT_EQ(times.of(1), 100u);
  EXPECT_EQ(times.of(50'000), 100u) << "a larger step is not thought slow before it was tried";
  times.learn(10, 900);
  EXPECT_EQ(times.of(6), 500u);
  EXPECT_EQ(times.of(11), 900u);
  times.learn(2, 1'000'000);
  EXPECT_EQ(times.of(2), 125u) << "one slow step counts as twice as long";
  for (int i = 0; i < 80; ++i) times.learn(2, 1'000'000);
  EXPECT_GT(times.of(2), 900'000u) << "slow steps are believed in the end";
  times.learn(3, 0);
  times.learn(0, 3);
  times.learn(~0u, ~std::uint64_t{0});
  EXPECT_LT(times.of(~0u), std::uint64_t{1} << 40);
}

/// A slot on a machine whose steps take `fixed` and `row` for each token, with guesses that are right `right` times in a
/// hundred. Says how many of 2000 steps had guesses.
std::uint32_t steps_with_guesses(std::uint64_t fixed, std::uint64_t row, std::uint32_t right, std::uint64_t guess = 0,
                                 std::uint32_t slots = 1) {
  serve::DraftTimes times;
  std::vector<serve::DraftLength> luck(slots);
  test::TinyRandom random(1);
  std::uint32_t with = 0;
  for (int step = 0; step < 2000; ++step) {
    serve::DraftPay pay(times, slots);
    std::uint32_t rows = slots, most = 0, drafted = 0;
    for (serve::DraftLength& l : luck) {
      const std::uint32_t length = l.next();
      const std::uint32_t count = times.wants_plain() ? 0 : pay.take(l, length < 8 ? length : 8, guess != 0);
      std::uint32_t accepted = 0;
      while (accepted < count && random.below(100) < right) ++accepted;
      if (count != 0) l.learn(count, accepted);
      most = count > most ? count : most;
      rows += count;
      drafted += count;
    }
    for (std::uint32_t i = 0; i < most && guess != 0; ++i) times.learn_guess(guess);
    times.learn(rows, drafted, fixed + row * rows);
    with += drafted != 0 ? 1u : 0u;
  }
  return with;
}

TEST(DraftPay, GuessesWhereTheyPayAndOnlyThere) {
  // Rows are free: nearly any guess pays.
  EXPECT_GT(steps_with_guesses(1'000'000, 1'000, 90), 1800u);
  EXPECT_GT(steps_with_guesses(1'000'000, 1'000, 30), 1800u);
  // A row costs a step of its own: none does.
  EXPECT_LT(steps_with_guesses(1'000, 1'000'000, 90), 200u);
  EXPECT_LT(steps_with_guesses(1'000, 1'000'000, 30), 200u);
  // Half a step: good ones do.
  EXPECT_GT(steps_with_guesses(500'000, 500'000, 95), 1400u);
  EXPECT_LT(steps_with_guesses(500'000, 500'000, 20), 200u);
  // Wrong ones never do.
  EXPECT_LT(steps_with_guesses(1'000'000, 1'000, 0), 250u);
}

TEST(DraftPay, CountsTheTimeOfTheModelThatGuesses) {
  EXPECT_GT(steps_with_guesses(1'000'000, 1'000, 80, 100'000), 1800u);
  EXPECT_LT(steps_with_guesses(1'000'000, 1'000, 80, 1'100'000), 20u);
  // Slots make theirs together, so what is too dear for one may pay for eight.
  EXPECT_GT(steps_with_guesses(1'000'000, 1'000, 80, 600'000, 8), steps_with_guesses(1'000'000, 1'000, 80, 600'000));
}

TEST(DraftPay, GoesByLuckAloneWithoutAClock) {
  const serve::DraftTimes times;
  serve::DraftLength luck;
  EXPECT_EQ(serve::DraftPay(times, 1).take(luck, 2), 2u);
  luck.learn(2, 0);
  EXPECT_EQ(serve::DraftPay(times, 1).take(luck, 1), 0u) << "the last was wrong at once";
  EXPECT_EQ(luck.next(), 0u);
  EXPECT_EQ(serve::DraftPay(times, 1).take(luck, luck.next()), 1u) << "a guess behind the pause";
}

TEST(DraftTimes, MeasureSingleStepsNowAndThen) {
  serve::DraftTimes times;
  EXPECT_FALSE(times.known());
  times.learn(2, 1, 10);
  EXPECT_FALSE(times.known()) << "no single step was measured";
  times.learn(1, 0, 10);
  EXPECT_TRUE(times.known());
  std::uint32_t guessed = 0;
  while (!times.wants_plain()) times.learn(2, 1, 10), ++guessed;
  EXPECT_EQ(guessed, 64u);
  times.learn(1, 0, 10);
  EXPECT_FALSE(times.wants_plain());
}

/// What a callable saw of a request.
struct Answer {
  std::vector<std::int32_t> tokens;
  std::string text;
  FinishReason finish = FinishReason::none;
  bool operator==(const Answer&) const = default;
};

class DraftTokens : public testing::TestWithParam<test::TinySpec> {
 protected:
  DraftTokens() : file_(test::tiny_model(GetParam())) {}

  [[nodiscard]] std::unique_ptr<HostEngine> open(std::uint32_t drafts, On on = On::cpu) const {
    EngineOptions options;
    options.slots = 3;
    options.context = 128;
    options.chunk = 16;
    options.draft_tokens = drafts;
    // Without times drafts go by luck, whatever else the machine does.
    options.clock = {};
    auto engine = test::open_engine(on, file_.bytes(), options);
    EXPECT_TRUE(engine) << engine.error().text();
    return engine ? std::move(*engine) : nullptr;
  }
  /// Five requests in three slots: greedy, sampled, with penalties and with a stop token.
  [[nodiscard]] std::vector<Answer> answers(HostEngine& engine, std::size_t* steps = nullptr) const {
    std::vector<std::vector<std::int32_t>> prompts;
    std::map<RequestId, std::size_t> index;
    std::vector<Answer> all(5);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      prompts.push_back(test::tiny_prompt(GetParam().vocabulary, 5 + i, i));
      for (int again = 0; again < 2; ++again)
        prompts[i].insert(prompts[i].end(), prompts[i].begin(), prompts[i].begin() + 5);
      Request r;
      r.tokens = prompts[i];
      r.max_tokens = 40 + i;
      r.ignore_eos = true;
      r.sampling.temperature = i % 2 == 0 ? 0.0f : 0.3f;
      r.sampling.seed = i;
      if (i == 3) r.sampling.repetition_penalty = 1.1f;
      if (i == 4) r.stop_tokens[0] = 7;
      const auto id = engine.submit(r);
      EXPECT_TRUE(id) << id.error().text();
      index[*id] = i;
    }
    for (std::size_t count = 0;; ++count) {
      const auto left = engine.step([&](RequestId id, const Token& token) {
        Answer& a = all[index[id]];
        if (token.id != kNoToken) a.tokens.push_back(token.id);
        a.text += token.text;
        a.finish = token.finish;
        return true;
      });
      EXPECT_TRUE(left) << left.error().text();
      if (steps != nullptr) *steps = count;
      if (!left || *left == 0) break;
    }
    return all;
  }
  [[nodiscard]] bool can_go_back() const {
    return !test::is_recurrent(GetParam(), 0) && !test::is_recurrent(GetParam(), 1);
  }

  test::ModelFile file_;
};

TEST_P(DraftTokens, ChangeNoAnswer) {
  std::size_t plain_steps = 0;
  std::size_t steps = 0;
  const auto plain = open(0);
  const auto drafts = open(8);
  const std::vector<Answer> expected = answers(*plain, &plain_steps);
  EXPECT_EQ(answers(*drafts, &steps), expected);
  EXPECT_EQ(answers(*open(3, On::reference)), expected);
  const auto used = drafts->usage({});
  ASSERT_TRUE(used);
  if (!can_go_back()) {
    EXPECT_EQ(used->drafted_tokens, 0u) << "state that was rewritten cannot go back";
    return;
  }
  // The answers of one model never repeat themselves.
  if (GetParam().name != "gpt-oss") {
    EXPECT_GT(used->accepted_drafts, 0u);
  }
  EXPECT_LE(steps, plain_steps);
}

TEST_P(DraftTokens, GuessFromTheLastTextsOfTheTenant) {
  const auto engine = open(8);
  const std::vector<std::int32_t> prompt = test::tiny_prompt(GetParam().vocabulary, 9, 2);
  Request r;
  r.tokens = prompt;
  r.max_tokens = 40;
  r.ignore_eos = true;
  r.sampling.temperature = 1.5f;
  r.sampling.seed = 11;
  std::vector<std::vector<std::int32_t>> said(3);
  std::uint64_t accepted[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(engine->generate(r, [&](const Token& token) {
      if (token.id != kNoToken) said[i].push_back(token.id);
      return true;
    }));
    accepted[i] = engine->usage({})->accepted_drafts;
  }
  EXPECT_EQ(said[1], said[0]);
  EXPECT_EQ(said[2], said[0]);
  if (can_go_back()) {
    // An answer that repeats its words in other orders is guessed from itself, and misleads who remembers it.
    const std::uint64_t least = accepted[0] > 10 ? accepted[0] : accepted[0] + 20;
    EXPECT_GT(accepted[1] - accepted[0], least) << "the second answer is the first one's";
  }
}

TEST_P(DraftTokens, ACallableThatSaysNoHearsNothingMore) {
  const std::vector<std::int32_t> prompt = test::tiny_prompt(GetParam().vocabulary, 4, 1);
  Request r;
  r.tokens = prompt;
  r.max_tokens = 60;
  r.ignore_eos = true;
  const auto engine = open(8);
  for (std::size_t most = 1; most < 40; ++most) {
    std::size_t heard = 0;
    const auto done = engine->generate(r, [&](const Token&) { return ++heard < most; });
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(heard, most);
    EXPECT_EQ(done->generated_tokens, most);
    EXPECT_EQ(done->finish, FinishReason::callback);
  }
}

INSTANTIATE_TEST_SUITE_P(Unit, DraftTokens, testing::ValuesIn(test::kTinyFamilies), [](const auto& param) {
  std::string name(param.param.name);
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

/// A llama of a vocabulary of 64, whose weights the seed gives.
test::TinySpec llama(std::uint64_t seed, DType weights = DType::f32) {
  test::TinySpec spec;
  spec.seed = seed;
  spec.weights = weights;
  return spec;
}

class DraftModel : public testing::Test {
 protected:
  [[nodiscard]] static EngineOptions options(std::uint32_t slots, std::uint32_t drafts) {
    EngineOptions o;
    o.slots = slots;
    o.context = 96;
    o.chunk = 16;
    o.draft_tokens = drafts;
    o.clock = {};
    return o;
  }
  [[nodiscard]] static std::unique_ptr<HostEngine> open(const test::TinySpec& spec, const EngineOptions& options,
                                                        On on = On::cpu) {
    // Engines read weights where they lie.
    static std::vector<test::ModelFile> files;
    files.reserve(64);
    files.push_back(test::tiny_model(spec));
    auto engine = test::open_engine(on, files.back().bytes(), options);
    EXPECT_TRUE(engine) << engine.error().text();
    return engine ? std::move(*engine) : nullptr;
  }
  /// What requests get that come one after the other, some of which are cancelled; seven in all.
  [[nodiscard]] static std::vector<std::vector<std::int32_t>> answers(HostEngine& engine) {
    std::vector<std::vector<std::int32_t>> prompts(7), all(7);
    std::map<RequestId, std::size_t> index;
    std::size_t next = 0;
    for (std::size_t step = 0; next < prompts.size() || engine.idle_ns() != kUntilSubmit; ++step) {
      if (next < prompts.size() && step % 5 == 0) {
        const auto i = static_cast<std::uint32_t>(next);
        prompts[next] = test::tiny_prompt(64, 3 + 11 * (next % 4), 40 + next);
        Request r;
        r.tokens = prompts[next];
        r.max_tokens = 12 + 4 * i;
        r.ignore_eos = true;
        r.sampling.temperature = 0.4f * static_cast<float>(i % 4);
        r.sampling.seed = i;
        if (i == 2) r.sampling.repetition_penalty = 1.2f;
        if (i == 5) r.log_probabilities = 2;
        const auto id = engine.submit(r);
        EXPECT_TRUE(id) << id.error().text();
        index[*id] = next++;
      }
      const auto left = engine.step([&](RequestId id, const Token& token) {
        auto& a = all[index[id]];
        if (token.id != kNoToken) a.push_back(token.id);
        return index[id] != 3 || a.size() < 9;  // one says no
      });
      EXPECT_TRUE(left) << left.error().text();
      if (!left) break;
    }
    return all;
  }
};

TEST_F(DraftModel, ChangesNoAnswerHoweverWellItGuesses) {
  const auto plain = open(llama(1), options(3, 0));
  const auto expected = answers(*plain);
  // The same model, and two that know nothing of it.
  for (const test::TinySpec& spec : {llama(1), llama(1, DType::q8_0), llama(99)})
    for (const On on : {On::cpu, On::reference}) {
      const auto engine = open(llama(1), options(3, 9), on);
      const auto drafter = open(spec, options(4, 0), on);
      const std::uint64_t alone = engine->memory().caches;
      const std::uint64_t theirs = drafter->memory().caches;
      ASSERT_GT(theirs, 0u);
      const auto taken = engine->draft_with(*drafter);
      ASSERT_TRUE(taken) << taken.error().text();
      EXPECT_EQ(engine->memory().caches, alone + theirs);
      EXPECT_EQ(answers(*engine), expected);
      const auto used = engine->usage({});
      ASSERT_TRUE(used);
      EXPECT_GT(used->drafted_tokens, 20u);
      if (spec.seed == 1 && spec.weights == DType::f32) {
        EXPECT_GT(used->accepted_drafts, used->drafted_tokens / 2);
      }
      EXPECT_EQ(answers(*engine), expected) << "slots that were used before";
    }
}

/// A clock that goes on by a millisecond each time that it is read.
struct EvenClock {
  std::uint64_t now = 0;

  [[nodiscard]] ClockHook hook() noexcept {
    return {this, [](void* context) noexcept { return static_cast<EvenClock*>(context)->now += 1'000'000; }};
  }
};

TEST_F(DraftModel, ChangesNoAnswerWhereTimeIsMeasured) {
  const auto plain = open(llama(1), options(3, 0));
  const auto expected = answers(*plain);
  for (const std::uint64_t latency : {std::uint64_t{0}, std::uint64_t{1'000}}) {
    EvenClock clock, other;
    EngineOptions o = options(3, 9);
    o.clock = clock.hook();
    o.step_latency_ns = latency;
    const auto engine = open(llama(1), o);
    EngineOptions of_drafter = options(3, 0);
    of_drafter.clock = other.hook();
    const auto drafter = open(llama(1), of_drafter);
    ASSERT_TRUE(engine->draft_with(*drafter));
    for (int round = 0; round < 3; ++round) EXPECT_EQ(answers(*engine), expected) << "latency " << latency;
    EXPECT_GT(engine->usage({})->drafted_tokens, 0u);
    EXPECT_EQ(other.now, 0u) << "the clock is the engine's that guesses are for";
  }
}

TEST_F(DraftModel, GuessesUpToTheEndOfItsEnginesContext) {
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 4, 1);
  const auto whole = [&prompt](HostEngine& engine) {
    Request r;
    r.tokens = prompt;
    r.max_tokens = 1000;
    r.ignore_eos = true;
    std::vector<std::int32_t> all;
    EXPECT_TRUE(engine.submit(r));
    while (engine.idle_ns() != kUntilSubmit)
      EXPECT_TRUE(engine.step([&all](RequestId, const Token& token) {
        if (token.id != kNoToken) all.push_back(token.id);
        return true;
      }));
    return all;
  };
  const auto plain = open(llama(1), options(1, 0));
  const auto expected = whole(*plain);
  ASSERT_EQ(expected.size(), 96u + 1 - prompt.size());
  test::CountedAllocator guessing;
  EngineOptions o = options(1, 9);
  o.allocator = guessing.allocator();
  const auto engine = open(llama(1), o);
  EngineOptions longer = options(2, 0);
  longer.context = 192;
  const auto drafter = open(llama(1), longer);
  ASSERT_TRUE(engine->draft_with(*drafter));
  std::size_t before = 0;
  for (int round = 0; round < 3; ++round) {
    const std::size_t calls = guessing.calls;
    EXPECT_EQ(whole(*engine), expected);
    if (round != 0) {
      EXPECT_EQ(guessing.calls - calls, before) << "no step makes room that was not there";
    }
    before = guessing.calls - calls;
  }
  EXPECT_GT(engine->usage({})->accepted_drafts, 60u);
}

TEST_F(DraftModel, GuessesOnBesideAPromptThatWaitsForItsRate) {
  EvenClock clock;
  EngineOptions o = options(2, 9);
  o.clock = clock.hook();
  const auto engine = open(llama(1), o);
  const auto drafter = open(llama(1), options(2, 0));
  ASSERT_TRUE(engine->draft_with(*drafter));
  TenantQuota slow;
  slow.prefill_tokens_per_s = 4;
  const auto tenant = engine->create_tenant(slow);
  ASSERT_TRUE(tenant) << tenant.error().text();
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 4, 1), long_prompt = test::tiny_prompt(64, 60, 2);
  Request r;
  r.tokens = long_prompt;
  r.max_tokens = 1;
  r.tenant = *tenant;
  ASSERT_TRUE(engine->submit(r));
  const auto quiet = [](RequestId, const Token&) { return true; };
  for (int step = 0; step < 8; ++step) ASSERT_TRUE(engine->step(quiet));
  r.tokens = prompt;
  r.tenant = {};
  r.max_tokens = 60;
  r.ignore_eos = true;
  ASSERT_TRUE(engine->submit(r));
  for (int step = 0; step < 40; ++step) ASSERT_TRUE(engine->step(quiet));
  EXPECT_EQ(engine->running(), 1u) << "the slow tenant's prompt is not read yet";
  EXPECT_GT(engine->usage({})->accepted_drafts, 0u);
}

TEST_F(DraftModel, LeavesAndComesBackWithItsEngine) {
  const auto engine = open(llama(1), options(3, 9));
  const auto plain = open(llama(1), options(3, 0));
  const auto expected = answers(*plain);
  const auto drafter = open(llama(1), options(3, 0));
  ASSERT_TRUE(engine->draft_with(*drafter));
  const std::uint64_t whole = engine->memory().total();
  EXPECT_EQ(answers(*engine), expected);
  const auto before = engine->usage({});
  ASSERT_TRUE(engine->evict());
  EXPECT_EQ(engine->memory().caches, 0u);
  ASSERT_TRUE(engine->reopen());
  EXPECT_EQ(engine->memory().total(), whole);
  EXPECT_EQ(answers(*engine), expected);
  EXPECT_GT(engine->usage({})->accepted_drafts, before->accepted_drafts + 20);
}

TEST_F(DraftModel, IsRefusedWhereItsGuessesCannotServe) {
  const auto refused = [](HostEngine& engine, HostEngine& drafter, Errc code, std::string_view word) {
    const auto taken = engine.draft_with(drafter);
    ASSERT_FALSE(taken) << word;
    EXPECT_EQ(taken.error().code(), code) << taken.error().text();
    EXPECT_NE(taken.error().text().find(word), std::string_view::npos) << taken.error().text();
    EXPECT_TRUE(drafter.is_resident()) << "a refused engine stays as it was";
  };
  const auto engine = open(llama(1), options(2, 4));
  const auto good = open(llama(2), options(2, 0));
  refused(*open(llama(1), options(2, 0)), *good, Errc::invalid_argument, "draft_tokens is 0");
  refused(*engine, *engine, Errc::invalid_argument, "guess for itself");
  refused(*engine, *open(llama(2), options(1, 0)), Errc::invalid_argument, "has 1 slots, expected 2");
  EngineOptions shorter = options(2, 0);
  shorter.context = 64;
  refused(*engine, *open(llama(2), shorter), Errc::invalid_argument, "context is 64, expected 96");
  test::TinySpec other = llama(2);
  other.vocabulary = 65;
  refused(*engine, *open(other, options(2, 0)), Errc::invalid_argument, "vocabulary has 65 tokens, expected 64");
  for (const test::TinySpec& spec : test::kTinyFamilies)
    if (spec.name == "mamba" || spec.name == "gemma3") {
      EngineOptions o = options(2, 0);
      refused(*engine, *open(spec, o), Errc::unimplemented, "cannot go back");
    }
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 4, 1);
  Request r;
  r.tokens = prompt;
  r.max_tokens = 3;
  ASSERT_TRUE(good->submit(r));
  refused(*engine, *good, Errc::invalid_state, "has requests");
  while (good->idle_ns() != kUntilSubmit) ASSERT_TRUE(good->step([](RequestId, const Token&) { return true; }));
  ASSERT_TRUE(engine->draft_with(*good));
  refused(*engine, *open(llama(2), options(2, 0)), Errc::invalid_state, "a draft model already");
}

TEST_F(DraftModel, HasTheSameWordsForItsTokens) {
  test::TinySpec text = llama(1);
  text.text = true;
  const test::ModelFile file = test::tiny_model(text);
  EngineOptions o = options(1, 4);
  auto engine = test::open_engine(On::cpu, file.bytes(), o);
  ASSERT_TRUE(engine) << engine.error().text();
  o.draft_tokens = 0;
  std::vector<std::uint64_t> aligned((file.bytes().size() + 7) / 8);
  const auto changed = std::as_writable_bytes(std::span(aligned)).first(file.bytes().size());
  std::copy(file.bytes().begin(), file.bytes().end(), changed.begin());
  constexpr std::string_view kWord = "king";
  const auto at = std::search(changed.begin(), changed.end(), kWord.begin(), kWord.end(),
                              [](std::byte a, char b) { return a == static_cast<std::byte>(b); });
  ASSERT_NE(at, changed.end());
  *at = static_cast<std::byte>('r');
  auto other = test::open_engine(On::cpu, changed, o);
  ASSERT_TRUE(other) << other.error().text();
  const auto taken = (*engine)->draft_with(**other);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), Errc::invalid_argument);
  EXPECT_NE(taken.error().text().find("ring', expected"), std::string_view::npos) << taken.error().text();
  auto same = test::open_engine(On::cpu, file.bytes(), o);
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_TRUE((*engine)->draft_with(**same));
}

TEST(DraftTokensOption, IsAtMostAChunk) {
  EngineOptions options;
  options.draft_tokens = 17;
  options.chunk = 16;
  const auto refused = check(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("draft_tokens is 17"), std::string_view::npos) << refused.error().text();
}

}  // namespace
}  // namespace draft_tokens_test
