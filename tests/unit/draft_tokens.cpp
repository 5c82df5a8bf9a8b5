// SPDX-License-Identifier: Apache-2.0
// tests/unit/draft_tokens.cpp: guessed tokens give the same answers in fewer steps.
#include <zrt/serve/draft_length.hpp>
#include <zrt/serve/ngram_draft.hpp>

#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <map>
#include <string>
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

TEST(DraftLength, GrowsWithLuckAndRestsWithoutIt) {
  serve::DraftLength length;
  EXPECT_EQ(length.next(), 2u);
  length.learn(2, 2);
  EXPECT_EQ(length.next(), 4u);
  length.learn(4, 3);
  EXPECT_EQ(length.next(), 3u);
  std::vector<std::uint32_t> pauses;
  for (int wrong = 0; wrong < 8; ++wrong) {
    length.learn(1, 0);
    pauses.push_back(0);
    while (length.next() == 0) ++pauses.back();
  }
  EXPECT_EQ(pauses, (std::vector<std::uint32_t>{1, 2, 4, 8, 16, 32, 64, 64}));
  length.learn(1, 1);
  length.learn(2, 0);
  EXPECT_EQ(length.next(), 0u);
  EXPECT_EQ(length.next(), 1u) << "one right guess makes the next pause short again";
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
    return GetParam().window == 0 && !test::is_recurrent(GetParam(), 0) && !test::is_recurrent(GetParam(), 1);
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
  EXPECT_GT(used->accepted_drafts, 0u);
  EXPECT_LE(steps, plain_steps);
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
