// SPDX-License-Identifier: Apache-2.0
// tests/unit/engine.cpp: how requests begin and end, and what an engine refuses.
// test-set: smoke brief
#include <zrt/exec/cores.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <data/models/tiny_models.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <support/characters.hpp>
#include <support/engines.hpp>
#include <vector>

namespace engine_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

struct Answer {
  std::vector<std::int32_t> ids;
  std::string text;
  std::vector<FinishReason> finishes;
  Completion completion;
};

Answer run(HostEngine& engine, const Request& request) {
  Answer out;
  const auto done = engine.generate(request, [&](const Token& token) {
    if (token.id != kNoToken) out.ids.push_back(token.id);
    out.text += token.text;
    if (token.finish != FinishReason::none) out.finishes.push_back(token.finish);
    return true;
  });
  EXPECT_TRUE(done) << (done ? "" : done.error().text());
  if (done) out.completion = *done;
  return out;
}

/// Two workers, the second before the first.
constexpr ThreadHook two_in_turn() {
  return {nullptr,
          [](void*, ThreadHook::Work work, void* argument) noexcept {
            for (std::uint32_t worker = 2; worker-- > 0;) work(argument, worker, 2);
          },
          2};
}

class EngineTest : public testing::Test {
 protected:
  static const test::ModelFile& text_model() {
    static const test::ModelFile file = test::tiny_model({.text = true, .seed = 5});
    return file;
  }
  static std::unique_ptr<HostEngine> open(const EngineOptions& options = {},
                                          const test::ModelFile& file = text_model()) {
    auto engine = test::open_engine(On::cpu, file.bytes(), options);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().text());
    return engine ? std::move(*engine) : nullptr;
  }
  /// A request that samples much and so says much.
  static Request talk(std::uint32_t tokens, std::uint64_t seed = 1) {
    Request r;
    r.prompt = "the king of";
    r.max_tokens = tokens;
    r.ignore_eos = true;
    r.sampling.temperature = 1.5f;
    r.sampling.seed = seed;
    return r;
  }
  static void expect_refused(HostEngine& engine, const Request& request, Errc code) {
    const auto r = engine.submit(request);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), code) << r.error().text();
    EXPECT_FALSE(r.error().text().empty());
  }
};

/// A clock on which every reading comes 16 µs after the one before.
struct SteadyClock {
  std::uint64_t reads = 0;
  ClockHook hook() noexcept {
    return {this, [](void* context) noexcept -> std::uint64_t {
              return ++static_cast<SteadyClock*>(context)->reads * 16'000;
            }};
  }
};

TEST_F(EngineTest, ALatencyCutsPromptsAndChangesNoToken) {
  const std::string prompt(200, 'a');
  const auto run_with = [&](std::uint64_t of_engine, std::uint64_t of_request, std::uint64_t& steps) {
    SteadyClock clock;
    const auto engine = open({.context = 512, .step_latency_ns = of_engine, .clock = clock.hook()});
    std::vector<std::int32_t> ids;
    Request request = talk(12);
    request.prompt = prompt;
    request.step_latency_ns = of_request;
    EXPECT_TRUE(engine && engine->submit(request));
    for (std::size_t left = 1; left != 0;) {
      const auto r = engine->step([&](RequestId, const Token& token) {
        if (token.id != kNoToken) ids.push_back(token.id);
        return true;
      });
      if (!r) return ids;
      left = *r;
    }
    EXPECT_EQ(clock.reads % 2, 0u);
    steps = clock.reads / 2;
    return ids;
  };
  std::uint64_t whole = 0, engines = 0, requests = 0, strict = 0;
  const std::vector<std::int32_t> ids = run_with(0, 0, whole);
  EXPECT_EQ(ids.size(), 12u);
  EXPECT_EQ(whole, 1u) << "the clock is read for steps with prompt tokens alone";
  EXPECT_EQ(run_with(50'000, 0, engines), ids);
  EXPECT_EQ(run_with(0, 50'000, requests), ids);
  EXPECT_EQ(run_with(50'000, 1, strict), ids) << "the request's own goes first";
  EXPECT_EQ(engines, requests);
  EXPECT_GT(engines, 3u);
  EXPECT_GE(strict, 200u / 16u);
  EXPECT_GT(strict, engines);
}

TEST_F(EngineTest, StreamsTokensAndCountsThem) {
  const auto engine = open();
  const Answer r = run(*engine, talk(20));
  EXPECT_EQ(r.ids.size(), 20u);
  EXPECT_EQ(r.finishes, std::vector{FinishReason::length}) << "the reason is said once";
  EXPECT_EQ(r.completion.finish, FinishReason::length);
  EXPECT_EQ(r.completion.generated_tokens, 20u);
  const auto prompt = engine->tokenizer()->encode("the king of", {.add_special = true, .parse_special = false});
  ASSERT_TRUE(prompt);
  EXPECT_EQ(r.completion.prompt_tokens, prompt->size());
  EXPECT_EQ(run(*engine, talk(20)).ids, r.ids) << "the same request again";
  EXPECT_NE(run(*engine, talk(20, 2)).ids, r.ids) << "another seed";
  Request by_ids = talk(20);
  by_ids.tokens = prompt->span();
  EXPECT_EQ(run(*engine, by_ids).ids, r.ids);
}

TEST_F(EngineTest, TwoEnginesInOneProcessDoNotMeet) {
  const auto one = open();
  const test::ModelFile file = test::tiny_model({.family = "qwen3", .text = true, .seed = 9});
  const auto two = open({}, file);
  const Answer first = run(*one, talk(8));
  const Answer second = run(*two, talk(8));
  EXPECT_NE(first.ids, second.ids);
  EXPECT_EQ(run(*one, talk(8)).ids, first.ids);
  EXPECT_EQ(run(*two, talk(8)).ids, second.ids);
}

TEST_F(EngineTest, MaxTokensOfZeroAndOne) {
  const auto engine = open();
  const Answer none = run(*engine, talk(0));
  EXPECT_TRUE(none.ids.empty());
  EXPECT_EQ(none.text, "");
  EXPECT_EQ(none.completion.finish, FinishReason::length);
  EXPECT_EQ(none.completion.generated_tokens, 0u);
  const Answer one = run(*engine, talk(1));
  EXPECT_EQ(one.ids.size(), 1u);
  EXPECT_EQ(one.completion.finish, FinishReason::length);
}

TEST_F(EngineTest, StopTokensEndARequestAndHaveNoText) {
  const auto engine = open();
  const Answer all = run(*engine, talk(24));
  Request request = talk(24);
  request.stop_tokens[7] = all.ids[5];
  const Answer r = run(*engine, request);
  const auto first = static_cast<std::size_t>(std::find(all.ids.begin(), all.ids.end(), all.ids[5]) - all.ids.begin());
  EXPECT_EQ(r.completion.finish, FinishReason::stop_token);
  EXPECT_EQ(r.ids, std::vector(all.ids.begin(), all.ids.begin() + static_cast<std::ptrdiff_t>(first) + 1));
  // A character that the next token would have completed ends as U+FFFD.
  const std::string_view whole =
      r.text.ends_with("\xef\xbf\xbd") ? std::string_view(r.text).substr(0, r.text.size() - 3) : r.text;
  EXPECT_TRUE(all.text.starts_with(whole));
}

TEST_F(EngineTest, TheEndOfTextTokenEndsARequestUnlessItIsIgnored) {
  const auto engine = open();
  const TokenBias push{2, 100.0f};
  Request request = talk(10);
  request.ignore_eos = false;
  request.sampling.bias = {&push, 1};
  const Answer r = run(*engine, request);
  EXPECT_EQ(r.completion.finish, FinishReason::stop_token);
  EXPECT_EQ(r.ids, std::vector<std::int32_t>{2});
  EXPECT_EQ(r.text, "");
  request.ignore_eos = true;
  EXPECT_EQ(run(*engine, request).ids.size(), 10u);
}

/// Stop strings chosen from what the model says anyway, across tokens: all before them, nothing of them.
TEST_F(EngineTest, StopStringsCutTheStreamExactly) {
  const auto engine = open();
  int across_tokens = 0;
  test::TinyRandom random(3);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Answer all = run(*engine, talk(24, seed));
    ASSERT_GT(all.text.size(), 8u);
    const std::size_t at = random.below(all.text.size() - 4);
    const std::size_t length = 1 + random.below(4);
    const std::string stop = test::whole_characters(all.text, at, at + length);
    const std::string_view stops[] = {"never said by anybody", stop};
    Request request = talk(24, seed);
    request.stop_strings = stops;
    const Answer r = run(*engine, request);
    ASSERT_EQ(r.completion.finish, FinishReason::stop_string) << seed;
    ASSERT_EQ(r.text, all.text.substr(0, all.text.find(stop))) << seed;
    ASSERT_EQ(r.finishes, std::vector{FinishReason::stop_string});
    across_tokens += length > 1 ? 1 : 0;
  }
  EXPECT_GT(across_tokens, 10);
}

TEST_F(EngineTest, AStopStringThatNeverComesHoldsNothingBackForGood) {
  const auto engine = open();
  const Answer all = run(*engine, talk(24));
  const std::string longer = test::whole_characters(all.text, all.text.size() / 2, all.text.size()) + "?";
  const std::string_view stops[] = {longer};
  Request request = talk(24);
  request.stop_strings = stops;
  const Answer r = run(*engine, request);
  EXPECT_EQ(r.completion.finish, FinishReason::length);
  EXPECT_EQ(r.text, all.text);
}

/// The end completes an unfinished character as U+FFFD, which may begin one stop string while another's
/// beginning is held back.
TEST_F(EngineTest, TheEndGivesOutAllThatStopStringsHeldBack) {
  const auto engine = open();
  int ends = 0;
  for (std::uint64_t seed = 0; seed < 200 && ends < 5; ++seed) {
    const Answer all = run(*engine, talk(12, seed));
    if (!all.text.ends_with("\xef\xbf\xbd") || all.text.size() < 4) continue;
    const std::size_t end = all.text.size() - 3;
    const std::string before = test::whole_characters(all.text, end - 1, end) + "never said";
    const std::string_view stops[] = {before, "\xef\xbf\xbdnever said"};
    Request request = talk(12, seed);
    request.stop_strings = stops;
    const Answer r = run(*engine, request);
    ASSERT_EQ(r.text, all.text) << seed;
    ASSERT_EQ(r.completion.finish, FinishReason::length);
    ++ends;
  }
  EXPECT_EQ(ends, 5);
}

TEST_F(EngineTest, ACallableThatSaysNoEndsTheRequest) {
  const auto engine = open();
  int calls = 0;
  const auto done = engine->generate(talk(24), [&](const Token&) { return ++calls < 3; });
  ASSERT_TRUE(done);
  EXPECT_EQ(done->finish, FinishReason::callback);
  EXPECT_EQ(done->generated_tokens, 3u);
  EXPECT_EQ(calls, 3) << "it is not called again";
  EXPECT_EQ(run(*engine, talk(4)).ids.size(), 4u);
}

TEST_F(EngineTest, AFullContextEndsTheRequest) {
  const auto engine = open({.context = 32});
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 20, 1);
  Request request = talk(1000);
  request.tokens = prompt;
  const Answer r = run(*engine, request);
  EXPECT_EQ(r.completion.finish, FinishReason::context);
  EXPECT_EQ(r.ids.size(), 13u) << "12 more positions, and the token that the last of them chose";
  const std::vector<std::int32_t> full = test::tiny_prompt(64, 32, 1);
  request.tokens = full;
  EXPECT_EQ(run(*engine, request).ids.size(), 1u);
  const std::vector<std::int32_t> long_prompt = test::tiny_prompt(64, 33, 1);
  request.tokens = long_prompt;
  expect_refused(*engine, request, Errc::capacity_exceeded);
}

TEST_F(EngineTest, ProgressIsWhatTheModelHasRead) {
  const auto engine = open({.slots = 1, .chunk = 16});
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 40, 1);
  Request request = talk(3);
  request.tokens = prompt;
  const auto id = engine->submit(request);
  const auto waiting = engine->submit(request);
  ASSERT_TRUE(id && waiting);
  EXPECT_EQ(engine->processed(*id), 0u);
  const auto listen = [](RequestId, const Token&) { return true; };
  for (const std::uint32_t read : {16u, 32u, 40u, 41u}) {
    ASSERT_EQ(*engine->step(listen), 2u);
    EXPECT_EQ(engine->processed(*id), read);
    EXPECT_EQ(engine->processed(*waiting), 0u);
  }
  ASSERT_EQ(*engine->step(listen), 1u);
  EXPECT_EQ(engine->processed(*id), 0u);
  ASSERT_EQ(*engine->step(listen), 1u);
  EXPECT_EQ(engine->processed(*waiting), 16u);
  engine->cancel(*waiting);
  ASSERT_EQ(*engine->step(listen), 0u);
  EXPECT_EQ(engine->processed(*waiting), 0u);
}

TEST_F(EngineTest, AStopTokenEndsAPrefillWithinAStep) {
  const auto engine = open({.chunk = 16, .thread_hook = two_in_turn()});
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 100, 1);
  Request request = talk(8);
  request.tokens = prompt;
  std::uint64_t asked = 0, stop_at = ~std::uint64_t{0};
  const test::Stop stop(std::function<bool()>([&] { return ++asked >= stop_at; }));
  const auto whole_run = engine->generate(request, [](const Token&) { return true; }, stop);
  ASSERT_TRUE(whole_run && whole_run->generated_tokens == 8u);
  const std::uint64_t whole = asked;
  // In the third of seven prefill steps; whoever is last at a fence asks.
  asked = 0;
  stop_at = whole / 15 * 2 + 3;
  bool said_anything = false;
  const auto done = engine->generate(
      request,
      [&](const Token& token) {
        said_anything = said_anything || token.id != kNoToken;
        return true;
      },
      stop);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->finish, FinishReason::cancelled);
  EXPECT_EQ(done->generated_tokens, 0u);
  EXPECT_FALSE(said_anything);
  EXPECT_LE(asked, stop_at + 2) << "no instruction after the one that ran";
  EXPECT_EQ(run(*engine, request).ids.size(), 8u) << "the slot is clean again";
}

TEST_F(EngineTest, AStopTokenEndsDecodingWithinAStep) {
  const auto engine = open();
  std::stop_source source;
  std::vector<std::int32_t> ids;
  std::vector<FinishReason> finishes;
  const auto done = engine->generate(
      talk(24),
      [&](const Token& token) {
        if (token.id != kNoToken) ids.push_back(token.id);
        if (token.finish != FinishReason::none) finishes.push_back(token.finish);
        if (ids.size() == 5) source.request_stop();
        return true;
      },
      source.get_token());
  ASSERT_TRUE(done);
  EXPECT_EQ(done->finish, FinishReason::cancelled);
  EXPECT_EQ(ids.size(), 5u);
  EXPECT_EQ(finishes, std::vector{FinishReason::cancelled});

  std::stop_source before;
  before.request_stop();
  const auto none =
      engine->generate(talk(24), [](const Token& token) { return token.id == kNoToken; }, before.get_token());
  ASSERT_TRUE(none);
  EXPECT_EQ(none->finish, FinishReason::cancelled);
  EXPECT_EQ(none->generated_tokens, 0u);
}

TEST_F(EngineTest, CancelEndsARequestInASlotAndOneThatWaits) {
  const auto engine = open({.slots = 1});
  const auto first = engine->submit(talk(100));
  const auto second = engine->submit(talk(100));
  ASSERT_TRUE(first && second);
  std::vector<std::pair<RequestId, FinishReason>> ends;
  std::size_t tokens = 0;
  const auto listen = [&](RequestId id, const Token& token) {
    tokens += token.id != kNoToken ? 1 : 0;
    if (token.finish != FinishReason::none) ends.emplace_back(id, token.finish);
    return true;
  };
  for (int i = 0; i < 3; ++i) ASSERT_EQ(*engine->step(listen), 2u);
  EXPECT_EQ(tokens, 3u);
  engine->cancel(*second);
  engine->cancel(*first);
  ASSERT_EQ(*engine->step(listen), 0u);
  EXPECT_EQ(tokens, 3u);
  ASSERT_EQ(ends.size(), 2u);
  for (const auto& [id, finish] : ends) EXPECT_EQ(finish, FinishReason::cancelled);
  // Too late and unknown ids are no error and block nothing.
  engine->cancel(*first);
  engine->cancel(RequestId{12345});
  EXPECT_EQ(run(*engine, talk(4)).ids.size(), 4u);
}

TEST_F(EngineTest, GenerateRunsAlone) {
  const auto engine = open({.slots = 2});
  ASSERT_TRUE(engine->submit(talk(3)));
  const auto done = engine->generate(talk(3), [](const Token&) { return true; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), Errc::invalid_argument);
  while (*engine->step([](RequestId, const Token&) { return true; }) != 0) {
  }
  EXPECT_EQ(run(*engine, talk(3)).ids.size(), 3u);
}

TEST_F(EngineTest, ACallableMaySubmitAndCancelAndNothingElse) {
  const std::vector<std::int32_t> expected = run(*open(), talk(6)).ids;
  const auto engine = open({.slots = 3});
  const auto first = engine->submit(talk(6));
  const auto second = engine->submit(talk(6));
  ASSERT_TRUE(first && second);
  const std::int32_t tokens[] = {3, 4, 5};
  const auto refused = [](const auto& r) { return !r && r.error().code() == Errc::invalid_argument; };
  std::map<RequestId, std::vector<std::int32_t>> heard;
  std::optional<RequestId> third;
  const auto hear = [&](RequestId id, const Token& token) {
    if (token.id != kNoToken) heard[id].push_back(token.id);
    EXPECT_TRUE(refused(engine->step([](RequestId, const Token&) { return true; })));
    EXPECT_TRUE(refused(engine->generate(talk(2), [](const Token&) { return true; })));
    EXPECT_TRUE(refused(engine->evaluate(tokens, {}, [](std::uint32_t, std::span<const float>) {})));
    EXPECT_TRUE(refused(engine->perplexity("to be or not")));
    EXPECT_TRUE(refused(engine->save(*second)));
    EXPECT_TRUE(refused(engine->restore({}, talk(2))));
    if (!third) {
      const auto more = engine->submit(talk(6));
      EXPECT_TRUE(more);
      if (more) third = *more;
    }
    return true;
  };
  while (*engine->step(hear) != 0) {
  }
  ASSERT_TRUE(third);
  for (const RequestId id : {*first, *second, *third}) EXPECT_EQ(heard[id], expected);
  EXPECT_TRUE(engine->perplexity("to be or not"));
}

TEST_F(EngineTest, RequestsThatCannotRunAreRefused) {
  const auto engine = open({.penalty_window = 16, .bias_entries = 2});
  const Answer before = run(*engine, talk(6));
  const auto with = [&](auto change) {
    Request r = talk(6);
    change(r);
    return r;
  };
  const std::int32_t bad[] = {5, -1};
  const std::int32_t large[] = {1 << 20};
  expect_refused(*engine, with([&](Request& r) { r.tokens = bad; }), Errc::invalid_argument);
  expect_refused(*engine, with([&](Request& r) { r.tokens = large; }), Errc::invalid_argument);
  for (const std::int32_t id : {-7, 1 << 20})
    expect_refused(*engine, with([&](Request& r) { r.stop_tokens[3] = id; }), Errc::invalid_argument);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  struct Number {
    float Sampling::* field;
    std::string_view name, range;
    std::vector<float> bad;
  };
  const float inf = std::numeric_limits<float>::infinity();
  for (const Number& number :
       {Number{&Sampling::temperature, "temperature", "0 or more, and finite", {nan, -nan, inf, -inf, -1.0f, -1e-9f}},
        Number{&Sampling::top_p, "top_p", "above 0 and at most 1", {nan, inf, -inf, 0.0f, -0.5f, 1.0625f, 2.0f}},
        Number{&Sampling::min_p, "min_p", "0 to 1", {nan, inf, -inf, -0.25f, 1.0625f}},
        Number{
            &Sampling::repetition_penalty, "repetition_penalty", "above 0, and finite", {nan, inf, -inf, 0.0f, -1.0f}},
        Number{&Sampling::frequency_penalty, "frequency_penalty", "a finite number", {nan, inf, -inf}},
        Number{&Sampling::presence_penalty, "presence_penalty", "a finite number", {nan, inf, -inf}}})
    for (const float bad_value : number.bad) {
      const Request r = with([&](Request& request) { request.sampling.*number.field = bad_value; });
      expect_refused(*engine, r, Errc::invalid_argument);
      const auto refused = engine->submit(r);
      ASSERT_FALSE(refused);
      std::ostringstream found;
      found << number.name << " is " << bad_value << ", expected " << number.range;
      EXPECT_EQ(refused.error().text(), found.str());
    }
  expect_refused(*engine, with([](Request& r) { r.sampling.penalty_window = 17, r.sampling.presence_penalty = 1.0f; }),
                 Errc::invalid_argument);
  const TokenBias biases[3]{};
  expect_refused(*engine, with([&](Request& r) { r.sampling.bias = biases; }), Errc::invalid_argument);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const TokenBias& b :
       {TokenBias{-1, 1.0f}, TokenBias{1 << 20, 1.0f}, TokenBias{5, nan}, TokenBias{5, -nan}, TokenBias{5, infinity}})
    expect_refused(*engine, with([&](Request& r) { r.sampling.bias = {&b, 1}; }), Errc::invalid_argument);
  expect_refused(*engine, with([](Request& r) { r.log_probabilities = 1u << 30; }), Errc::invalid_argument);
  const std::string_view empty[] = {""};
  expect_refused(*engine, with([&](Request& r) { r.stop_strings = empty; }), Errc::invalid_argument);
  EXPECT_EQ(run(*engine, talk(6)).ids, before.ids) << "the engine works as before";

  const test::ModelFile no_text = test::tiny_model({});
  const auto mute = open({}, no_text);
  EXPECT_EQ(mute->tokenizer(), nullptr);
  expect_refused(*mute, talk(4), Errc::unsupported_tokenizer);
  expect_refused(*mute, Request{}, Errc::unsupported_tokenizer);
}

TEST_F(EngineTest, ABiasOfMinusInfinityIsNever) {
  const auto engine = open();
  Request request = talk(24);
  for (const float temperature : {0.0f, 1.5f}) {
    request.sampling.temperature = temperature;
    std::vector<TokenBias> never;
    for (int round = 0; round < 20; ++round) {
      request.sampling.bias = never;
      const Answer r = run(*engine, request);
      ASSERT_EQ(r.ids.size(), 24u);
      for (const TokenBias& b : never) ASSERT_EQ(std::count(r.ids.begin(), r.ids.end(), b.token), 0) << b.token;
      never.push_back({r.ids[0], -std::numeric_limits<float>::infinity()});
    }
  }
}

/// The text model with tokens that it never says.
template <std::int32_t... Ids> test::ModelFile suppressing() {
  return test::tiny_model({.text = true, .seed = 5, .more = [](test::GgufWriter& w) {
                             w.add_array("tokenizer.ggml.suppress_tokens", std::vector<std::int32_t>{Ids...});
                           }});
}

TEST_F(EngineTest, TokensThatAFileSuppressesAreNeverSaid) {
  const auto said = [](HostEngine& engine, Request request, std::int32_t token) {
    std::ptrdiff_t count = 0;
    for (const float temperature : {0.0f, 1.5f}) {
      request.sampling.temperature = temperature;
      const Answer r = run(engine, request);
      EXPECT_EQ(r.ids.size(), 24u);
      count += std::count(r.ids.begin(), r.ids.end(), token);
    }
    return count;
  };
  const test::ModelFile file = suppressing<100, 97>();
  const auto engine = open({.bias_entries = 2}, file);
  const auto plain = open({.bias_entries = 2});
  Request request = talk(24);
  // What a request asks for counts, but for those tokens.
  const TokenBias push[3]{{100, 1e3f}, {97, 1e3f}};
  request.sampling.bias = {push, 2};
  EXPECT_EQ(said(*engine, request, 100) + said(*engine, request, 97), 0);
  EXPECT_EQ(said(*plain, request, 100) + said(*plain, request, 97), 48);
  request.sampling.bias = push;
  expect_refused(*engine, request, Errc::invalid_argument);
  for (const test::ModelFile& bad : {suppressing<-1>(), suppressing<1 << 20>()}) {
    const auto wrong = test::open_engine(On::cpu, bad.bytes(), {});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code(), Errc::invalid_metadata) << wrong.error().text();
  }
}

TEST_F(EngineTest, AnEmptyPromptIsRefusedUnlessTheVocabularyBeginsTexts) {
  const auto engine = open();
  Request request = talk(3);
  request.prompt = "";
  EXPECT_EQ(run(*engine, request).completion.prompt_tokens, 1u) << "the token that begins a text";
}

TEST_F(EngineTest, OptionsOutsideTheirRangeAreRefused) {
  const auto refused = [](auto change, Errc code = Errc::invalid_argument) {
    EngineOptions options;
    change(options);
    for (const On on : {On::cpu, On::reference}) {
      const auto engine = test::open_engine(on, text_model().bytes(), options);
      ASSERT_FALSE(engine);
      EXPECT_EQ(engine.error().code(), code) << engine.error().text();
    }
  };
  refused([](EngineOptions& o) { o.slots = 0; });
  refused([](EngineOptions& o) { o.slots = 5000; });
  refused([](EngineOptions& o) { o.chunk = 0; });
  refused([](EngineOptions& o) { o.chunk = 8; });
  refused([](EngineOptions& o) { o.chunk = 24; });
  refused([](EngineOptions& o) { o.step_latency_ns = 1, o.clock = {}; });
  refused([](EngineOptions& o) { o.page_times = true, o.clock = {}; });
  refused([](EngineOptions& o) { o.chunk = 16384; });
  refused([](EngineOptions& o) { o.kv_type = DType::q5_0; });
  refused([](EngineOptions& o) { o.kv_type = DType::si32; });
  for (const unsigned number : {60u, 250u, 255u})
    refused([&](EngineOptions& o) { o.kv_type = static_cast<DType>(number); });
  refused([](EngineOptions& o) { o.numerics.act = static_cast<ActPolicy>(2); });
  refused([](EngineOptions& o) { o.validation = static_cast<Validation>(3); });
  refused([](EngineOptions& o) { o.threads = 0; });
  refused([](EngineOptions& o) { o.threads = 2000; });
}

TEST_F(EngineTest, AnEmptyAllocatorIsTheSystems) {
  EngineOptions options;
  options.allocator = {};
  const auto engine = test::open_engine(On::cpu, text_model().bytes(), options);
  ASSERT_TRUE(engine) << engine.error().text();
  EXPECT_EQ(run(**engine, talk(5)).ids.size(), 5u);
}

/// Reads a file of bytes that `bytes` views.
model::GgufReader reader_of(const std::span<const std::byte>& bytes) {
  model::GgufReader reader;
  reader.context = const_cast<std::span<const std::byte>*>(&bytes);
  reader.size = [](void* context) noexcept -> std::uint64_t {
    return static_cast<std::span<const std::byte>*>(context)->size();
  };
  reader.read = [](void* context, std::uint64_t offset, std::size_t count, std::byte* to) noexcept {
    std::memcpy(to, static_cast<std::span<const std::byte>*>(context)->data() + offset, count);
    return true;
  };
  return reader;
}

TEST_F(EngineTest, OpensAPathAMemoryAndAReader) {
  const std::span<const std::byte> bytes = text_model().bytes();
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("zrt_engine_" + std::to_string(std::bit_cast<std::uintptr_t>(bytes.data())) + ".gguf"))
                               .string();
  {
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  const auto mapped = test::open_engine(On::cpu, std::string_view(path));
  ASSERT_TRUE(mapped) << mapped.error().text();
  const auto read = test::open_engine(On::cpu, reader_of(bytes));
  ASSERT_TRUE(read) << read.error().text();
  const Answer expected = run(*open(), talk(10));
  EXPECT_EQ(run(**mapped, talk(10)).ids, expected.ids);
  EXPECT_EQ(run(**read, talk(10)).ids, expected.ids);
  std::filesystem::remove(path);

  const auto missing = test::open_engine(On::cpu, std::string_view("/nonexistent/model.gguf"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Errc::io_error);
}

TEST_F(EngineTest, MemoryBeginsAtAMultipleOfFour) {
  const std::span<const std::byte> bytes = text_model().bytes();
  const Answer expected = run(*open(), talk(10));
  std::vector<std::uint64_t> room(bytes.size() / 8 + 3);
  for (std::size_t past = 0; past <= 12; ++past) {
    std::byte* at = reinterpret_cast<std::byte*>(room.data()) + past;
    std::memcpy(at, bytes.data(), bytes.size());
    for (const On on : {On::cpu, On::reference}) {
      const auto engine = test::open_engine(on, std::span<const std::byte>(at, bytes.size()));
      ASSERT_EQ(engine.has_value(), past % 4 == 0) << past;
      if (engine) {
        EXPECT_EQ(run(**engine, talk(10)).ids, expected.ids) << past;
        continue;
      }
      EXPECT_EQ(engine.error().code(), Errc::invalid_argument);
      EXPECT_NE(engine.error().text().find(" past a multiple of 4,"), std::string_view::npos) << engine.error().text();
    }
  }
}

TEST_F(EngineTest, FusedTensorsAreReadThroughAReaderToo) {
  const test::ModelFile file = test::tiny_model({.family = "phi3", .weights = DType::q8_0});
  const std::span<const std::byte> bytes = file.bytes();
  const auto logits = [](const auto& engine) {
    std::vector<float> all;
    if (!engine) {
      ADD_FAILURE() << engine.error().text();
      return all;
    }
    EXPECT_TRUE((*engine)->evaluate(test::tiny_prompt(64, 9, 1), {}, [&](std::uint32_t, std::span<const float> row) {
      all.insert(all.end(), row.begin(), row.end());
    }));
    return all;
  };
  const EngineOptions options{.logit_rows = 16};
  const std::vector<float> expected = logits(test::open_engine(On::cpu, bytes, options));
  EXPECT_EQ(expected.size(), 9u * 64u);
  EXPECT_EQ(logits(test::open_engine(On::cpu, reader_of(bytes), options)), expected);
}

TEST_F(EngineTest, FilesThatAreNoModelAreRefused) {
  const auto refused = [](const test::ModelFile& file, Errc code) {
    const auto engine = test::open_engine(On::cpu, file.bytes());
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().code(), code) << engine.error().text();
  };
  refused(test::tiny_model({.family = "nosuch"}), Errc::unknown_architecture);
  const auto unknown = test::open_engine(On::cpu, test::tiny_model({.family = "nosuch"}).bytes());
  const std::string known(unknown.error().text());
  const std::size_t llama = known.find(" llama ");
  EXPECT_NE(llama, std::string::npos) << known;
  EXPECT_EQ(known.find(" llama", llama + 1), std::string::npos) << "two families share the name: " << known;
  // qwen3 has no biases: a file that has some is not what its program computes.
  refused(test::tiny_model({.family = "qwen3", .biases = true}), Errc::unimplemented);
  refused(test::tiny_model({.family = "qwen2"}), Errc::missing_weight);  // no biases
  refused(test::ModelFile(test::GgufWriter().build()), Errc::missing_metadata);
  refused(test::tiny_model({.kv_heads = 3}), Errc::invalid_metadata);
  // A file that counts experts is read by the family that has some.
  refused(test::tiny_model({.more = [](test::GgufWriter& w) { w.add("llama.expert_count", 4u); }}),
          Errc::missing_metadata);
  refused(test::tiny_model({.family = "qwen3", .experts = 4}), Errc::unimplemented);
  // Factors of rope are llama's.
  refused(test::tiny_model({.family = "qwen3", .rope = test::TinyRope::factors}), Errc::unimplemented);
}

TEST_F(EngineTest, AWindowOfAttentionIsRefusedWhereASlotIsLonger) {
  const test::ModelFile file = test::tiny_model(
      {.more = [](test::GgufWriter& w) { w.add("llama.attention.sliding_window", std::uint32_t{64}); }});
  const auto engine = test::open_engine(On::cpu, file.bytes());
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code(), Errc::unimplemented);
  EXPECT_NE(engine.error().text().find("expected 0 or at least the 128 positions of a slot"), std::string_view::npos)
      << engine.error().text();
  EngineOptions options;
  options.context = 64;
  EXPECT_TRUE(test::open_engine(On::cpu, file.bytes(), options));
}

TEST_F(EngineTest, AVocabularyOfAnotherSizeThanTheEmbeddingIsRefused) {
  for (const int spare : {-32, -1, 1, 32}) {
    const test::ModelFile file = test::tiny_model({.text = true, .spare_rows = spare});
    for (const On on : {On::cpu, On::reference}) {
      const auto engine = test::open_engine(on, file.bytes());
      ASSERT_FALSE(engine) << spare;
      EXPECT_EQ(engine.error().code(), Errc::invalid_metadata);
      const std::string text(engine.error().text());
      for (const std::string& word :
           {std::string("tokens has 288"), "token_embd.weight has " + std::to_string(288 + spare)})
        EXPECT_NE(text.find(word), std::string::npos) << text;
    }
  }
  // Without a vocabulary there is nothing to compare with.
  EXPECT_TRUE(test::open_engine(On::cpu, test::tiny_model({.spare_rows = 5}).bytes()));
}

TEST_F(EngineTest, KnownWeightTypesThatAreNotComputedAreNamed) {
  const test::ModelFile file = test::tiny_model({.weights = DType::q8_1});
  for (const On on : {On::cpu, On::reference}) {
    const auto engine = test::open_engine(on, file.bytes());
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().code(), Errc::unsupported_weight_type);
    const std::string text(engine.error().text());
    EXPECT_NE(text.find("token_embd.weight"), std::string::npos) << text;
    EXPECT_NE(text.find("q8_1"), std::string::npos) << text;
  }
}

TEST_F(EngineTest, EvaluateChecksWhatItIsGiven) {
  const auto engine = open({.slots = 1, .context = 32});
  const auto refused = [&](std::vector<std::int32_t> tokens, std::vector<std::int32_t> decode, Errc code) {
    const auto r = engine->evaluate(tokens, decode, [](std::uint32_t, std::span<const float>) {});
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), code) << r.error().text();
  };
  refused({}, {}, Errc::invalid_argument);
  refused({-1}, {}, Errc::invalid_argument);
  refused({1, 1 << 20}, {}, Errc::invalid_argument);
  refused({1}, {-7}, Errc::invalid_argument);
  refused(std::vector<std::int32_t>(30, 1), {1, 2, 3}, Errc::capacity_exceeded);
  ASSERT_TRUE(engine->submit(talk(3)));
  (void)engine->step([](RequestId, const Token&) { return true; });
  refused({1}, {}, Errc::capacity_exceeded);  // the only slot is taken
  while (*engine->step([](RequestId, const Token&) { return true; }) != 0) {
  }
  std::size_t rows = 0;
  EXPECT_TRUE(engine->evaluate(std::vector<std::int32_t>{1, 2}, std::vector<std::int32_t>{3},
                               [&](std::uint32_t position, std::span<const float>) { EXPECT_EQ(position, rows++); }));
  EXPECT_EQ(rows, 3u);
}

TEST_F(EngineTest, LogProbabilitiesAreThoseOfTheLogits) {
  const auto engine = open();
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 12, 3);
  std::vector<float> logits;
  ASSERT_TRUE(engine->evaluate(
      prompt, {}, [&](std::uint32_t, std::span<const float> row) { logits.assign(row.begin(), row.end()); }));
  double top = -1e30, sum = 0;
  for (float x : logits) top = std::max(top, double{x});
  for (float x : logits) sum += std::exp(double{x} - top);
  Request request;
  request.tokens = prompt;
  request.max_tokens = 1;
  request.ignore_eos = true;
  request.log_probabilities = 5;
  int tokens = 0;
  ASSERT_TRUE(engine->generate(request, [&](const Token& token) {
    if (token.id == kNoToken) return true;
    ++tokens;
    EXPECT_EQ(token.best.size(), 5u);
    EXPECT_EQ(token.best[0].id, token.id) << "greedy";
    EXPECT_EQ(token.best[0].log_probability, token.log_probability);
    for (std::size_t i = 0; i < token.best.size(); ++i) {
      const double expected = double{logits[static_cast<std::size_t>(token.best[i].id)]} - top - std::log(sum);
      EXPECT_NEAR(token.best[i].log_probability, expected, 2e-6 * (1.0 - expected));
      EXPECT_LE(token.best[i].log_probability, token.best[i > 0 ? i - 1 : 0].log_probability);
    }
    return true;
  }));
  EXPECT_EQ(tokens, 1);
}

TEST_F(EngineTest, TheLogHearsWhatWasOpened) {
  std::string heard;
  EngineOptions options;
  options.log = {&heard, [](void* context, zrt::LogLevel, std::string_view text) noexcept {
                   static_cast<std::string*>(context)->append(text).append("\n");
                 }};
  const auto engine = open(options);
  EXPECT_NE(heard.find("opened on cpu"), std::string::npos) << heard;
  EXPECT_NE(heard.find("1 slots of"), std::string::npos) << heard;
}

TEST_F(EngineTest, AContextBeyondTheModelsAndWorkersBeyondTheCoresAreWarnedOf) {
  std::string heard;
  EngineOptions options;
  options.log = {&heard, [](void* context, zrt::LogLevel level, std::string_view text) noexcept {
                   if (level == LogLevel::warn) static_cast<std::string*>(context)->append(text).append("\n");
                 }};
  options.context = 128;
  (void)open(options);
  EXPECT_EQ(heard, "");
  options.context = 129;
  (void)open(options);
  EXPECT_EQ(heard,
            "the context has 129 positions, but the model was trained for 128: text beyond them may make no sense\n");
  heard.clear();
  options.context = 0;
  options.threads = 1024;
  const auto many = open(options);
  const std::string cores = std::to_string(exec::usable_cores());
  EXPECT_EQ(heard, "1024 workers on " + cores + " usable cores: " + cores + " run\n");
  EXPECT_EQ(run(*many, talk(20)).ids, run(*open(), talk(20)).ids);
  heard.clear();
  // A host's own threads are its own choice; that they are many is said all the same.
  options.threads = 1;
  options.thread_hook = two_in_turn();
  options.thread_hook.workers = 1000;
  options.thread_hook.run = [](void*, ThreadHook::Work work, void* argument) noexcept { work(argument, 0, 1000); };
  (void)open(options);
  EXPECT_EQ(heard, "1000 workers on " + cores + " usable cores: 1000 run and wait for each other; fewer are faster\n");
}

/// A model in which token 9 stands for NaNs, so that a prompt with it has logits without a number.
test::ModelFile model_with_a_bad_token() {
  const test::ModelFile good = test::tiny_model({});
  std::vector<std::byte> bytes(good.bytes().begin(), good.bytes().end());
  const auto opened = model::GgufFile::open(good.bytes(), system_allocator());
  EXPECT_TRUE(opened);
  const std::span<const std::byte> table = opened->data(*opened->find_tensor("token_embd.weight"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(&bytes[static_cast<std::size_t>(table.data() - good.bytes().data()) + 9 * 32 * sizeof nan], &nan,
              sizeof nan);
  return test::ModelFile(bytes);
}

TEST_F(EngineTest, ARequestWhoseDataBreaksAContractFailsAlone) {
  const test::ModelFile file = model_with_a_bad_token();
  std::vector<std::int32_t> prompts[]{test::tiny_prompt(64, 20, 3), test::tiny_prompt(64, 33, 4), {1, 9, 2}};
  for (std::int32_t& id : prompts[0]) id = id == 9 ? 10 : id;
  for (std::int32_t& id : prompts[1]) id = id == 9 ? 10 : id;
  std::vector<Request> requests(3);
  for (std::size_t i = 0; i < 3; ++i) {
    requests[i].tokens = prompts[i];
    requests[i].max_tokens = 12;
    // A token that is chosen must not be the bad one.
    static constexpr TokenBias kNever[] = {{9, -std::numeric_limits<float>::infinity()}};
    requests[i].sampling.bias = kNever;
  }
  requests[1].sampling.temperature = 1.0f;
  for (const On on : {On::cpu, On::reference})
    for (const float temperature : {0.0f, 0.7f}) {
      requests[2].sampling.temperature = temperature;
      const auto engine = test::open_engine(on, file.bytes(), {.slots = 3, .context = 64, .chunk = 16});
      ASSERT_TRUE(engine);
      const std::vector<std::int32_t> solo[]{run(**engine, requests[0]).ids, run(**engine, requests[1]).ids};
      ASSERT_EQ(solo[0].size(), 12u);
      std::map<RequestId, std::vector<std::int32_t>> heard;
      std::vector<Error> failures;
      const auto listen = [&](RequestId id, const Token& token) {
        if (token.id != kNoToken) heard[id].push_back(token.id);
        EXPECT_EQ(token.error != nullptr, token.finish == FinishReason::failed);
        if (token.error != nullptr) failures.push_back(*token.error);
        return true;
      };
      const auto submit = [&](std::size_t i) { return *(*engine)->submit(requests[i]); };
      const RequestId first = submit(0);
      ASSERT_TRUE((*engine)->step(listen));
      const RequestId bad = submit(2);
      const RequestId second = submit(1);
      for (std::size_t left = 1; left != 0;) {
        const auto r = (*engine)->step(listen);
        ASSERT_TRUE(r) << r.error().text();
        left = *r;
      }
      EXPECT_EQ(heard[first], solo[0]);
      EXPECT_EQ(heard[second], solo[1]);
      EXPECT_FALSE(heard.contains(bad));
      ASSERT_EQ(failures.size(), 1u);
      EXPECT_EQ(failures[0].code(), Errc::spec_violation);
      EXPECT_NE(failures[0].text().find("(sample) met data outside its contract"), std::string_view::npos)
          << failures[0].text();
      // Its pages are clean for whoever comes next, and alone it is an error of the call.
      const auto alone = (*engine)->generate(requests[2], [](const Token&) { return true; });
      ASSERT_FALSE(alone);
      EXPECT_EQ(alone.error().text(), failures[0].text());
      EXPECT_EQ(run(**engine, requests[1]).ids, solo[1]);
    }
}

/// As peers count it: windows of the context, each begun anew and scored over its second half.
TEST_F(EngineTest, PerplexityIsThatOfTheLogitsInWindows) {
  const auto engine = open({.context = 48});
  std::string text;
  while (text.size() < 200) text += "the king of the ab. ";
  const auto found = engine->perplexity(text);
  ASSERT_TRUE(found) << found.error().text();
  const auto ids = engine->tokenizer()->encode(text, {.add_special = true, .parse_special = false});
  ASSERT_TRUE(ids);
  ASSERT_GT(ids->size(), 100u);
  double total = 0;
  std::size_t scored = 0;
  for (std::size_t at = 0; at + 48 <= ids->size(); at += 48) {
    std::vector<std::int32_t> window(ids->data() + at, ids->data() + at + 48);
    window[0] = 1;
    ASSERT_TRUE(engine->evaluate(window, {}, [&](std::uint32_t position, std::span<const float> row) {
      if (position < 24 || position + 1 >= window.size()) return;
      double top = -1e30, sum = 0;
      for (float x : row) top = std::max(top, double{x});
      for (float x : row) sum += std::exp(double{x} - top);
      total += top + std::log(sum) - double{row[static_cast<std::size_t>(window[position + 1])]};
      ++scored;
    }));
  }
  ASSERT_GT(scored, 40u);
  EXPECT_NEAR(*found, std::exp(total / static_cast<double>(scored)), 1e-5 * *found);
  EXPECT_FALSE(engine->perplexity(""));
}

}  // namespace
}  // namespace engine_test
