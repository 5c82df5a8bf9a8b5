// SPDX-License-Identifier: Apache-2.0
// tests/unit/recurrent_requests.cpp: models with recurrent state give the same bits however a prompt is cut, beside other requests, in a used slot and from a snapshot.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <data/models/tiny_models.hpp>
#include <map>
#include <numeric>
#include <string>
#include <support/preempted_job.hpp>
#include <vector>

namespace recurrent_requests_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

class RecurrentRequests : public testing::TestWithParam<std::string_view> {
 protected:
  RecurrentRequests() {
    for (const test::TinySpec& spec : test::kTinyFamilies)
      if (spec.name == GetParam()) file_ = test::tiny_model(spec);
  }
  [[nodiscard]] std::unique_ptr<HostEngine> open(std::uint32_t slots, std::uint32_t threads = 1) const {
    EngineOptions options;
    options.slots = slots;
    options.context = 128;
    options.chunk = 64;
    options.logit_rows = 64;
    options.threads = threads;
    auto engine = test::open_engine(On::cpu, file_.bytes(), options);
    EXPECT_TRUE(engine) << engine.error().text();
    return engine ? std::move(*engine) : nullptr;
  }
  static Request request(std::span<const std::int32_t> prompt, std::uint64_t seed) {
    return test::sampled_request(prompt, seed, 24);
  }
  /// What the request generates alone in an engine of its own.
  [[nodiscard]] std::vector<std::int32_t> alone(const Request& r) const { return test::tokens_alone(*open(1), r); }

  test::ModelFile file_;
};

/// Logits of all rows of `tokens` in slot `slot` of two, in steps of `chunk` rows.
std::vector<float> logits_in_steps(HostEngine& engine, std::span<const std::int32_t> tokens, std::uint32_t slot,
                                   std::size_t chunk) {
  const trace::ValidatedExecutor executor = engine.validated();
  std::vector<std::uint32_t> pages(std::size_t{executor.sizes->slots} * executor.sizes->pages_per_slot);
  std::iota(pages.begin(), pages.end(), 0u);
  const plan::ExecutionPlan& plan = executor.compiled->plan;
  const plan::RegisterRef logits = plan.output(exec::port::kLogits);
  std::vector<float> all;
  for (std::size_t first = 0; first < tokens.size(); first += chunk) {
    const std::size_t count = std::min(chunk, tokens.size() - first);
    std::vector<std::uint32_t> ids, slots(count, slot), positions, rows;
    std::vector<ops::SampleRequest> requests(count);
    for (std::size_t i = 0; i < count; ++i) {
      ids.push_back(static_cast<std::uint32_t>(tokens[first + i]));
      positions.push_back(static_cast<std::uint32_t>(first + i));
      rows.push_back(static_cast<std::uint32_t>(i));
    }
    exec::Batch batch;
    batch.tokens = ids;
    batch.slots = slots;
    batch.positions = positions;
    batch.rows = rows;
    batch.requests = requests;
    batch.pages = pages.data();
    batch.prefill = true;
    const auto done = executor.step(executor.executor, batch);
    EXPECT_TRUE(done && *done);
    const std::uint32_t width = plan.registers[plan::index(logits)].shape[1].extent;
    const std::size_t at = all.size();
    all.resize(at + count * width);
    EXPECT_TRUE(executor.read(executor.executor, logits, std::as_writable_bytes(std::span(all).subspan(at))));
  }
  return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && !a.empty() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST_P(RecurrentRequests, APromptGivesTheSameLogitsHoweverItIsCut) {
  const std::vector<std::int32_t> tokens = test::tiny_prompt(64, 64, 3);
  const std::vector<float> whole = logits_in_steps(*open(2), tokens, 0, 64);
  for (const std::uint32_t threads : {1u, 2u})
    for (const std::size_t chunk : {1u, 5u, 16u, 64u})
      EXPECT_TRUE(same_bits(logits_in_steps(*open(2, threads), tokens, 1, chunk), whole))
          << chunk << " tokens, " << threads << " threads";
}

/// Rows of different slots do not touch each other's blocks; the batch's own order does not matter.
TEST_P(RecurrentRequests, RequestsSideBySideGetTheTokensThatEachGetsAlone) {
  std::vector<std::vector<std::int32_t>> prompts;
  for (const std::size_t size : {1u, 17u, 40u, 64u, 5u}) prompts.push_back(test::tiny_prompt(64, size, size));
  std::vector<std::vector<std::int32_t>> expected;
  for (std::size_t i = 0; i < prompts.size(); ++i) expected.push_back(alone(request(prompts[i], i)));
  for (const std::uint32_t threads : {1u, 2u}) {
    // Fewer slots than requests, so that later ones come into used slots.
    const auto engine = open(3, threads);
    std::map<std::uint64_t, std::vector<std::int32_t>> heard;
    std::vector<RequestId> ids;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const auto id = engine->submit(request(prompts[i], i));
      ASSERT_TRUE(id);
      ids.push_back(*id);
    }
    for (std::size_t left = 1; left != 0;) {
      const auto r = engine->step([&](RequestId id, const Token& token) {
        const auto at = static_cast<std::uint64_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
        if (token.id != kNoToken) heard[at].push_back(token.id);
        return true;
      });
      ASSERT_TRUE(r) << r.error().text();
      left = *r;
    }
    for (std::size_t i = 0; i < prompts.size(); ++i) EXPECT_EQ(heard[i], expected[i]) << i;
  }
}

TEST_P(RecurrentRequests, ARequestInAUsedSlotKnowsNothingOfTheOneBefore) {
  const std::vector<std::int32_t> first = test::tiny_prompt(64, 30, 1), second = test::tiny_prompt(64, 20, 2);
  const auto engine = open(1);
  for (const auto* prompt : {&first, &second, &first}) {
    std::vector<std::int32_t> ids;
    ASSERT_TRUE(engine->generate(request(*prompt, 9), [&](const Token& token) {
      if (token.id != kNoToken) ids.push_back(token.id);
      return true;
    }));
    EXPECT_EQ(ids, alone(request(*prompt, 9)));
  }
  // A prompt that is evaluated takes a slot as well.
  std::vector<float> used, fresh;
  const auto into = [](std::vector<float>& to) {
    return [&](std::uint32_t, std::span<const float> row) { to.insert(to.end(), row.begin(), row.end()); };
  };
  ASSERT_TRUE(engine->evaluate(first, second, into(used)));
  ASSERT_TRUE(open(1)->evaluate(first, second, into(fresh)));
  EXPECT_TRUE(same_bits(used, fresh));
}

TEST_P(RecurrentRequests, ASavedRequestGoesOnBesideOthersAsIfNothingHadHappened) {
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 40, 4), other = test::tiny_prompt(64, 33, 5);
  const std::vector<std::int32_t> expected = alone(request(prompt, 7));
  for (const std::size_t steps : {1u, 2u, 9u}) {
    const auto engine = open(2);
    const auto id = engine->submit(request(prompt, 7));
    ASSERT_TRUE(id);
    std::vector<std::int32_t> before;
    for (std::size_t i = 0; i < steps; ++i)
      ASSERT_TRUE(engine->step([&](RequestId, const Token& token) {
        if (token.id != kNoToken) before.push_back(token.id);
        return true;
      }));
    const auto bytes = engine->save(*id);
    ASSERT_TRUE(bytes) << bytes.error().text();
    engine->cancel(*id);
    // Others use both slots meanwhile, and one of them runs on beside it.
    for (const std::uint64_t seed : {1u, 2u}) ASSERT_TRUE(engine->submit(request(other, seed)));
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(engine->step([](RequestId, const Token&) { return true; }));
    const auto beside = engine->submit(request(other, 3));
    ASSERT_TRUE(beside);
    const auto again = engine->restore(bytes->span(), request(prompt, 7));
    ASSERT_TRUE(again) << again.error().text();
    std::vector<std::int32_t> after = before;
    for (std::size_t left = 1; left != 0;) {
      const auto r = engine->step([&](RequestId of, const Token& token) {
        if (of == *again && token.id != kNoToken) after.push_back(token.id);
        return true;
      });
      ASSERT_TRUE(r) << r.error().text();
      left = *r;
    }
    EXPECT_EQ(after, expected) << steps << " steps";
  }
}

TEST_P(RecurrentRequests, APreemptedRequestGoesOnWhereItWas) {
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 75, 4);
  Request job = request(prompt, 7);
  job.max_tokens = 40;
  test::expect_goes_on(*open(1), job, alone(job));
}

TEST_P(RecurrentRequests, TwoCopiesOfASavedRequestRunSideBySide) {
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 21, 6);
  const std::vector<std::int32_t> expected = alone(request(prompt, 8));
  const auto engine = open(2);
  const auto id = engine->submit(request(prompt, 8));
  ASSERT_TRUE(id);
  std::vector<std::int32_t> before;
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(engine->step([&](RequestId, const Token& token) {
      if (token.id != kNoToken) before.push_back(token.id);
      return true;
    }));
  const auto bytes = engine->save(*id);
  ASSERT_TRUE(bytes) << bytes.error().text();
  engine->cancel(*id);
  ASSERT_TRUE(engine->step([](RequestId, const Token&) { return true; }));
  std::map<std::uint64_t, std::vector<std::int32_t>> copies;
  std::vector<RequestId> ids;
  for (int copy = 0; copy < 2; ++copy) {
    const auto restored = engine->restore(bytes->span(), request(prompt, 8));
    ASSERT_TRUE(restored) << restored.error().text();
    ids.push_back(*restored);
  }
  for (std::size_t left = 1; left != 0;) {
    const auto r = engine->step([&](RequestId of, const Token& token) {
      if (token.id != kNoToken) copies[of == ids[0] ? 0 : 1].push_back(token.id);
      return true;
    });
    ASSERT_TRUE(r) << r.error().text();
    left = *r;
  }
  for (const std::uint64_t copy : {0u, 1u}) {
    std::vector<std::int32_t> all = before;
    all.insert(all.end(), copies[copy].begin(), copies[copy].end());
    EXPECT_EQ(all, expected) << copy;
  }
}

TEST_P(RecurrentRequests, AStepWithTwoRangesOfASlotIsRefused) {
  const auto engine = open(2);
  const trace::ValidatedExecutor executor = engine->validated();
  std::vector<std::uint32_t> pages(std::size_t{executor.sizes->slots} * executor.sizes->pages_per_slot);
  std::iota(pages.begin(), pages.end(), 0u);
  const std::vector<std::uint32_t> slots{0, 1, 0}, positions{0, 0, 1};
  exec::Batch batch;
  batch.tokens = batch.slots = slots;
  batch.positions = positions;
  batch.pages = pages.data();
  batch.prefill = true;
  const auto refused = executor.step(executor.executor, batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::invalid_argument);
  EXPECT_EQ(refused.error().text(),
            "row 2 begins a second range of rows of slot 0, which has recurrent state; expected one range");
}

INSTANTIATE_TEST_SUITE_P(Unit, RecurrentRequests, testing::Values("mamba", "mamba2", "granitehybrid", "lfm2", "qwen35"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace recurrent_requests_test
