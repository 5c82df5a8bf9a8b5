// SPDX-License-Identifier: Apache-2.0
// tests/pm4/tokens.cpp: tokens on modelled cards are the reference's; what a step costs; nothing is recorded again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <pm4.hpp>
#include <string>
#include <support/engines.hpp>
#include <vector>

namespace zrt::test {
namespace {

using Card = pm4::emulator::Card;

/// An engine on a modelled card, and the card.
struct OnCard {
  explicit OnCard(const std::string& target, const std::string& path, const EngineOptions& options)
      : card(Card{.target = pm4::find_target(target)}),
        engine(Engine<Pm4Backend>::open(path, options, {.os = &card.os(), .kernels = engines::kernels()})) {}

  [[nodiscard]] std::string why(const Error& error) {
    return std::string(error.text()) + " / " + std::string(card.model().refusal()) + " / " +
           std::string(card.model().queues().stopped());
  }

  engines::ModelledCard card;
  Result<Engine<Pm4Backend>> engine;
};

const std::string kBard = ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf";

EngineOptions small(std::uint32_t slots = 1) {
  EngineOptions options;
  options.slots = slots;
  options.context = 128;
  options.chunk = 16;
  return options;
}

Request greedy(std::string_view prompt, std::uint32_t tokens) {
  Request request;
  request.prompt = prompt;
  request.max_tokens = tokens;
  request.sampling.temperature = 0.0f;
  request.ignore_eos = true;
  return request;
}

std::vector<std::int32_t> reference_tokens(const std::string& path, const Request& request) {
  const auto engine = open_engine(On::reference, path, small());
  EXPECT_TRUE(engine) << engine.error().text();
  std::vector<std::int32_t> tokens;
  if (!engine) return tokens;
  const auto done = (*engine)->generate(request, [&](const Token& token) {
    if (token.id != kNoToken) tokens.push_back(token.id);
    return true;
  });
  EXPECT_TRUE(done) << done.error().text();
  return tokens;
}

/// 64 tokens of three prompts where ZRT_PM4_LONG is set, else a few of one.
bool long_form() { return std::getenv("ZRT_PM4_LONG") != nullptr; }
std::vector<std::string> prompts() {
  if (!long_form()) return {"ROMEO:\n"};
  return {"ROMEO:\n", "Shall I compare thee", "To be, or not to be"};
}

class Pm4Tokens : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, Pm4Tokens, testing::Values("gfx1201", "gfx1100"),
                         [](const auto& target) { return std::string(target.param); });

TEST_P(Pm4Tokens, GreedyTokensOfBardAreTheReferences) {
  OnCard on(GetParam(), kBard, small());
  ASSERT_TRUE(on.engine) << on.why(on.engine.error());
  for (const std::string& prompt : prompts()) {
    const Request request = greedy(prompt, long_form() ? 64 : 6);
    std::vector<std::int32_t> tokens;
    const std::uint64_t calls = on.card.model().calls();
    const auto done = on.engine->generate(request, [&](const Token& token) {
      if (token.id != kNoToken) tokens.push_back(token.id);
      return true;
    });
    ASSERT_TRUE(done) << on.why(done.error());
    EXPECT_EQ(tokens, reference_tokens(kBard, request)) << prompt;
    EXPECT_EQ(on.card.model().calls(), calls) << "a step makes no system call";
  }
}

TEST_P(Pm4Tokens, RequestsJoinAndLeaveWithoutANewRecord) {
  constexpr std::uint32_t kSlots = 3;
  OnCard on(GetParam(), kBard, small(kSlots));
  ASSERT_TRUE(on.engine) << on.why(on.engine.error());
  const std::vector<Request> requests{greedy("ROMEO:\n", 5), greedy("First Citizen:", 2), greedy("O, ", 3)};
  std::vector<std::vector<std::int32_t>> tokens(requests.size());
  std::vector<RequestId> ids;
  const auto submit = [&](std::size_t i) {
    const auto id = on.engine->submit(requests[i]);
    ASSERT_TRUE(id) << id.error().text();
    ids.push_back(*id);
  };
  const auto& decode = on.engine->executor().decode_plan().program();
  const std::vector<std::uint32_t> packets(decode.packets().begin(), decode.packets().end());
  const std::uint64_t calls = on.card.model().calls(), rung = on.card.model().queues().doorbells_rung();
  std::uint64_t steps = 0;
  submit(0);
  for (std::size_t left = 1; left != 0; ++steps) {
    // The others join while the first one runs; the second leaves before the first does.
    if (steps == 1) submit(1);
    if (steps == 2) submit(2);
    const auto result = on.engine->step([&](RequestId id, const Token& token) {
      for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] == id && token.id != kNoToken) tokens[i].push_back(token.id);
      return true;
    });
    ASSERT_TRUE(result) << on.why(result.error());
    left = *result;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(tokens[i], reference_tokens(kBard, requests[i])) << i;
  EXPECT_EQ(on.card.model().calls(), calls);
  EXPECT_EQ(on.card.model().queues().doorbells_rung() - rung, steps) << "one doorbell for each step";
  EXPECT_EQ(decode.recorded(), 1u);
  EXPECT_EQ(on.engine->executor().prefill_plan().program().recorded(), 1u);
  EXPECT_TRUE(std::equal(packets.begin(), packets.end(), decode.packets().begin(), decode.packets().end()));
}

}  // namespace
}  // namespace zrt::test
