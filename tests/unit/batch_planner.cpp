// SPDX-License-Identifier: Apache-2.0
// tests/unit/batch_planner.cpp: what goes into a step: generated tokens first, then cuts of prompts.
#include <zrt/serve/batch_planner.hpp>

#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <deque>
#include <utility>
#include <vector>

namespace batch_planner_test {
namespace {

using namespace zrt;
using serve::BatchPlanner;
using serve::Sequence;

Sequence sequence(std::uint32_t slot, std::uint32_t prompt, std::uint32_t generated, std::uint32_t processed) {
  Sequence s(system_allocator());
  s.slot = slot;
  for (std::uint32_t i = 0; i < prompt + generated; ++i) EXPECT_TRUE(s.tokens.push_back(slot * 1000 + i));
  s.prompt_tokens = prompt;
  s.processed = processed;
  s.sampling.active = 1;
  return s;
}

constexpr std::uint32_t kAll[] = {~0u, ~0u};

BatchPlanner planner(const serve::BatchLimits& limits) {
  auto p = BatchPlanner::make(limits, system_allocator());
  EXPECT_TRUE(p);
  return std::move(*p);
}

TEST(BatchPlanner, DraftsStandBehindTheLastTokenAndEachHasARow) {
  BatchPlanner p = planner({.slots = 2, .chunk = 16, .prefill_rows = 4, .history = 2});
  Sequence drafts = sequence(0, 3, 2, 4);
  Sequence decode = sequence(1, 4, 1, 4);
  drafts.sampling.history = 2;
  ASSERT_TRUE(drafts.tokens.reserve(7));
  drafts.tokens.data()[5] = 50;
  drafts.tokens.data()[6] = 60;
  drafts.drafts = 2;
  Sequence* all[] = {&drafts, &decode};
  const std::uint32_t cuts[] = {3, 1};
  const exec::Batch batch = p.plan(all, nullptr, cuts);
  EXPECT_TRUE(batch.prefill) << "it has more tokens than slots";
  const auto list = [](Span<const std::uint32_t> values) { return std::vector(values.begin(), values.end()); };
  EXPECT_EQ(list(batch.tokens), (std::vector<std::uint32_t>{4, 50, 60, 1004}));
  EXPECT_EQ(list(batch.positions), (std::vector<std::uint32_t>{4, 5, 6, 4}));
  EXPECT_EQ(list(batch.rows), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(batch.requests[i].active, 1u);
    EXPECT_EQ(batch.requests[i].generated, 2 + i) << "the random numbers of its place";
  }
  EXPECT_EQ(std::vector(batch.history.begin(), batch.history.begin() + 6), (std::vector{3, 4, 4, 50, 50, 60}));
}

TEST(BatchPlanner, GeneratedTokensComeFirstAndPromptsFillTheRest) {
  BatchPlanner p = planner({.slots = 4, .chunk = 64, .prefill_rows = 4});
  Sequence prompt = sequence(0, 100, 0, 0);
  Sequence decode = sequence(1, 10, 3, 12);
  Sequence short_prompt = sequence(2, 5, 0, 0);
  Sequence other = sequence(3, 7, 1, 7);
  Sequence* all[] = {&prompt, &decode, &short_prompt, &other};
  const std::uint32_t cuts[] = {48, 0, 5, 0};
  const exec::Batch batch = p.plan(all, nullptr, cuts);
  EXPECT_TRUE(batch.prefill);
  ASSERT_EQ(batch.tokens.size(), 2u + 48u + 5u);
  EXPECT_EQ(batch.slots[0], 1u);
  EXPECT_EQ(batch.positions[0], 12u);
  EXPECT_EQ(batch.tokens[0], 1012u);
  EXPECT_EQ(batch.slots[1], 3u);
  for (std::uint32_t i = 0; i < 48; ++i) {
    EXPECT_EQ(batch.slots[2 + i], 0u);
    EXPECT_EQ(batch.positions[2 + i], i);
  }
  EXPECT_EQ(std::vector<std::uint32_t>(batch.rows.begin(), batch.rows.end()), (std::vector<std::uint32_t>{0, 1, 54}))
      << "a chunk that does not end its prompt asks for no logits";
  EXPECT_EQ(prompt.processed, 48u);
  EXPECT_EQ(decode.processed, 13u);
  EXPECT_EQ(short_prompt.processed, 5u);

  ASSERT_TRUE(decode.tokens.push_back(1013));
  ASSERT_TRUE(other.tokens.push_back(3008));
  ASSERT_TRUE(short_prompt.tokens.push_back(2005));
  const std::uint32_t rest[] = {52, 0, 0, 0};
  const exec::Batch next = p.plan(all, nullptr, rest);
  EXPECT_EQ(next.tokens.size(), 3u + 52u);
  EXPECT_EQ(next.rows.size(), 4u);
  EXPECT_EQ(prompt.processed, 100u);
}

TEST(BatchPlanner, CutsThatAreDictatedAreMadeWithinTheLimits) {
  BatchPlanner p = planner({.slots = 4, .chunk = 64, .prefill_rows = 3});
  Sequence first = sequence(0, 100, 0, 0);
  Sequence decode = sequence(1, 10, 3, 12);
  Sequence second = sequence(2, 9, 0, 0);
  Sequence third = sequence(3, 60, 0, 0);
  const std::vector<Sequence*> all{&first, &decode, &second, &third};
  const auto parts = [](const exec::Batch& batch) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    for (const std::uint32_t slot : batch.slots) {
      if (found.empty() || found.back().first != slot) found.emplace_back(slot, 0);
      ++found.back().second;
    }
    return found;
  };
  using Parts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  // The planner of its own would give turns of 16.
  EXPECT_EQ(parts(p.plan(all, nullptr, std::vector<std::uint32_t>{7, 1, 3, 0})), (Parts{{1, 1}, {0, 7}, {2, 3}}));
  EXPECT_EQ(first.processed, 7u);
  EXPECT_EQ(third.processed, 0u);
  decode.processed = 12;
  // No more than is left, than a step has room for, and than there are rows.
  EXPECT_EQ(parts(p.plan(all, nullptr, std::vector<std::uint32_t>{62, 99, 50, 50})), (Parts{{1, 1}, {0, 62}, {2, 2}}));
  decode.processed = 12;
  EXPECT_EQ(parts(p.plan(all, nullptr, std::vector<std::uint32_t>{1, 1, 1, 60})), (Parts{{1, 1}, {0, 1}, {2, 1}}));
  decode.processed = 12;
  EXPECT_EQ(parts(p.plan(all, nullptr, std::vector<std::uint32_t>{0, 0, 9})), (Parts{{1, 1}, {2, 3}}));
}

TEST(BatchPlanner, AStepWithoutPromptTokensSaysSo) {
  BatchPlanner p = planner({.slots = 2, .chunk = 16, .prefill_rows = 2});
  Sequence a = sequence(0, 4, 1, 4);
  Sequence* all[] = {nullptr, &a};
  const exec::Batch batch = p.plan(all, nullptr, kAll);
  EXPECT_FALSE(batch.prefill);
  EXPECT_EQ(batch.tokens.size(), 1u);
  ASSERT_EQ(p.origins().size(), 1u);
  EXPECT_EQ(p.origins()[0].sequence, 1u);
  EXPECT_EQ(p.origins()[0].position, 4u);
  EXPECT_EQ(batch.requests[0].generated, 1u) << "counts from the prompt's end, whoever asks";
}

TEST(BatchPlanner, APromptWithAllRowsStaysWithinTheRows) {
  for (const std::uint32_t rows : {1u, 5u, 15u, 16u, 40u}) {
    BatchPlanner p = planner({.slots = 1, .chunk = 64, .prefill_rows = rows});
    Sequence s = sequence(0, 50, 0, 0);
    s.every_row = true;
    Sequence* all[] = {&s};
    std::uint32_t seen = 0;
    for (int step = 0; s.prompt_left() != 0; ++step) {
      ASSERT_LT(step, 60) << rows << " rows: the prompt does not move on";
      const exec::Batch batch = p.plan(all, nullptr, kAll);
      ASSERT_LE(batch.rows.size(), rows);
      ASSERT_EQ(batch.rows.size(), batch.tokens.size());
      for (const serve::RowOrigin& origin : p.origins()) EXPECT_EQ(origin.position, seen++);
      for (std::size_t i = 0; i < batch.requests.size(); ++i)
        EXPECT_EQ(batch.requests[i].active, p.origins()[i].position == 49 ? 1u : 0u);
    }
    EXPECT_EQ(seen, 50u);
  }
}

TEST(BatchPlanner, APromptThatIsToldHasRowsFromWhereItStopped) {
  BatchPlanner p = planner({.slots = 2, .chunk = 64, .prefill_rows = 5});
  Sequence told = sequence(0, 20, 0, 0);
  told.scored = 19;
  told.told = 7;
  Sequence plain = sequence(1, 30, 0, 0);
  Sequence* all[] = {&told, &plain};
  const std::uint32_t cuts[] = {11, 30};
  const exec::Batch batch = p.plan(all, nullptr, cuts);
  ASSERT_EQ(batch.rows.size(), 5u);
  EXPECT_EQ(batch.tokens.size(), 11u + 30u) << "the other has the row that is left";
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(p.origins()[i].position, 7 + i);
    EXPECT_EQ(batch.requests[i].active, 0u);
    EXPECT_EQ(batch.requests[i].reads_logits, 1u);
  }
  EXPECT_EQ(batch.requests[4].active, 1u);
  EXPECT_EQ(batch.requests[4].reads_logits, 0u);
  told.told = 11;
  Sequence* alone[] = {&told, nullptr};
  EXPECT_EQ(p.plan(alone, nullptr, kAll).tokens.size(), 5u) << "as many as there are rows";
  EXPECT_EQ(p.origins().back().position, 15u);
}

TEST(BatchPlanner, PenaltiesSeeTheLastTokensAndBiasesGoWithTheirRow) {
  BatchPlanner p = planner({.slots = 2, .chunk = 16, .prefill_rows = 2, .history = 8, .biases = 4});
  Sequence a = sequence(0, 10, 2, 11);
  a.sampling.history = 5;
  ASSERT_TRUE(a.biases.push_back({3, 1.5f}));
  Sequence b = sequence(1, 2, 1, 2);
  b.sampling.history = 64;
  Sequence* all[] = {&a, &b};
  const exec::Batch batch = p.plan(all, nullptr, kAll);
  ASSERT_EQ(batch.rows.size(), 2u);
  EXPECT_EQ(batch.requests[0].history, 5u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(batch.history[static_cast<std::size_t>(i)], 7 + i);
  EXPECT_EQ(batch.requests[0].biases, 1u);
  EXPECT_EQ(batch.bias_ids[0], 3);
  EXPECT_EQ(batch.bias[0], 1.5f);
  EXPECT_EQ(batch.requests[1].history, 3u) << "no more than there are";
  EXPECT_EQ(batch.history[8], 1000);
  EXPECT_EQ(batch.requests[1].biases, 0u);
}

TEST(BatchPlanner, AfterAPreemptionGeneratedTokensAreReadInARange) {
  BatchPlanner p = planner({.slots = 2, .chunk = 64, .prefill_rows = 2});
  Sequence s = sequence(0, 10, 30, 0);
  Sequence* all[] = {&s};
  const std::uint32_t first[] = {24};
  EXPECT_EQ(p.plan(all, nullptr, first).rows.size(), 0u);
  const exec::Batch batch = p.plan(all, nullptr, kAll);
  EXPECT_EQ(batch.tokens.size(), 16u);
  ASSERT_EQ(batch.rows.size(), 1u);
  EXPECT_EQ(batch.requests[0].generated, 30u);
}

/// Whatever comes, a batch keeps its limits, positions go up one by one and every token is fed once.
TEST(BatchPlanner, KeepsItsLimitsOverRandomLoads) {
  test::TinyRandom random(4);
  for (int run = 0; run < 300; ++run) {
    const std::uint32_t slots = 1 + random.below(8);
    const std::uint32_t chunk = 16 * (1 + random.below(8));
    BatchPlanner p = planner({.slots = slots, .chunk = chunk, .prefill_rows = slots});
    std::deque<Sequence> owned;
    std::vector<Sequence*> all(slots, nullptr);
    std::vector<std::uint32_t> fed(slots, 0);
    for (int step = 0; step < 40; ++step) {
      for (std::uint32_t s = 0; s < slots; ++s) {
        if (all[s] == nullptr && random.below(3) == 0) {
          owned.push_back(sequence(s, 1 + random.below(150), 0, 0));
          all[s] = &owned.back();
          fed[s] = 0;
        } else if (all[s] != nullptr && random.below(16) == 0) {
          all[s] = nullptr;
        }
      }
      std::vector<std::uint32_t> cuts(slots);
      for (std::uint32_t& cut : cuts) cut = random.below(200);
      const exec::Batch batch = p.plan(all, nullptr, cuts);
      ASSERT_LE(batch.tokens.size(), batch.prefill ? chunk + slots : slots);
      ASSERT_LE(batch.rows.size(), slots);
      bool prompts_began = false;
      std::uint32_t of_prompts = 0;
      for (std::size_t i = 0; i < batch.tokens.size(); ++i) {
        const std::uint32_t s = batch.slots[i];
        ASSERT_EQ(batch.positions[i], fed[s]++);
        const bool of_prompt = batch.positions[i] < all[s]->prompt_tokens;
        ASSERT_TRUE(of_prompt || !prompts_began) << "a generated token after a prompt's";
        prompts_began = prompts_began || of_prompt;
        of_prompts += of_prompt ? 1 : 0;
      }
      ASSERT_LE(of_prompts, chunk);
      for (std::uint32_t s = 0; s < slots; ++s) {
        if (all[s] == nullptr) continue;
        ASSERT_EQ(all[s]->processed, fed[s]);
      }
      for (const serve::RowOrigin& origin : p.origins()) ASSERT_TRUE(all[origin.sequence]->tokens.push_back(1));
    }
  }
}

}  // namespace
}  // namespace batch_planner_test
