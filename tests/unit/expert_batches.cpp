// SPDX-License-Identifier: Apache-2.0
// tests/unit/expert_batches.cpp: a request to a mixture of experts gives the same bits however it is batched, cut and threaded.
// test-set: smoke threads
#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <support/engines.hpp>
#include <support/schedules.hpp>
#include <vector>

namespace expert_batches_test {
namespace {

using namespace zrt;
using test::On;

/// A prompt that is longer than a chunk, and its tokens with their log-probabilities, among `others` requests.
std::vector<test::Heard> run(const test::ModelFile& file, On on, const EngineOptions& options, std::uint32_t others) {
  const auto engine = test::open_engine(on, file.bytes(), options);
  if (!engine) {
    ADD_FAILURE() << engine.error().text();
    return {};
  }
  std::vector<std::vector<std::int32_t>> prompts;
  prompts.reserve(others + 1);
  RequestId mine{};
  for (std::uint32_t i = 0; i <= others; ++i) {
    // The one that is looked at comes last, so that its rows follow others.
    const bool last = i == others;
    prompts.push_back(test::tiny_prompt(64, last ? 41 : 5 + 9 * i, last ? 3 : 100 + i));
    Request request;
    request.tokens = prompts.back();
    request.max_tokens = 10;
    request.ignore_eos = true;
    request.log_probabilities = 8;
    const auto id = (*engine)->submit(request);
    EXPECT_TRUE(id);
    if (id && last) mine = *id;
  }
  std::vector<test::Heard> heard;
  for (int step = 0; step < 64; ++step)
    EXPECT_TRUE((*engine)->step([&](RequestId id, const Token& token) {
      if (id == mine && token.id != kNoToken) heard.push_back(test::heard(token));
      return true;
    }));
  EXPECT_EQ(heard.size(), 10u);
  return heard;
}

TEST(ExpertBatches, ARequestGivesTheSameBitsAloneInABatchInChunksAndOnThreads) {
  for (test::TinySpec spec : test::kTinyFamilies) {
    if (spec.experts == 0) continue;
    SCOPED_TRACE(spec.name);
    spec.weights = DType::q8_0;
    const test::ModelFile file = test::tiny_model(spec);
    const std::vector<test::Heard> alone = run(file, On::reference, {.slots = 1, .context = 64}, 0);
    for (const std::uint32_t threads : {1u, 2u})
      for (const std::uint32_t chunk : {16u, 512u})
        for (const std::uint32_t others : {0u, 4u})
          EXPECT_EQ(run(file, On::cpu, {.slots = 5, .context = 64, .chunk = chunk, .threads = threads}, others), alone)
              << threads << " threads, chunk " << chunk << ", " << others << " others";
  }
}

}  // namespace
}  // namespace expert_batches_test
