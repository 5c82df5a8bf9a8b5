// SPDX-License-Identifier: Apache-2.0
// tests/pm4/tokens.cpp: tokens on modelled cards are the reference's; what a step costs; nothing is recorded again.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <pm4/engine_card.hpp>
#include <string>
#include <support/engines.hpp>
#include <support/validated.hpp>
#include <vector>

// One transport and one processor, named when a program is compiled.
using StaticBackend = zrt::BasicPm4Backend<zrt::pm4::kfd::Transport<zrt::emulator::EmulatedOs>, zrt::pm4::Gfx1100>;
static_assert(zrt::CheckBackend<StaticBackend, zrt::ops::Catalog>::kOk);
template class zrt::pm4::PacketProgram<zrt::pm4::UmqTransport<zrt::pm4::LinuxOs>, zrt::pm4::Gfx1201>;
template class zrt::device::StepProgram<
    zrt::pm4::BackendDevice<zrt::pm4::UmqTransport<zrt::pm4::LinuxOs>, zrt::pm4::Gfx1201>>;

namespace zrt::test::tokens_test {
namespace {

using Card = zrt::emulator::Card;

const std::string kBard = ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf";

/// Takes a token that was generated, and the log-probabilities that come with it as their bits: alike where all logits are.
void take(const Token& token, std::vector<std::int32_t>& tokens) {
  if (token.id != kNoToken) tokens.push_back(token.id);
  for (const TokenProbability& best : token.best) {
    tokens.push_back(best.id);
    tokens.push_back(std::bit_cast<std::int32_t>(best.log_probability));
  }
}

/// Each once, however many cards are held to them.
std::vector<std::int32_t> reference_tokens(const std::string& path, const Request& request) {
  static std::map<std::string, std::vector<std::int32_t>> known;
  const std::string key = path + '\n' + std::string(request.prompt) + '\n' + std::to_string(request.max_tokens) + '\n' +
                          std::to_string(request.sampling.temperature) + '\n' +
                          std::to_string(request.log_probabilities);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const auto engine = open_engine(On::reference, path, small());
  EXPECT_TRUE(engine) << engine.error().text();
  std::vector<std::int32_t> tokens;
  if (!engine) return tokens;
  const auto done = (*engine)->generate(request, [&](const Token& token) {
    take(token, tokens);
    return true;
  });
  EXPECT_TRUE(done) << done.error().text();
  return known[key] = tokens;
}

/// 64 tokens of three prompts and of each file where ZRT_PM4_LONG is set, else a few of one.
bool long_form() { return std::getenv("ZRT_PM4_LONG") != nullptr; }
std::vector<std::string> bard_files() {
  const std::string models = ZRT_SHARED_DIR "/models/bard-";
  if (!long_form()) return {kBard};
  return {kBard, models + "q4_0.gguf", models + "q4_k_m.gguf", models + "f32.gguf"};
}
std::vector<std::string> prompts() {
  if (!long_form()) return {"ROMEO:\n"};
  return {"ROMEO:\n", "Shall I compare thee", "To be, or not to be"};
}

class Pm4Tokens : public testing::TestWithParam<CardWay> {};
INSTANTIATE_TEST_SUITE_P(Ways, Pm4Tokens, testing::ValuesIn(kCardWays),
                         [](const auto& way) { return way.param.name(); });

TEST_P(Pm4Tokens, GreedyTokensOfBardAreTheReferences) {
  for (const std::string& file : bard_files()) {
    SCOPED_TRACE(file);
    OnCard on(GetParam(), file, small());
    ASSERT_TRUE(on.engine) << on.why(on.engine.error());
    EXPECT_EQ(on.engine->device().transport().device().tier(), GetParam().tier);
    for (const std::string& prompt : prompts()) {
      const Request request = greedy(prompt, long_form() ? 64 : 4);
      std::vector<std::int32_t> tokens;
      const std::uint64_t calls = on.card.model().calls();
      const auto done = on.engine->generate(request, [&](const Token& token) {
        if (token.id != kNoToken) tokens.push_back(token.id);
        return true;
      });
      ASSERT_TRUE(done) << on.why(done.error());
      EXPECT_EQ(tokens, reference_tokens(file, request)) << prompt;
      EXPECT_EQ(on.card.model().calls(), calls) << "a step makes no system call";
    }
  }
}

/// A card that is faster than the process finds all of a step behind its doorbell: nothing is patched later.
TEST(Pm4Kernels, AStepIsWholeWhenItsDoorbellRings) {
  for (const CardWay& way : std::span(kCardWays).first(2)) {
    SCOPED_TRACE(way.name());
    OnCard on(way, kBard, small(), {}, true);
    ASSERT_TRUE(on.engine) << on.why(on.engine.error());
    const Request request = greedy("ROMEO:\n", 3);
    std::vector<std::int32_t> tokens;
    const auto done = on.engine->generate(request, [&](const Token& token) {
      take(token, tokens);
      return true;
    });
    ASSERT_TRUE(done) << on.why(done.error());
    EXPECT_EQ(tokens, reference_tokens(kBard, request));
  }
}

/// What the way to a queue has no part in: each processor and each way once, and all pairs in the long form.
class Pm4Steps : public testing::TestWithParam<CardWay> {};
INSTANTIATE_TEST_SUITE_P(Ways, Pm4Steps,
                         testing::ValuesIn(std::span(kCardWays).first(long_form() ? kCardWays.size() : 2)),
                         [](const auto& way) { return way.param.name(); });

TEST_P(Pm4Steps, EveryValueOfBardIsTheReferences) {
  EngineOptions options = small();
  options.keep_values = true;
  OnCard on(GetParam(), kBard, options);
  ASSERT_TRUE(on.engine) << on.why(on.engine.error());
  const auto reference = open_engine(On::reference, kBard, options);
  ASSERT_TRUE(reference) << reference.error().text();
  const std::vector<std::int32_t> prompt{1, 1855, 1993}, decode{13};
  expect_validated(trace::ValidatedExecutor::of(on.engine->executor()), (*reference)->validated(), prompt, decode, 16);
}

TEST_P(Pm4Steps, RequestsJoinAndLeaveWithoutANewRecord) {
  constexpr std::uint32_t kSlots = 3;
  OnCard on(GetParam(), kBard, small(kSlots));
  ASSERT_TRUE(on.engine) << on.why(on.engine.error());
  std::vector<Request> requests{greedy("ROMEO:\n", 4), greedy("First Citizen:", 1), greedy("O, ", 2)};
  // Its second and third token come from steps that hold another's prompt, whose kernels are those of prompts.
  requests[0].log_probabilities = 2;
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
        if (ids[i] == id) take(token, tokens[i]);
      return true;
    });
    ASSERT_TRUE(result) << on.why(result.error());
    left = *result;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(tokens[i], reference_tokens(kBard, requests[i])) << i;
  EXPECT_EQ(tokens[0].size(), 4u * (1 + 2 * 2)) << "four tokens, each with two probabilities";
  EXPECT_EQ(on.card.model().calls(), calls);
  EXPECT_EQ(on.card.model().queues().doorbells_rung() - rung, steps) << "one doorbell for each step";
  EXPECT_EQ(decode.recorded(), 1u);
  EXPECT_EQ(on.engine->executor().prefill_plan().program().recorded(), 1u);
  EXPECT_TRUE(std::equal(packets.begin(), packets.end(), decode.packets().begin(), decode.packets().end()));
}

struct Logits {
  std::vector<std::vector<float>> rows;
};

/// Logits of a prompt, and of tokens that are fed one by one behind it.
template <class E>
Logits logits_of(E& engine, std::span<const std::int32_t> prompt, std::span<const std::int32_t> fed) {
  Logits out;
  const auto done = engine.evaluate(
      prompt, fed, [&](std::uint32_t, std::span<const float> row) { out.rows.emplace_back(row.begin(), row.end()); });
  EXPECT_TRUE(done) << done.error().text();
  return out;
}

/// |a - b| over |b|, in root mean squares.
double relative_rms(const Logits& a, const Logits& b) {
  double difference = 0.0, size = 0.0;
  for (std::size_t r = 0; r < b.rows.size(); ++r)
    for (std::size_t i = 0; i < b.rows[r].size(); ++i) {
      const double d = double{a.rows[r][i]} - double{b.rows[r][i]};
      difference += d * d;
      size += double{b.rows[r][i]} * double{b.rows[r][i]};
    }
  return size > 0.0 ? std::sqrt(difference / size) : difference;
}

TEST_P(Pm4Steps, LogitsOfTheGoldenFilesAreTheReferences) {
  if (!std::filesystem::exists(ZRT_SHARED_DIR "/golden/arch"))
    GTEST_SKIP() << "SKIPPED: there is no " << ZRT_SHARED_DIR << "/golden/arch";
  // Types of blocks that kernels read, and experts of them; tests/pm4/families.cpp has the models of f32.
  std::vector<std::string> names{"llama-q8_0", "llama-q4_k_m", "qwen3-q4_0", "qwen3moe-q4_k_m"};
  if (long_form())
    names = {"llama-q4_0", "llama-q4_k_m",  "llama-q8_0",    "qwen3-q4_0",     "qwen3-q4_k_m",
             "qwen3-q8_0", "qwen3moe-q8_0", "qwen3moe-q4_0", "qwen3moe-q4_k_m"};
  const std::vector<std::int32_t> prompt{1, 5, 9, 2, 7}, fed{3, 8};
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::string path = ZRT_SHARED_DIR "/golden/arch/" + name + ".gguf";
    OnCard on(GetParam(), path, small());
    ASSERT_TRUE(on.engine) << on.why(on.engine.error());
    const auto reference = open_engine(On::reference, path, small());
    ASSERT_TRUE(reference) << reference.error().text();
    const Logits got = logits_of(*on.engine, prompt, fed), want = logits_of(**reference, prompt, fed);
    ASSERT_EQ(got.rows.size(), prompt.size() + fed.size());
    ASSERT_EQ(want.rows.size(), got.rows.size());
    EXPECT_LE(relative_rms(got, want), 2e-3);
    // The kernels state more than that.
    EXPECT_EQ(got.rows, want.rows) << "the reference's bits";
  }
}

TEST_P(Pm4Steps, SamplesBehindTheFence) {
  OnCard on(GetParam(), kBard, small());
  ASSERT_TRUE(on.engine) << on.why(on.engine.error());
  Request request = greedy("ROMEO:\n", 5);
  request.sampling = {.temperature = 0.9f, .top_k = 40, .top_p = 0.95f, .repetition_penalty = 1.2f};
  request.sampling.seed = 7;
  std::vector<std::int32_t> tokens;
  const auto done = on.engine->generate(request, [&](const Token& token) {
    if (token.id != kNoToken) tokens.push_back(token.id);
    return true;
  });
  ASSERT_TRUE(done) << on.why(done.error());
  EXPECT_EQ(tokens, reference_tokens(kBard, request));
}

TEST(Pm4Backend, WeightsOfATypeLieTogether) {
  engines::ModelledCard card(Card{});
  StaticBackend::Device none;
  EXPECT_FALSE(none.ready()) << "there is no operating system";
  StaticBackend::Device other(system_allocator(), {}, {.os = &card.model(), .kernels = engines::kernels()});
  const auto refused = other.ready();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "the card is gfx1201, gfx1100 expected");

  OnCard on(kCardWays.front(), kBard, small());
  ASSERT_TRUE(on.engine) << on.why(on.engine.error());
  auto& device = on.engine->device();
  const std::size_t before = on.card.model().live().buffers;
  const std::vector<float> data(3 * 32, 1.5f);
  const WeightView norm{"norm", DType::f32, Shape{32}, std::as_bytes(std::span(data)).first(128)};
  const WeightView table{"table", DType::f32, Shape{3, 32}, std::as_bytes(std::span(data))};
  const auto unexpected = device.weight({"none", DType::q4_0, Shape{1, 32}, std::as_bytes(std::span(data)).first(18)});
  ASSERT_FALSE(unexpected);
  EXPECT_EQ(unexpected.error().code(), Errc::invalid_argument);
  EXPECT_TRUE(device.expect(norm) && device.expect(table));
  const auto a = device.weight(norm), b = device.weight(table);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(on.card.model().live().buffers, before + 1) << "one allocation for both";
  EXPECT_EQ(b->parts[0] - a->parts[0], 256u);
  EXPECT_EQ(*reinterpret_cast<const float*>(device.host_view(b->parts[0])), 1.5f);
  for (const DType dtype : {DType::q5_0, DType::q4_1}) {
    const auto wrong = device.expect({"wrong", dtype, Shape{1, 32}, {}});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code(), Errc::unsupported_weight_type);
  }
}

TEST(Pm4Backend, GivesEverythingBackAlsoAfterAReset) {
  engines::ModelledCard card(Card{});
  {
    auto engine =
        Engine<zrt::emulator::Pm4Backend>::open(kBard, small(), {.os = &card.os(), .kernels = engines::kernels()});
    ASSERT_TRUE(engine) << engine.error().text();
    std::vector<FinishReason> ends;
    const auto heard = [&](RequestId, const Token& token) {
      if (token.finish != FinishReason::none) ends.push_back(token.finish);
      return true;
    };
    ASSERT_TRUE(engine->submit(greedy("O", 8)));
    const auto first = engine->step(heard);
    ASSERT_TRUE(first) << first.error().text();
    card.model().reset_device();
    const auto lost = engine->step(heard);
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code(), Errc::unsupported_device) << lost.error().text();
    EXPECT_EQ(ends, std::vector<FinishReason>{FinishReason::failed});
    // The queue takes nothing more, and says the same again.
    ASSERT_TRUE(engine->submit(greedy("O", 1)));
    EXPECT_FALSE(engine->step(heard));
  }
  EXPECT_TRUE(card.model().live().none());
}

TEST(Pm4Backend, AForcedWayIsTheOneOrNone) {
  // A user queue is tried first; the kernel of the second card has none.
  engines::ModelledCard both({.kernel = zrt::emulator::kLinux6_16}), old({.kernel = zrt::emulator::kLinux6_12});
  const auto open = [](engines::ModelledCard& card, std::optional<pm4::Tier> tier) {
    return Engine<zrt::emulator::Pm4Backend>::open(kBard, small(),
                                                   {.os = &card.os(), .kernels = engines::kernels(), .tier = tier});
  };
  const auto way = [](auto& engine) { return engine->device().transport().device().tier(); };
  auto probed = open(both, {}), probed_old = open(old, {});
  ASSERT_TRUE(probed && probed_old);
  EXPECT_EQ(way(probed), pm4::Tier::user_queue);
  EXPECT_EQ(way(probed_old), pm4::Tier::kfd);
  const auto refused = open(old, pm4::Tier::user_queue);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().text().starts_with("user queue: ")) << refused.error().text();
  EXPECT_EQ(refused.error().text().find("/dev/kfd"), std::string_view::npos) << "the other one is not tried";
}

TEST(Pm4Backend, SaysWhatItLacks) {
  const auto nothing = Engine<zrt::emulator::Pm4Backend>::open(kBard, small());
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code(), Errc::invalid_argument) << nothing.error().text();
  engines::ModelledCard card(Card{});
  const auto without_kernels = Engine<zrt::emulator::Pm4Backend>::open(kBard, small(), {.os = &card.os()});
  ASSERT_FALSE(without_kernels);
  EXPECT_EQ(without_kernels.error().code(), Errc::not_found) << without_kernels.error().text();
  EXPECT_TRUE(card.model().live().none());
  // The machine that runs the tests has no card; one that has finds no kernels.
  zrt::emulator::ChosenOs machine;
  const auto real = Engine<zrt::emulator::Pm4Backend>::open(kBard, small(), {.os = &machine});
  ASSERT_FALSE(real);
  EXPECT_NE(real.error().code(), Errc::invalid_argument) << real.error().text();
}

}  // namespace
}  // namespace zrt::test::tokens_test
