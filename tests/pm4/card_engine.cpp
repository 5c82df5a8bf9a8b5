// SPDX-License-Identifier: Apache-2.0
// tests/pm4/card_engine.cpp: what a device does for its engine: self-test, constants, pools, pieces of a step, times.
#include <gtest/gtest.h>

#include <map>
#include <pm4/engine_card.hpp>
#include <pm4/scaled_add.hpp>
#include <vector>

namespace zrt::test::card_engine_test {
namespace {

using Backend = zrt::emulator::Pm4Backend;
using Observed = Engine<Backend, AllFamilies, trace::TimelineObserver>;

const std::string kBard = ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf";

// --- the self-test ---

/// A host's memory of kernels that passed.
struct Remembered {
  std::map<std::uint64_t, int> keys;
  int asked = 0;

  [[nodiscard]] pm4::SelfTestCache cache() {
    return {this,
            [](void* self, std::uint64_t key) noexcept {
              auto& r = *static_cast<Remembered*>(self);
              ++r.asked;
              return r.keys.contains(key);
            },
            [](void* self, std::uint64_t key) noexcept { ++static_cast<Remembered*>(self)->keys[key]; }};
  }
};

Result<void> ready(engines::ModelledCard& card, const Backend::DeviceOptions& options) {
  Backend::DeviceOptions with_card = options;
  with_card.os = &card.os();
  Backend::Device device(system_allocator(), {}, with_card);
  return device.ready();
}

TEST(Pm4SelfTest, TriesEachKernelOnceForEachCard) {
  Remembered remembered;
  const Backend::DeviceOptions asked{
      .kernels = engines::kernels(), .self_test = pm4::SelfTest::always, .tested = remembered.cache()};
  {
    engines::ModelledCard card({.target = pm4::find_target("gfx1201")});
    const auto first = ready(card, asked);
    ASSERT_TRUE(first) << first.error().text() << " / " << card.model().queues().stopped();
    EXPECT_EQ(remembered.keys.size(), engines::kernels().size() / 3) << "each target has the same kernels";
    EXPECT_EQ(card.grids().size(), remembered.keys.size());
    EXPECT_TRUE(card.model().live().none()) << "the cases give their memory back";
  }
  {
    engines::ModelledCard same({.target = pm4::find_target("gfx1201")});
    ASSERT_TRUE(ready(same, asked));
    EXPECT_TRUE(same.grids().empty()) << "they are known to be right";
  }
  const std::size_t known = remembered.keys.size();
  // Neither a larger card of the same processor nor another driver is the one that was tried.
  engines::ModelledCard larger({.target = pm4::find_target("gfx1201"), .compute_units = 64});
  ASSERT_TRUE(ready(larger, asked));
  EXPECT_EQ(remembered.keys.size(), 2 * known);
  for (const auto& [key, times] : remembered.keys) EXPECT_EQ(times, 1);
}

TEST(Pm4SelfTest, IsForRealQueuesUnlessAHostAsks) {
  Remembered remembered;
  for (const pm4::SelfTest when : {pm4::SelfTest::on_card, pm4::SelfTest::never}) {
    engines::ModelledCard card({});
    ASSERT_TRUE(ready(card, {.kernels = engines::kernels(), .self_test = when, .tested = remembered.cache()}));
    EXPECT_TRUE(card.grids().empty());
  }
  EXPECT_EQ(remembered.asked, 0);
  EXPECT_FALSE(pm4::is_modelled(pm4::LinuxOs{}));
  EXPECT_FALSE(emulator::ChosenOs{}.is_modelled());
}

/// A card that forgets one grid of those that it is given.
struct Forgetful {
  std::uint64_t forgotten = 0;
  std::uint64_t seen = 0;

  static Result<void> run(void* self, const emulator::Dispatch& dispatch,
                          const emulator::AddressSpace& memory) noexcept {
    auto& card = *static_cast<Forgetful*>(self);
    if (++card.seen == card.forgotten) return {};
    const auto counters = engines::run_grid(dispatch, memory);
    if (!counters) return pass(counters);
    return {};
  }
};

TEST(Pm4SelfTest, AKernelThatComputesSomethingElseOpensNoEngine) {
  Forgetful card{.forgotten = 2};
  emulator::EmulatedOs model({.kernel = emulator::kLinux6_16}, {&card, &Forgetful::run});
  emulator::ChosenOs os(model);
  Remembered remembered;
  const auto engine = Engine<Backend>::open(
      kBard, small(),
      {.os = &os, .kernels = engines::kernels(), .self_test = pm4::SelfTest::always, .tested = remembered.cache()});
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code(), Errc::spec_violation);
  EXPECT_TRUE(engine.error().text().starts_with("self-test of kernel matvec_f32: byte 0 of buffer 3 is 238, "))
      << engine.error().text();
  EXPECT_EQ(remembered.keys.size(), 1u) << "the one before it";
  EXPECT_TRUE(model.live().none());
}

// --- constants ---

/// A .zrt file of scaled_add, its scale a placeholder.
std::vector<std::byte> scaled_add_file() {
  const auto bytes = file_bytes(ZRT_TEST_DATA_DIR "/pm4/kernels-gfx1201.hsaco");
  const auto object = pm4::CodeObject::open(bytes);
  EXPECT_TRUE(object) << object.error().text();
  std::vector<std::byte> file;
  const auto found = pm4::for_each_kernel(*object, [&](const pm4::KernelMetadata& metadata) -> Result<void> {
    if (metadata.name != "scaled_add") return {};
    static constexpr std::array<pm4::Placeholder, 1> scale{{{"scale", 0xcafe0001}}};
    const auto made = pm4::convert_kernel(*object, metadata, scale, system_allocator());
    if (!made) return pass(made);
    file.assign(made->span().begin(), made->span().end());
    return {};
  });
  EXPECT_TRUE(found) << found.error().text();
  return file;
}

TEST(Pm4Constants, OfAHostReachTheCodeOfItsKernels) {
  const std::vector<std::byte> bytes = scaled_add_file();
  const std::array<std::span<const std::byte>, 1> files{bytes};
  struct Case {
    std::vector<pm4::KernelConstant> constants;
    std::string_view error;
    std::uint32_t scale = 0;
  };
  const std::vector<Case> cases{
      {{{"scale", 5}}, {}, 5},
      {{{"scale", 7}, {"scale", 5, "scaled_add"}}, {}, 5},
      {{}, "kernel scaled_add needs constant scale"},
      {{{"scale", 5}, {"scale", 5}}, "constant scale is given twice"},
      {{{"scale", 5}, {"columns", 8}}, "no kernel for gfx1201 has a constant columns"},
      {{{"scale", 5, "scaled_sum"}, {"scale", 4}}, "no kernel scaled_sum for gfx1201 has a constant scale"},
  };
  for (const Case& c : cases) {
    engines::ModelledCard card({.target = pm4::find_target("gfx1201")});
    Backend::Device device(system_allocator(), {}, {.os = &card.os(), .kernels = files, .constants = c.constants});
    const auto ready = device.ready();
    ASSERT_EQ(ready.has_value(), c.error.empty()) << c.error;
    if (!ready) {
      EXPECT_EQ(ready.error().text(), c.error);
      continue;
    }
    std::array<float, 4> a{1, 2, 3, 4}, b{10, 20, 30, 40}, out{}, expected{};
    for (std::size_t i = 0; i < 4; ++i) expected[i] = a[i] + b[i] * static_cast<float>(c.scale);
    device::KernelCase launch("scaled_add");
    launch.reads(Span<float>(a)).reads(Span<float>(b));
    launch.becomes(Span<float>(out), Span<float>(expected)).value(4u);
    auto& queue = device.transport();
    const auto ran = pm4::run_case<pm4::Gfx1201, Backend::Memory>(
        queue.device(), *device.kernels().find("scaled_add"), launch, pm4::GridSource::memory,
        [&](std::span<const std::uint32_t> packets) -> Result<void> {
          const auto fence = queue.submit(packets);
          if (!fence) return pass(fence);
          return queue.wait(*fence, 1'000'000'000);
        });
    EXPECT_TRUE(ran) << ran.error().text();
  }
}

// --- pools ---

TEST(Pm4Weights, TheSameWeightOfEveryLayerLiesInOnePool) {
  engines::ModelledCard card({});
  Backend::Device device(system_allocator(), {}, {.os = &card.os(), .kernels = engines::kernels()});
  ASSERT_TRUE(device.ready());
  const std::size_t before = card.model().live().buffers;
  const std::vector<float> data(64 * 32, 1.0f);
  const auto view = [&](std::string_view name, std::uint32_t rows) {
    return WeightView{name, DType::f32, Shape{rows, 32}, std::as_bytes(std::span(data)).first(rows * 128)};
  };
  const std::array weights{view("blk.0.attn_q.weight", 64),  view("blk.0.attn_k.weight", 32),
                           view("blk.1.attn_q.weight", 64),  view("blk.1.attn_k.weight", 32),
                           view("blk.12.attn_q.weight", 64), view("output.weight", 32),
                           view("token_embd.weight", 32)};
  for (const WeightView& w : weights) ASSERT_TRUE(device.expect(w));
  std::vector<std::uint64_t> at;
  for (const WeightView& w : weights) {
    const auto made = device.weight(w);
    ASSERT_TRUE(made) << made.error().text();
    at.push_back(made->parts[0]);
  }
  EXPECT_EQ(card.model().live().buffers, before + 3) << "of attn_q, of attn_k, and of what is in no layer";
  EXPECT_EQ(at[2] - at[0], 64u * 128);
  EXPECT_EQ(at[4] - at[2], 64u * 128) << "a constant stride";
  EXPECT_EQ(at[3] - at[1], 32u * 128);
  EXPECT_EQ(at[6] - at[5], 32u * 128);
}

// --- pieces of a step ---

/// Asks for the end once it has been asked so many times.
struct StopAfter {
  int* polls;
  int last;

  [[nodiscard]] bool stop_requested() const noexcept { return ++*polls > last; }
};

TEST(Pm4Pieces, AStopIsSeenBetweenThePiecesOfALongStep) {
  const Request request = greedy("O, I am", 2);
  std::vector<std::int32_t> whole, pieces;
  const auto collect = [](std::vector<std::int32_t>& to) {
    return [&to](const Token& token) {
      if (token.id != kNoToken) to.push_back(token.id);
      return true;
    };
  };
  OnCard plain(kCardWays.front(), kBard, small());
  ASSERT_TRUE(plain.engine) << plain.why(plain.engine.error());
  ASSERT_TRUE(plain.engine->generate(request, collect(whole)));

  engines::ModelledCard card({.target = pm4::find_target("gfx1201"), .kernel = zrt::emulator::kLinux6_16});
  auto engine =
      Engine<Backend>::open(kBard, small(), {.os = &card.os(), .kernels = engines::kernels(), .whole_step_tokens = 1});
  ASSERT_TRUE(engine) << engine.error().text();
  const auto& prefill = engine->executor().prefill_plan().program();
  ASSERT_EQ(prefill.pieces(), prefill.size() / 8);
  // The engine asks before a step, the program before its first launch and before each other piece.
  const auto fences = [&] { return card.model().queues().counters().fences; };
  int polls = 0;
  card.forget();
  std::uint64_t before = fences();
  const auto stopped = engine->generate(request, collect(pieces), StopAfter{&polls, 4});
  ASSERT_TRUE(stopped) << stopped.error().text() << " / " << card.model().queues().stopped();
  EXPECT_EQ(stopped->finish, FinishReason::cancelled);
  EXPECT_TRUE(pieces.empty());
  EXPECT_EQ(fences() - before, 3u) << "three pieces had been handed over";
  EXPECT_GT(card.grids().size(), 0u);
  EXPECT_LT(card.grids().size(), prefill.size() / 2);

  // The next request is computed as if nothing had been: the prompt in pieces, the other token in one.
  before = fences();
  const auto done = engine->generate(request, collect(pieces));
  ASSERT_TRUE(done) << done.error().text() << " / " << card.model().queues().stopped();
  EXPECT_EQ(pieces, whole);
  EXPECT_EQ(fences() - before, prefill.pieces() + 1);
}

// --- times ---

TEST(Pm4Times, ALaunchTakesAsLongAsTheCardsClockSays) {
  for (const std::size_t which : {0u, 1u}) {
    const CardWay& way = kCardWays[which];
    SCOPED_TRACE(way.name());
    engines::ModelledCard card({.target = pm4::find_target(way.target), .kernel = zrt::emulator::kLinux6_16});
    trace::Timeline timeline({.bytes = 1 << 20});
    auto engine = Observed::open(kBard, small(), {.os = &card.os(), .kernels = engines::kernels(), .tier = way.tier},
                                 {&timeline});
    ASSERT_TRUE(engine) << engine.error().text();
    card.forget();
    ASSERT_TRUE(engine->generate(greedy("O", 2), [](const Token&) { return true; })) << card.model().complaint();
    const auto launches = engine->executor().decode_plan().program().launches();
    ASSERT_EQ(timeline.steps().size(), 2u);
    const auto calls = timeline.device();
    ASSERT_EQ(calls.size(), card.grids().size());
    ASSERT_EQ(calls.size() % launches.size(), 0u);
    // A tick for each instruction of a wave and for each packet, of which a launch has some twenty; 10 ns a tick.
    const double host_tick = timeline.clock().nanoseconds_per_tick();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::size_t in_step = i % launches.size();
      EXPECT_EQ(calls[i].instruction, launches[in_step].instruction);
      if (in_step != 0) {
        EXPECT_LE(calls[i].begin, calls[i - 1].end + 1);
        EXPECT_GE(calls[i].begin + 1, calls[i - 1].end);
      }
      const double ticks = static_cast<double>(calls[i].end - calls[i].begin) * host_tick / 10.0;
      const auto instructions = static_cast<double>(card.grids()[i].wave_instructions);
      EXPECT_GE(ticks + 1.0, instructions) << i;
      EXPECT_LE(ticks, instructions + 25.0) << i;
    }
  }
}

TEST(Pm4Times, ADriverThatTellsNoRateTimesNothing) {
  engines::ModelledCard card({.kernel = zrt::emulator::kLinux6_16, .clock_rate = 0});
  trace::Timeline timeline({.bytes = 1 << 20});
  const auto engine = Observed::open(kBard, small(), {.os = &card.os(), .kernels = engines::kernels()}, {&timeline});
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code(), Errc::unsupported_device);
  EXPECT_NE(engine.error().text().find("does not tell the rate of the GPU's clock"), std::string_view::npos)
      << engine.error().text();
}

}  // namespace
}  // namespace zrt::test::card_engine_test
