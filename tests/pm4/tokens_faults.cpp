// SPDX-License-Identifier: Apache-2.0
// tests/pm4/tokens_faults.cpp: an engine on a card, by either way to it: a ring that ends anywhere in a step, kernel files
// that are damaged or another card's, cancelled prompts, and engines that go while a step runs or hangs. Every one ends in
// a typed error or in the right tokens, gives everything back, and leaves a machine on which the next engine works.
#include <gtest/gtest.h>

#include <algorithm>
#include <data/models/tiny_models.hpp>
#include <functional>
#include <pm4/engine_card.hpp>
#include <support/two_workers.hpp>
#include <tools/gguf_counting_allocator.hpp>

namespace zrt::test::tokens_faults_test {
namespace {

using zrt::emulator::KernelVersion;

const ModelFile& model() {
  static const ModelFile file = tiny_model(
      {.weights = DType::q8_0, .text = true, .width = 64, .layers = 1, .heads = 2, .kv_heads = 1, .key_dim = 32});
  return file;
}
constexpr std::string_view kPrompt = "the king of the north, and his son";

/// A machine whose card is reached by the way that its kernel has.
struct Machine {
  explicit Machine(const KernelVersion& kernel, const ThreadHook& threads = {}) : card({.kernel = kernel}, threads) {}
  explicit Machine(const zrt::emulator::Card& described) : card(described) {}

  [[nodiscard]] Result<Engine<zrt::emulator::Pm4Backend>> open(DeviceOptionsOf<zrt::emulator::Pm4Backend> device = {
                                                                   .kernels = engines::kernels()}) {
    device.os = &card.os();
    EngineOptions options = small();
    options.allocator = allocator.hook();
    return Engine<zrt::emulator::Pm4Backend>::open(model().bytes(), options, device);
  }
  /// That nothing is left of an engine.
  void expect_empty() {
    EXPECT_TRUE(card.model().live().none());
    EXPECT_EQ(allocator.live, 0u);
  }
  /// That an engine can be opened and gives the right tokens.
  void expect_usable();

  CountingAllocator allocator{};
  engines::ModelledCard card;
};

std::vector<std::int32_t> tokens_of(Engine<zrt::emulator::Pm4Backend>& engine, const Request& request) {
  std::vector<std::int32_t> tokens;
  const auto done = engine.generate(request, [&](const Token& token) {
    if (token.id != kNoToken) tokens.push_back(token.id);
    return true;
  });
  EXPECT_TRUE(done) << done.error().text();
  return tokens;
}

constexpr std::uint32_t kTokens = 30, kFew = 4;

/// What an engine with the usual ring gives.
const std::vector<std::int32_t>& expected_tokens() {
  static const std::vector<std::int32_t> tokens = [] {
    Machine machine(zrt::emulator::kLinux6_12);
    auto engine = machine.open();
    EXPECT_TRUE(engine) << engine.error().text();
    return engine ? tokens_of(*engine, greedy(kPrompt, kTokens)) : std::vector<std::int32_t>();
  }();
  return tokens;
}

/// That these are the first tokens.
void expect_first(const std::vector<std::int32_t>& tokens) {
  ASSERT_EQ(tokens.size(), kFew);
  EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), expected_tokens().begin()));
}

void Machine::expect_usable() {
  {
    auto engine = open();
    ASSERT_TRUE(engine) << engine.error().text() << card.model().refusal();
    expect_first(tokens_of(*engine, greedy(kPrompt, kFew)));
  }
  expect_empty();
}

class EngineFaults : public testing::TestWithParam<KernelVersion> {};
INSTANTIATE_TEST_SUITE_P(Ways, EngineFaults, testing::Values(zrt::emulator::kLinux6_12, zrt::emulator::kLinux6_16),
                         [](const auto& kernel) { return kernel.param.user_queues ? "UserQueue" : "Kfd"; });

TEST_P(EngineFaults, TokensAreRightWhereverTheRingEnds) {
  Machine machine(GetParam());
  auto engine = machine.open({.kernels = engines::kernels(), .queue = {.ring_bytes = pm4::kPageBytes}});
  ASSERT_TRUE(engine) << engine.error().text() << machine.card.model().refusal();
  auto& queue = engine->device().transport();
  const std::size_t ring = queue.ring().size();
  ASSERT_EQ(ring, 1024u);
  const std::size_t step = engine->executor().decode_plan().program().start().size() + pm4::kFenceDwords;
  ASSERT_LT(step, kTokens);
  ASSERT_TRUE(engine->submit(greedy(kPrompt, kTokens)));
  std::vector<std::int32_t> tokens;
  std::size_t phase = 0;
  for (std::size_t left = 1; left != 0; ++phase) {
    // The end of the ring comes to lie before each dword of the next step, and behind its last.
    std::size_t fillers = (2 * ring - phase % (step + 1) - queue.ring().position() % ring) % ring;
    if (fillers < 2 * pm4::kFenceDwords) fillers += ring;
    for (const std::size_t part : {fillers / 2, fillers - fillers / 2}) {
      const auto fence = queue.submit(std::vector<std::uint32_t>(part - pm4::kFenceDwords, pm4::kFiller));
      ASSERT_TRUE(fence && queue.wait(*fence, 1'000'000'000));
    }
    ASSERT_EQ((queue.ring().position() + phase % (step + 1)) % ring, 0u);
    const auto result = engine->step([&](RequestId, const Token& token) {
      if (token.id != kNoToken) tokens.push_back(token.id);
      return true;
    });
    ASSERT_TRUE(result) << phase << ": " << result.error().text() << machine.card.model().queues().stopped();
    left = *result;
  }
  EXPECT_GE(phase, step + 1);
  EXPECT_EQ(tokens, expected_tokens());
}

TEST_P(EngineFaults, KernelFilesThatAreDamagedOrAnothersOpenNoEngine) {
  Machine machine(GetParam());
  const pm4::KernelFiles all = engines::kernels();
  const auto is_ours = [](std::span<const std::byte> file) {
    const auto read = pm4::KernelFile::open(file);
    return read && pm4::runs(*pm4::find_target("gfx1201"), read->target());
  };
  const auto found = std::ranges::find_if(all, is_ours);
  ASSERT_NE(found, all.end());
  const std::size_t at = static_cast<std::size_t>(found - all.begin());
  const auto refused = [&](Errc code, const std::vector<std::span<const std::byte>>& files) {
    {
      const auto engine = machine.open({.kernels = files});
      ASSERT_FALSE(engine);
      EXPECT_EQ(engine.error().code(), code) << engine.error().text();
      EXPECT_FALSE(engine.error().text().empty());
    }
    machine.expect_empty();
  };
  const auto damaged = [&](Errc code, auto&& change) {
    std::vector<std::byte> file(found->begin(), found->end());
    change(file);
    std::vector<std::span<const std::byte>> files(all.begin(), all.end());
    files[at] = file;
    refused(code, files);
  };
  const auto put = [](std::size_t offset, std::uint32_t value) {
    return [=](std::vector<std::byte>& file) { write_little(file.data() + offset, value); };
  };
  damaged(Errc::truncated_file, [](auto& file) { file.resize(file.size() / 2); });
  damaged(Errc::truncated_file, [](auto& file) { file.clear(); });
  damaged(Errc::invalid_file, put(0, 0x0054525b));
  damaged(Errc::unsupported_version, put(4, 0x00020007));
  damaged(Errc::truncated_file, put(8, 0x7fffff00));
  damaged(Errc::invalid_file, put(12, 3));
  damaged(Errc::invalid_file, put(60, 0));
  std::vector<std::span<const std::byte>> others, without_one, twice(all.begin(), all.end());
  for (const auto& file : all) {
    if (!is_ours(file)) others.push_back(file);
    const auto read = pm4::KernelFile::open(file);
    if (!is_ours(file) || read->name() != "argmax") without_one.push_back(file);
  }
  twice.push_back(*found);
  refused(Errc::not_found, others);
  refused(Errc::not_found, {});
  refused(Errc::not_found, without_one);
  refused(Errc::duplicate_name, twice);
  machine.expect_usable();
}

TEST_P(EngineFaults, NoEngineOpensWhereTheCardIsFullOrACallFails) {
  std::uint64_t calls = 0;
  {
    Machine machine(GetParam());
    const auto engine = machine.open();
    ASSERT_TRUE(engine) << engine.error().text();
    calls = machine.card.model().calls();
  }
  // Each allocation in turn finds the card full, from the first to the one behind the last.
  std::uint64_t allocations = 0;
  for (bool opened = false; !opened; ++allocations) {
    Machine machine(GetParam());
    machine.card.model().fill_video_after(allocations);
    {
      const auto engine = machine.open();
      opened = engine.has_value();
      EXPECT_TRUE(opened || engine.error().code() == Errc::out_of_memory) << engine.error().text();
    }
    machine.expect_empty();
  }
  EXPECT_GT(allocations, 8u);
  // And each finds no memory of any kind, in the way that the card is reached by and then in all.
  const std::uint32_t request = GetParam().user_queues ? pm4::umq::kGemCreate : pm4::kfd::kAllocMemory;
  std::uint64_t without = 0;
  for (bool opened = false; !opened; ++without) {
    Machine machine(GetParam());
    machine.card.model().fail_request(request, ENOMEM, without + 1);
    {
      auto engine = machine.open();
      opened = engine && engine->device().transport().device().tier() ==
                             (GetParam().user_queues ? pm4::Tier::user_queue : pm4::Tier::kfd);
      EXPECT_TRUE(engine || engine.error().code() == Errc::out_of_memory) << engine.error().text();
    }
    machine.expect_empty();
  }
  EXPECT_GT(without, allocations);
  std::uint64_t refused = 0;
  for (std::uint64_t number = 1; number <= calls; number += calls / 24 + 1) {
    Machine machine(GetParam());
    machine.card.model().fail_call(number, ENOMEM);
    {
      const auto engine = machine.open();
      refused += !engine;
      // Where one way to the card fails, the other is taken.
      EXPECT_TRUE(engine || engine.error().code() == Errc::out_of_memory) << number << ' ' << engine.error().text();
    }
    machine.expect_empty();
  }
  EXPECT_GT(refused, 8u);
}

TEST_P(EngineFaults, APromptIsCancelledBetweenItsChunksAndInsideAStep) {
  Machine machine(GetParam());
  {
    auto engine = machine.open();
    ASSERT_TRUE(engine) << engine.error().text();
    std::vector<FinishReason> ends;
    const auto heard = [&](RequestId, const Token& token) {
      EXPECT_EQ(token.id, kNoToken) << "no token comes of half a prompt";
      if (token.finish != FinishReason::none) ends.push_back(token.finish);
      return true;
    };
    std::string prompt;
    while (prompt.size() < 90) prompt += kPrompt;
    const auto id = engine->submit(greedy(prompt, 4));
    ASSERT_TRUE(id);
    const auto left = engine->step(heard);
    ASSERT_TRUE(left) << left.error().text();
    EXPECT_EQ(*left, 1u) << "a chunk of the prompt is done";
    EXPECT_TRUE(ends.empty());
    const std::uint64_t rung = machine.card.model().queues().doorbells_rung();
    engine->cancel(*id);
    EXPECT_EQ(engine->step(heard).value(), 0u);
    EXPECT_EQ(ends, std::vector<FinishReason>{FinishReason::cancelled});
    EXPECT_EQ(machine.card.model().queues().doorbells_rung(), rung) << "nothing is submitted for it";

    struct StopsAfter {
      std::uint32_t* questions;
      [[nodiscard]] bool stop_requested() const noexcept { return *questions == 0 || (*questions)-- == 0; }
    };
    for (std::uint32_t after = 0; after < 3; ++after) {
      std::uint32_t questions = after;
      const auto done = engine->generate(
          greedy(prompt, 4), [](const Token& token) { return token.id == kNoToken; }, StopsAfter{&questions});
      ASSERT_TRUE(done) << done.error().text();
      EXPECT_EQ(done->finish, FinishReason::cancelled) << after;
    }
    expect_first(tokens_of(*engine, greedy(kPrompt, kFew)));
  }
  machine.expect_empty();
}

TEST_P(EngineFaults, AnEngineGoesWhileItsStepRuns) {
  Machine machine(GetParam());
  {
    auto engine = machine.open();
    ASSERT_TRUE(engine) << engine.error().text();
    ASSERT_EQ(tokens_of(*engine, greedy(kPrompt, 2)).size(), 2u);
    // The card has two more steps to do, and nobody waits for them.
    const auto packets = engine->executor().decode_plan().program().start();
    const std::uint64_t dispatches = machine.card.model().queues().counters().dispatches;
    const auto first = engine->device().transport().submit(packets);
    const auto second = engine->device().transport().submit(packets);
    ASSERT_TRUE(first && second);
    machine.card.model().pause();
    EXPECT_GT(machine.card.model().queues().counters().dispatches, dispatches);
    EXPECT_TRUE(engine->device().transport().passed(*first));
    EXPECT_FALSE(engine->device().transport().passed(*second));
  }
  machine.expect_empty();
  machine.expect_usable();
}

TEST_P(EngineFaults, AStepHangsAndItsEngineGoes) {
  Machine machine(GetParam());
  {
    auto engine = machine.open({.kernels = engines::kernels(), .step_timeout = 1'000'000'000});
    ASSERT_TRUE(engine) << engine.error().text();
    std::vector<FinishReason> ends;
    const auto heard = [&](RequestId, const Token& token) {
      if (token.finish != FinishReason::none) ends.push_back(token.finish);
      return true;
    };
    ASSERT_TRUE(engine->submit(greedy(kPrompt, 9)));
    const auto good = engine->step(heard);
    ASSERT_TRUE(good) << good.error().text();
    machine.card.model().lose_next_fence();
    for (int i = 0; i < 2; ++i) {
      const auto hung = engine->step(heard);
      ASSERT_FALSE(hung);
      EXPECT_EQ(hung.error().code(), Errc::limit_exceeded) << hung.error().text();
      const bool first = hung.error().text().starts_with("every launch has ended: queue ");
      EXPECT_EQ(first, i == 0) << hung.error().text();
      EXPECT_EQ(ends.size(), static_cast<std::size_t>(i) + 1);
      EXPECT_EQ(ends.back(), FinishReason::failed);
      ASSERT_TRUE(engine->submit(greedy(kPrompt, 1)));
    }
  }
  machine.expect_empty();
  machine.expect_usable();
}

TEST_P(EngineFaults, AKernelThatDoesNotEndIsNamedWithItsInstruction) {
  for (const std::string_view name : {"embedding_q8_0", "gated_act", "argmax"}) {
    Machine machine(GetParam());
    auto engine = machine.open({.kernels = engines::kernels(), .step_timeout = 1'000'000'000});
    ASSERT_TRUE(engine) << engine.error().text();
    const auto launches = engine->executor().decode_plan().program().launches();
    std::size_t at = 0;
    while (at < launches.size() && launches[at].signature->name.view() != name) ++at;
    ASSERT_LT(at, launches.size()) << name;
    ASSERT_TRUE(engine->submit(greedy(kPrompt, 9)));
    const auto ignore = [](RequestId, const Token&) { return true; };
    ASSERT_TRUE(engine->step(ignore)) << "the prompt";
    const std::uint64_t code = engine->device().kernels().find(name)->program.code;
    // No instruction of any.
    write_little(reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(code)), std::uint32_t{0xd7ff0000});
    const auto hung = engine->step(ignore);
    ASSERT_FALSE(hung);
    const std::string text(hung.error().text());
    EXPECT_TRUE(text.starts_with("launch " + std::to_string(at + 1) + " of " + std::to_string(launches.size()) + ", " +
                                 std::string(name)))
        << text;
    EXPECT_NE(text.find("unknown encoding"), std::string::npos) << text;
    EXPECT_EQ(hung.error().instruction(), launches[at].instruction);
    EXPECT_EQ(hung.error().opcode(), number(launches[at].opcode));
  }
}

TEST_P(EngineFaults, AStepThatDoesNotBeginIsToldSoBehindOneThatEnded) {
  Machine machine(GetParam());
  {
    auto engine = machine.open({.kernels = engines::kernels(), .step_timeout = 1'000'000'000});
    ASSERT_TRUE(engine) << engine.error().text();
    std::size_t tokens = 0;
    const auto count = [&](RequestId, const Token& token) {
      tokens += token.id != kNoToken;
      return true;
    };
    ASSERT_TRUE(engine->submit(greedy(kPrompt, 9)));
    // The second one comes of a step without the prompt.
    while (tokens < 2) ASSERT_TRUE(engine->step(count));
    machine.card.model().hold_queues(2'000'000'000);
    const auto hung = engine->step(count);
    ASSERT_FALSE(hung);
    EXPECT_EQ(hung.error().code(), Errc::limit_exceeded);
    EXPECT_TRUE(hung.error().text().starts_with("the step has not begun: queue ")) << hung.error().text();
  }
  machine.expect_empty();
}

TEST_P(EngineFaults, ATokenOutsideTheTableIsItsOwnStepsFaultAlone) {
  Machine machine(GetParam());
  auto engine = machine.open();
  ASSERT_TRUE(engine) << engine.error().text();
  // As the engine never does: it looks at tokens before.
  const auto step = [&](std::uint32_t token) {
    const std::uint32_t zero = 0;
    const std::vector<std::uint32_t> pages(64, 0);
    const std::vector<ops::SampleRequest> requests(1);
    exec::Batch batch;
    batch.tokens = {&token, 1};
    batch.slots = batch.positions = batch.rows = {&zero, 1};
    batch.requests = requests;
    batch.pages = pages.data();
    return engine->executor().step(batch);
  };
  ASSERT_TRUE(step(1)) << step(1).error().text();
  for (const std::uint32_t outside : {0x7fffffffu, 0xffffffffu}) {
    const auto violated = step(outside);
    ASSERT_FALSE(violated);
    EXPECT_EQ(violated.error().code(), Errc::spec_violation) << violated.error().text();
    EXPECT_EQ(violated.error().instruction(), engine->executor().decode_plan().program().launches()[0].instruction);
    const auto next = step(1);
    EXPECT_TRUE(next) << next.error().text();
  }
}

TEST_P(EngineFaults, TheGpuMayNotWriteWhatItOnlyReads) {
  const auto packets = [](Engine<zrt::emulator::Pm4Backend>& engine) {
    return static_cast<std::uint64_t>(
        reinterpret_cast<std::uintptr_t>(engine.executor().decode_plan().program().packets().data()));
  };
  const auto kernels = [](Engine<zrt::emulator::Pm4Backend>& engine) {
    const auto first = engine.executor().decode_plan().program().launches()[0];
    return engine.device().kernels().kernels()[first.kernel].program.code;
  };
  const auto weights = [](Engine<zrt::emulator::Pm4Backend>& engine) {
    const std::vector<float> data(32);
    const WeightView view{"norm", DType::f32, Shape{32}, std::as_bytes(std::span(data))};
    EXPECT_TRUE(engine.device().expect(view));
    const auto weight = engine.device().weight(view);
    EXPECT_TRUE(weight) << weight.error().text();
    return weight ? weight->parts[0] : 0;
  };
  const std::vector<std::pair<std::string, std::function<std::uint64_t(Engine<zrt::emulator::Pm4Backend>&)>>> places{
      {"packets", packets}, {"kernels", kernels}, {"weights", weights}};
  for (const auto& [name, place] : places) {
    SCOPED_TRACE(name);
    Machine machine(GetParam());
    auto engine = machine.open();
    ASSERT_TRUE(engine) << engine.error().text();
    const std::uint64_t address = place(*engine);
    const std::array<std::uint32_t, 1> data{};
    const auto write = pm4::stream_of<pm4::Gfx1201>(pm4::WriteData{address, data});
    auto& queue = engine->device().transport();
    const auto fence = queue.submit(write.span());
    ASSERT_TRUE(fence) << fence.error().text();
    const auto waited = queue.wait(*fence, 1'000'000'000);
    ASSERT_FALSE(waited) << "it was written";
    EXPECT_EQ(waited.error().code(), Errc::spec_violation) << waited.error().text();
    const zrt::emulator::AccessFault& access = machine.card.model().queues().fault().access;
    EXPECT_EQ(access.address, address);
    EXPECT_EQ(access.wanted, zrt::emulator::Permission::write);
    EXPECT_TRUE(access.mapped);
  }
}

TEST_P(EngineFaults, TwoEnginesShareACard) {
  Machine machine(GetParam());
  {
    auto one = machine.open(), other = machine.open();
    ASSERT_TRUE(one) << one.error().text();
    ASSERT_TRUE(other) << other.error().text() << machine.card.model().refusal();
    expect_first(tokens_of(*one, greedy(kPrompt, kFew)));
    expect_first(tokens_of(*other, greedy(kPrompt, kFew)));
  }
  machine.expect_empty();
}

TEST_P(EngineFaults, WorkgroupsOnTwoThreadsGiveTheSame) {
  TwoWorkers workers;
  Machine one(GetParam()), two(GetParam(), workers.hook());
  auto a = one.open(), b = two.open();
  ASSERT_TRUE(a && b);
  EXPECT_EQ(tokens_of(*b, greedy(kPrompt, kFew)), tokens_of(*a, greedy(kPrompt, kFew)));
  ASSERT_EQ(one.card.grids().size(), two.card.grids().size());
  for (std::size_t i = 0; i < one.card.grids().size(); ++i) {
    ASSERT_EQ(one.card.grids()[i].wave_instructions, two.card.grids()[i].wave_instructions) << i;
    ASSERT_EQ(one.card.grids()[i].bytes, two.card.grids()[i].bytes) << i;
  }
}

}  // namespace
}  // namespace zrt::test::tokens_faults_test
