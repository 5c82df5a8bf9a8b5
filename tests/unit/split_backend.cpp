// SPDX-License-Identifier: Apache-2.0
// tests/unit/split_backend.cpp: a model on two backends has the bits of one, wherever it is cut.
// covers: backend/split.hpp backend/split/device.hpp backend/split/program.hpp backend/split/room.hpp plan/split.hpp exec/placed_plan.hpp
// test-set: full
#include <zrt/backend/reference.hpp>
#include <zrt/backend/split.hpp>
#include <zrt/engine/engine.hpp>
#include <zrt/engine/engine_members.hpp>
#include <zrt/model/arch/gemma4.hpp>
#include <zrt/model/arch/granitehybrid.hpp>
#include <zrt/model/arch/llama.hpp>
#include <zrt/model/arch/qwen3moe.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <data/models/tiny_adapters.hpp>
#include <data/models/tiny_models.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace split_backend_test {

using namespace zrt;

/// The reference on a device with as much memory as a test says.
struct SmallDevice : reference::Device {
  struct Options {
    std::uint64_t room = ~std::uint64_t{0};
  };
  SmallDevice() = default;
  SmallDevice(const Allocator& allocator, const ThreadHook& threads, const Options& options) noexcept
      : reference::Device(allocator, threads), room_(options.room) {}
  [[nodiscard]] Result<std::uint64_t> bytes_left() const noexcept { return room_; }

 private:
  std::uint64_t room_ = ~std::uint64_t{0};
};
struct SmallBackend : ReferenceBackend {
  static constexpr std::string_view name = "small";
  using Device = SmallDevice;
  using DeviceOptions = SmallDevice::Options;
  using Claims = boost::mp11::mp_remove<ReferenceBackend::Claims, ops::CustomCall>;
  using Unsupported = OpsWithoutClaim<ops::Catalog, Claims>;
};

}  // namespace split_backend_test

namespace zrt::inline ZRT_ABI {

template <class O>
  requires HasReference<O>
struct Adapter<split_backend_test::SmallBackend, O> : Adapter<ReferenceBackend, O> {
  static Result<void> record(reference::Recorder& recorder,
                             const Call<split_backend_test::SmallBackend, O>& c) noexcept {
    const auto itself = [](const auto& operand) { return operand; };
    return Adapter<ReferenceBackend, O>::record(recorder, split::part_of<ReferenceBackend, O>(c, itself));
  }
};

}  // namespace zrt::inline ZRT_ABI

namespace split_backend_test {
namespace {

/// A dense family, one with experts, one with recurrent state, and one whose layers share keys and values.
struct FourFamilies {
  using List = boost::mp11::mp_list<model::Llama, model::Qwen3Moe, model::GraniteHybrid, model::Gemma4>;
  static constexpr bool takes_adapters = true;
};
using Split = SplitBackend<ReferenceBackend, SmallBackend>;
static_assert(CheckBackend<Split, ops::Catalog>::kOk);
static_assert(exec::TakesPlans<Split> && exec::AllocatesStates<Split> && exec::SeesRegisters<Split>);
static_assert(!exec::TakesPlans<ReferenceBackend> && !exec::AllocatesStates<ReferenceBackend> &&
              !exec::SeesRegisters<ReferenceBackend>);
using Whole = Engine<ReferenceBackend, FourFamilies>;
using Parts = Engine<Split, FourFamilies>;

std::string golden(std::string_view name) { return ZRT_SHARED_DIR "/golden/arch/" + std::string(name) + ".gguf"; }

/// Over a page, in two steps, and generated tokens: state and pages outlive a step.
const std::vector<std::int32_t> kPrompt{1, 5, 9, 2, 7, 7, 3, 8, 4, 6, 1, 2, 3, 11, 12, 13, 14, 15, 16, 17, 18};
const std::vector<std::int32_t> kFed{3, 8, 20};

EngineOptions small(std::uint32_t slots = 1) {
  EngineOptions options;
  options.slots = slots;
  options.context = 64;
  options.chunk = 16;
  options.logit_rows = 16;
  return options;
}

template <class E> std::vector<std::uint32_t> logits_of(E& engine) {
  std::vector<std::uint32_t> all;
  const auto done = engine.evaluate(kPrompt, kFed, [&](std::uint32_t, std::span<const float> row) {
    for (const float value : row) all.push_back(std::bit_cast<std::uint32_t>(value));
  });
  EXPECT_TRUE(done) << done.error().text();
  return all;
}

TEST(SplitBackend, EveryCutHasTheBitsOfOneBackend) {
  for (const std::string_view name : {"llama", "qwen3moe", "granitehybrid-moe"}) {
    if (!std::filesystem::exists(golden(name))) GTEST_SKIP() << golden(name) << " is missing";
    auto whole = Whole::open(golden(name), small());
    ASSERT_TRUE(whole) << whole.error().text();
    const std::vector<std::uint32_t> expected = logits_of(*whole);
    std::uint32_t layers = 1;
    for (std::uint32_t last = 0; last <= layers; ++last) {
      SCOPED_TRACE(testing::Message() << name << ", " << last << " layers");
      auto parts = Parts::open(golden(name), small(), {.layers = last});
      ASSERT_TRUE(parts) << parts.error().text();
      const plan::PlanSplit& split = parts->device().split();
      layers = split.layers;
      EXPECT_EQ(split.last_layers, last);
      EXPECT_FALSE(split.handed_over.empty());
      EXPECT_EQ(logits_of(*parts), expected);
    }
    EXPECT_GE(layers, 2u);
  }
}

TEST(SplitBackend, WeightsAndStatesLieWhereTheirLayerRuns) {
  const test::ModelFile file = test::tiny_model({.tied = true});
  auto parts = Parts::open(file.bytes(), small(), {.layers = 1});
  ASSERT_TRUE(parts) << parts.error().text();
  const plan::PlanSplit& split = parts->device().split();
  const plan::ExecutionPlan& plan = parts->plan().plan;
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    const std::string_view name = plan.weights[i].name.view();
    const std::uint32_t layer = plan::layer_of(name);
    SCOPED_TRACE(name);
    if (layer != plan::kNoLayer) {
      EXPECT_EQ(split.weights[i].first, layer == 0);
    }
    if (layer != plan::kNoLayer) {
      EXPECT_EQ(split.weights[i].last, layer == 1);
    }
    // The embedding of a tied model is its head, too.
    if (name == "token_embd.weight") {
      EXPECT_TRUE(split.weights[i].first && split.weights[i].last);
    }
    if (name == "output_norm.weight") {
      EXPECT_TRUE(!split.weights[i].first && split.weights[i].last);
    }
  }
  for (const plan::PartsUsing& state : split.states) EXPECT_NE(state.first, state.last);
}

/// The tokens of each request, by its number.
using Heard = std::map<std::uint64_t, std::vector<std::int32_t>>;
template <class E> void run(E& engine, Heard& heard, std::size_t steps = ~std::size_t{0}) {
  for (std::size_t left = 1; left != 0 && steps-- != 0;) {
    const auto done = engine.step([&](RequestId id, const Token& token) {
      if (token.id != kNoToken) heard[static_cast<std::uint64_t>(id)].push_back(token.id);
      return true;
    });
    ASSERT_TRUE(done) << done.error().text();
    left = *done;
  }
}

std::vector<std::int32_t> prompt_of(std::uint32_t tokens, std::int32_t first) {
  std::vector<std::int32_t> prompt;
  for (std::uint32_t i = 0; i < tokens; ++i) prompt.push_back((first + static_cast<std::int32_t>(i) * 7) % 60 + 1);
  return prompt;
}
Request request_of(const std::vector<std::int32_t>& prompt, std::uint32_t tokens) {
  Request request;
  request.tokens = prompt;
  request.max_tokens = tokens;
  request.ignore_eos = true;
  request.sampling.temperature = 1.1f;
  request.sampling.seed = 11;
  return request;
}

/// Requests join, leave, wait for slots and are preempted.
template <class E> Heard busy(E& engine) {
  Heard heard;
  const auto job = engine.create_tenant({.service = ServiceClass::batch});
  const auto chat = engine.create_tenant({.service = ServiceClass::interactive});
  EXPECT_TRUE(job && chat);
  const auto submit = [&](const std::vector<std::int32_t>& prompt, std::uint32_t tokens, TenantId tenant) {
    Request request = request_of(prompt, tokens);
    request.tenant = tenant;
    EXPECT_TRUE(engine.submit(request));
  };
  const auto a = prompt_of(19, 2), b = prompt_of(5, 9), c = prompt_of(33, 4), d = prompt_of(7, 30);
  submit(a, 20, *job);
  submit(b, 24, *job);
  run(engine, heard, 8);
  submit(c, 6, *chat);
  submit(d, 9, *chat);
  run(engine, heard);
  EXPECT_GE(engine.usage(*job)->preemptions, 1u);
  return heard;
}

TEST(SplitBackend, RequestsJoinLeaveAndResumeWithTheTokensOfOneBackend) {
  for (const std::string_view name : {"llama", "granitehybrid-moe"}) {
    if (!std::filesystem::exists(golden(name))) GTEST_SKIP() << golden(name) << " is missing";
    SCOPED_TRACE(name);
    auto whole = Whole::open(golden(name), small(2));
    ASSERT_TRUE(whole) << whole.error().text();
    const Heard expected = busy(*whole);
    EXPECT_EQ(expected.size(), 4u);
    for (const std::uint32_t last : {1u, 2u}) {
      auto parts = Parts::open(golden(name), small(2), {.layers = last});
      ASSERT_TRUE(parts) << parts.error().text();
      EXPECT_EQ(busy(*parts), expected) << last;
    }
  }
}

TEST(SplitBackend, ASnapshotContinuesOnAnotherCut) {
  const std::string path = golden("granitehybrid-moe");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing";
  auto whole = Whole::open(path, small(2));
  ASSERT_TRUE(whole) << whole.error().text();
  const auto prompt = prompt_of(19, 2);
  const Request request = request_of(prompt, 20);
  Heard alone;
  ASSERT_TRUE(whole->submit(request));
  run(*whole, alone);
  auto parts = Parts::open(path, small(2), {.layers = 1});
  auto others = Parts::open(path, small(2), {.layers = 3});
  ASSERT_TRUE(parts && others);
  Heard heard, rest;
  const auto id = parts->submit(request);
  ASSERT_TRUE(id);
  run(*parts, heard, 7);
  const auto bytes = parts->save(*id);
  ASSERT_TRUE(bytes) << bytes.error().text();
  ASSERT_TRUE(others->restore(bytes->span(), request));
  run(*others, rest);
  std::vector<std::int32_t> all = heard.begin()->second;
  all.insert(all.end(), rest.begin()->second.begin(), rest.begin()->second.end());
  EXPECT_EQ(all, alone.begin()->second);
}

TEST(SplitBackend, AdaptersAddWhereTheirLayerRuns) {
  const test::ModelFile file = test::tiny_model({});
  const test::ModelFile adapter = test::tiny_adapter(
      {.weights = {{"blk.0.attn_q.weight", 32, 32}, {"blk.1.attn_q.weight", 32, 32}, {"blk.1.ffn_down.weight", 64, 32}},
       .seed = 2});
  EngineOptions options = small(2);
  options.adapters = 1;
  const auto prompt = prompt_of(19, 2);
  const auto tokens_of = [&](auto& engine) {
    Heard heard;
    const auto id = engine.load_adapter(adapter.bytes());
    EXPECT_TRUE(id) << id.error().text();
    Request with = request_of(prompt, 9), without = with;
    with.adapter = *id;
    EXPECT_TRUE(engine.submit(with) && engine.submit(without));
    run(engine, heard);
    return heard;
  };
  auto whole = Whole::open(file.bytes(), options);
  ASSERT_TRUE(whole) << whole.error().text();
  const Heard expected = tokens_of(*whole);
  EXPECT_NE(expected.begin()->second, expected.rbegin()->second);
  for (const std::uint32_t last : {0u, 1u, 2u}) {
    auto parts = Parts::open(file.bytes(), options, {.layers = last});
    ASSERT_TRUE(parts) << parts.error().text();
    EXPECT_EQ(tokens_of(*parts), expected) << last;
  }
}

TEST(SplitBackend, ARoomTooSmallForAllTakesTheLayersThatFit) {
  const test::ModelFile file = test::tiny_model({.layers = 6});
  auto whole = Whole::open(file.bytes(), small());
  ASSERT_TRUE(whole) << whole.error().text();
  const std::vector<std::uint32_t> expected = logits_of(*whole);
  std::uint32_t before = 6;
  bool some = false;
  for (std::uint64_t room = 1 << 21; room > 1 << 12; room -= room / 4) {
    auto parts = Parts::open(file.bytes(), small(), {.last = {.room = room}});
    if (!parts) {
      EXPECT_EQ(parts.error().code(), Errc::out_of_memory) << parts.error().text();
      break;
    }
    const std::uint32_t layers = parts->device().split().last_layers;
    EXPECT_LE(layers, before);
    before = layers;
    if (layers == 0 || layers == 6 || some) continue;
    some = true;
    EXPECT_EQ(logits_of(*parts), expected);
  }
  EXPECT_TRUE(some);
  auto none = Parts::open(file.bytes(), small(), {.last = {.room = 1000}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Errc::out_of_memory);
}

TEST(SplitBackend, SaysWhatCannotBeCut) {
  const test::ModelFile file = test::tiny_model({});
  const auto more = Parts::open(file.bytes(), small(), {.layers = 3});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), Errc::invalid_argument);
  EXPECT_EQ(more.error().text(), "3 layers are asked for, the model has 2");
  const auto nothing = plan::split(plan::ExecutionPlan{}, 0);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code(), Errc::invalid_argument);
}

TEST(SplitBackend, LayersWithCommonKeysStayTogether) {
  const std::string path = golden("gemma4");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing";
  auto whole = Whole::open(path, small());
  ASSERT_TRUE(whole) << whole.error().text();
  const std::vector<std::uint32_t> expected = logits_of(*whole);
  int cut = 0, refused = 0;
  std::uint32_t layers = 1;
  for (std::uint32_t last = 0; last <= layers; ++last) {
    auto parts = Parts::open(path, small(), {.layers = last});
    if (!parts) {
      EXPECT_EQ(parts.error().code(), Errc::stage_handoff) << parts.error().text();
      ++refused;
      layers = last + 1;
      continue;
    }
    layers = parts->device().split().layers;
    EXPECT_EQ(logits_of(*parts), expected) << last;
    ++cut;
  }
  EXPECT_GE(cut, 2);
  EXPECT_GE(refused, 1);
}

}  // namespace
}  // namespace split_backend_test
