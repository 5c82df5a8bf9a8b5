// SPDX-License-Identifier: Apache-2.0
// tests/unit/windowed_requests.cpp: models with attention windows give the bits of whole page lists over a context far longer than the window, out of a pool that does not grow with it.
#include <zrt/exec/cache_groups.hpp>
#include <zrt/model/weights.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <data/models/tiny_models.hpp>
#include <map>
#include <support/preempted_job.hpp>
#include <support/run_plan.hpp>
#include <vector>

namespace windowed_requests_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

constexpr std::uint32_t kContext = 640;

class WindowedRequests : public testing::TestWithParam<std::string_view> {
 protected:
  WindowedRequests() {
    for (test::TinySpec spec : test::kTinyFamilies) {
      if (spec.name != GetParam()) continue;
      spec.context = kContext;
      file_ = test::tiny_model(spec);
      window_ = spec.window;
    }
  }
  [[nodiscard]] std::unique_ptr<HostEngine> open(std::uint32_t slots, On on = On::cpu) const {
    EngineOptions options;
    options.slots = slots;
    options.context = kContext;
    options.chunk = 16;
    options.logit_rows = 16;
    auto engine = test::open_engine(on, file_.bytes(), options);
    EXPECT_TRUE(engine) << engine.error().text();
    return engine ? std::move(*engine) : nullptr;
  }
  [[nodiscard]] std::vector<std::int32_t> alone(const Request& r) const { return test::tokens_alone(*open(1), r); }

  test::ModelFile file_;
  std::uint32_t window_ = 0;
};

std::vector<float> logits_of(HostEngine& engine, std::span<const std::int32_t> tokens, std::size_t prompt) {
  std::vector<float> all;
  const auto done = engine.evaluate(
      tokens.first(prompt), tokens.subspan(prompt),
      [&](std::uint32_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  EXPECT_TRUE(done) << done.error().text();
  return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return !a.empty() &&
         std::ranges::equal(a, b, {}, std::bit_cast<std::uint32_t, float>, std::bit_cast<std::uint32_t, float>);
}

TEST_P(WindowedRequests, PagesThatWentBackChangeNoBit) {
  const std::vector<std::int32_t> tokens = test::tiny_prompt(64, kContext, 3);
  constexpr std::size_t kPrompt = 600;
  const auto engine = open(1);
  const auto gguf = model::GgufFile::open(file_.bytes());
  ASSERT_TRUE(gguf);
  // All of the prompt is one step, so that the lists of all layers hold every page.
  const auto whole = test::run_decoder(engine->plan(), model::weight_source(*gguf), tokens, kPrompt);
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_TRUE(same_bits(logits_of(*engine, tokens, kPrompt), *whole));
  EXPECT_TRUE(same_bits(logits_of(*engine, tokens, 1), *whole)) << "token by token, in a used slot";
  EXPECT_TRUE(same_bits(logits_of(*open(1, On::reference), tokens, kPrompt), *whole));
}

TEST_P(WindowedRequests, AWindowedLayerHasPagesForItsWindowAndAStep) {
  constexpr std::uint32_t kSlots = 3;
  const auto engine = open(kSlots);
  const plan::ExecutionPlan& plan = engine->plan().plan;
  std::uint64_t bytes = 0;
  std::size_t windowed = 0;
  for (const StateDescriptor& d : plan.states) {
    const std::uint64_t pages =
        window_of(d.info) == 0 ? kContext / kPageTokens : exec::pages_of_step(window_, 16 + kSlots);
    EXPECT_EQ(d.info.group, window_of(d.info) == 0 ? 0 : 1);
    windowed += window_of(d.info) == window_ ? 1u : 0u;
    bytes += kSlots * pages * d.size_bytes;
  }
  EXPECT_EQ(windowed, 1u) << "the first of two layers";
  EXPECT_EQ(engine->bytes().states, bytes);
  // A window that no slot outgrows is none.
  const auto small = test::open_engine(On::cpu, file_.bytes(), {.context = window_});
  ASSERT_TRUE(small) << small.error().text();
  for (const StateDescriptor& d : (*small)->plan().plan.states) EXPECT_EQ(window_of(d.info), 0u);
}

TEST_P(WindowedRequests, RequestsSideBySideGetTheTokensThatEachGetsAlone) {
  std::vector<std::vector<std::int32_t>> prompts;
  for (const std::size_t size : {1u, 170u, 40u, 64u, 5u}) prompts.push_back(test::tiny_prompt(64, size, size));
  const auto engine = open(3);
  std::map<RequestId, std::vector<std::int32_t>> heard;
  std::vector<RequestId> ids;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto id = engine->submit(test::sampled_request(prompts[i], i, 90));
    ASSERT_TRUE(id);
    ids.push_back(*id);
  }
  for (std::size_t left = 1; left != 0;) {
    const auto r = engine->step([&](RequestId id, const Token& token) {
      if (token.id != kNoToken) heard[id].push_back(token.id);
      return true;
    });
    ASSERT_TRUE(r) << r.error().text();
    left = *r;
  }
  for (std::size_t i = 0; i < prompts.size(); ++i)
    EXPECT_EQ(heard[ids[i]], alone(test::sampled_request(prompts[i], i, 90))) << i;
}

TEST_P(WindowedRequests, ARequestSavedBehindItsWindowGoesOnInAnotherEngine) {
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 100, 4), other = test::tiny_prompt(64, 33, 5);
  const std::vector<std::int32_t> expected = alone(test::sampled_request(prompt, 7, 120));
  // In the middle of the prompt, behind it, and far behind it.
  for (const std::size_t steps : {3u, 8u, 61u}) {
    const auto engine = open(2);
    const auto id = engine->submit(test::sampled_request(prompt, 7, 120));
    ASSERT_TRUE(id);
    std::vector<std::int32_t> ids;
    const auto take = [&](RequestId of, RequestId wanted, const Token& token) {
      if (of == wanted && token.id != kNoToken) ids.push_back(token.id);
      return true;
    };
    for (std::size_t i = 0; i < steps; ++i)
      ASSERT_TRUE(engine->step([&](RequestId of, const Token& token) { return take(of, *id, token); }));
    const auto bytes = engine->save(*id);
    ASSERT_TRUE(bytes) << bytes.error().text();
    std::uint64_t state = 0;
    const std::uint32_t done = engine->processed(*id);
    for (const StateDescriptor& d : engine->plan().plan.states)
      state += (pages_for(done) - first_page(window_of(d.info), done)) * d.size_bytes;
    EXPECT_LT(bytes->size(), state + 2048) << "pages that went back are not saved";

    const auto second = open(2);
    ASSERT_TRUE(second->submit(test::sampled_request(other, 1, 30)));
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(second->step([](RequestId, const Token&) { return true; }));
    const auto again = second->restore(bytes->span(), test::sampled_request(prompt, 7, 120));
    ASSERT_TRUE(again) << again.error().text();
    for (std::size_t left = 1; left != 0;) {
      const auto r = second->step([&](RequestId of, const Token& token) { return take(of, *again, token); });
      ASSERT_TRUE(r) << r.error().text();
      left = *r;
    }
    EXPECT_EQ(ids, expected) << steps << " steps";
  }
}

TEST_P(WindowedRequests, APreemptedRequestGoesOnWhereItWas) {
  const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 100, 4);
  const Request job = test::sampled_request(prompt, 7, 120);
  test::expect_goes_on(*open(1), job, alone(job));
}

INSTANTIATE_TEST_SUITE_P(Unit, WindowedRequests, testing::Values("gemma2", "gemma3", "gpt-oss"), [](const auto& param) {
  std::string name(param.param);
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace windowed_requests_test
