// SPDX-License-Identifier: Apache-2.0
// tests/unit/adapters.cpp: LoRA adapters: several in a step, each request as alone, and what is no adapter of the model.
#include <zrt/ops/lora_add.hpp>
#include <zrt/plan/compiled_plan.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <data/models/tiny_adapters.hpp>
#include <map>
#include <support/engines.hpp>
#include <vector>

namespace adapters_test {
namespace {

using namespace zrt;
using test::AdapterSpec;
using test::HostEngine;
using test::On;
using test::tiny_adapter;
using test::tiny_projections;

EngineOptions room(std::uint32_t slots = 1) {
  EngineOptions options;
  options.slots = slots;
  options.chunk = 16;
  options.adapters = 2;
  options.adapter_rank = 8;
  return options;
}

std::unique_ptr<HostEngine> open(const test::ModelFile& file, const EngineOptions& options, On on = On::cpu) {
  auto engine = test::open_engine(on, file.bytes(), options);
  EXPECT_TRUE(engine) << engine.error().text();
  return engine ? std::move(*engine) : nullptr;
}

AdapterId load(HostEngine& engine, const test::ModelFile& adapter, float scale = 1.0f) {
  const auto id = engine.load_adapter(adapter.bytes(), scale);
  EXPECT_TRUE(id) << id.error().text();
  return id ? *id : AdapterId{};
}

Request request(std::span<const std::int32_t> tokens, AdapterId adapter) {
  Request r;
  r.tokens = tokens;
  r.max_tokens = 6;
  r.ignore_eos = true;
  r.log_probabilities = 64;
  r.adapter = adapter;
  return r;
}

/// Tokens and the bits of all their log-probabilities.
using Heard = std::vector<std::uint32_t>;

void hear(Heard& heard, const Token& token) {
  if (token.id != kNoToken) heard.push_back(static_cast<std::uint32_t>(token.id));
  for (const TokenProbability& best : token.best) heard.push_back(std::bit_cast<std::uint32_t>(best.log_probability));
}

std::map<RequestId, Heard> run(HostEngine& engine) {
  std::map<RequestId, Heard> heard;
  for (std::size_t left = 1; left != 0;) {
    const auto r = engine.step([&](RequestId id, const Token& token) {
      EXPECT_NE(token.finish, FinishReason::failed) << token.error->text();
      hear(heard[id], token);
      return true;
    });
    EXPECT_TRUE(r) << r.error().text();
    left = r ? *r : 0;
  }
  return heard;
}

Heard alone(HostEngine& engine, const Request& r) {
  Heard heard;
  const auto done = engine.generate(r, [&](const Token& token) {
    hear(heard, token);
    return true;
  });
  EXPECT_TRUE(done) << done.error().text();
  return heard;
}

const test::ModelFile& adapter_a() {
  static const test::ModelFile file = tiny_adapter({.weights = tiny_projections(), .seed = 2});
  return file;
}
/// Of another rank, type and set of weights.
const test::ModelFile& adapter_b() {
  static const test::ModelFile file =
      tiny_adapter({.weights = {{"blk.1.attn_q.weight", 32, 32}, {"blk.1.ffn_down.weight", 64, 32}},
                    .rank = 8,
                    .seed = 3,
                    .dtype = DType::f16,
                    .alpha = 4.0f});
  return file;
}

class Adapters : public testing::TestWithParam<DType> {
 protected:
  test::ModelFile model_ = test::tiny_model({.weights = GetParam()});
};

TEST_P(Adapters, SeveralInAStepGiveWhatEachGivesAlone) {
  const std::vector<std::int32_t> tokens = test::tiny_prompt(64, 45, 3), other = test::tiny_prompt(64, 21, 4);
  std::vector<Heard> first;
  for (const On on : {On::cpu, On::reference}) {
    const auto single = open(model_, room(), on);
    const auto plain = open(model_, {.chunk = 64}, on);
    const std::vector<AdapterId> ids{load(*single, adapter_a()), load(*single, adapter_b(), 0.5f), AdapterId{}};
    std::vector<Heard> expected;
    for (const AdapterId id : ids) expected.push_back(alone(*single, request(tokens, id)));
    EXPECT_NE(expected[0], expected[1]);
    EXPECT_NE(expected[0], expected[2]);
    EXPECT_NE(expected[1], expected[2]);
    EXPECT_EQ(expected[2], alone(*plain, request(tokens, {}))) << "room for adapters changes nothing";
    if (on == On::cpu) first = expected;
    EXPECT_EQ(first, expected) << "the CPU has the bits of the reference";

    EngineOptions options = room(4);
    options.threads = on == On::cpu ? 2 : 1;
    const auto together = open(model_, options, on);
    ASSERT_EQ(load(*together, adapter_a()), ids[0]);
    ASSERT_EQ(load(*together, adapter_b(), 0.5f), ids[1]);
    std::vector<RequestId> requests;
    for (const AdapterId id : ids) {
      const auto submitted = together->submit(request(tokens, id));
      ASSERT_TRUE(submitted);
      requests.push_back(*submitted);
      ASSERT_TRUE(together->submit(request(other, ids[0]))) << "another beside them";
    }
    auto heard = run(*together);
    for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(heard[requests[i]], expected[i]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Unit, Adapters, testing::Values(DType::f32, DType::f16, DType::q8_0, DType::q4_0),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST(AdapterPrefixes, AreNotThoseOfAnotherAdapter) {
  const test::ModelFile model = test::tiny_model({});
  const std::vector<std::int32_t> tokens = test::tiny_prompt(64, 45, 3);
  EngineOptions options = room();
  std::vector<Heard> expected;
  for (std::uint32_t id = 0; id < 3; ++id) {
    const auto fresh = open(model, options);
    load(*fresh, adapter_a());
    load(*fresh, adapter_b());
    expected.push_back(alone(*fresh, request(tokens, AdapterId{id})));
  }
  options.prefix_cache = true;
  options.pages = 32;  // none of the prefixes goes
  const auto engine = open(model, options);
  load(*engine, adapter_a());
  load(*engine, adapter_b());
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t id = 0; id < 3; ++id) {
      std::uint32_t cached = 0;
      Heard heard;
      const auto done = engine->generate(request(tokens, AdapterId{id}), [&](const Token& token) {
        cached = token.cached_tokens;
        hear(heard, token);
        return true;
      });
      ASSERT_TRUE(done);
      EXPECT_EQ(heard, expected[id]) << id;
      EXPECT_EQ(cached, round == 0 ? 0u : 32u) << id;
    }
  // What takes the place of an adapter is another one.
  ASSERT_TRUE(engine->unload_adapter(AdapterId{1}));
  const AdapterId next = load(*engine, adapter_b());
  EXPECT_EQ(next, AdapterId{3});
  EXPECT_EQ(alone(*engine, request(tokens, next)), expected[2]);
}

TEST(AdapterPreemption, ResumesWithTheAdapterOfTheRequest) {
  const test::ModelFile model = test::tiny_model({});
  const std::vector<std::int32_t> tokens = test::tiny_prompt(64, 40, 3);
  const auto engine = open(model, room());
  const AdapterId a = load(*engine, adapter_a()), b = load(*engine, adapter_b());
  const auto job = engine->create_tenant({.service = ServiceClass::batch});
  const auto chat = engine->create_tenant({.service = ServiceClass::interactive});
  ASSERT_TRUE(job && chat);
  Request late = request(tokens, a), first = request(tokens, b);
  late.tenant = *job;
  late.max_tokens = 20;
  first.tenant = *chat;
  const auto preempted = engine->submit(late);
  ASSERT_TRUE(preempted);
  Heard heard;
  for (int i = 0; i < 8; ++i)
    ASSERT_TRUE(engine->step([&](RequestId, const Token& token) {
      hear(heard, token);
      return true;
    }));
  const auto beside = engine->submit(first);
  ASSERT_TRUE(beside);
  auto rest = run(*engine);
  heard.insert(heard.end(), rest[*preempted].begin(), rest[*preempted].end());
  EXPECT_EQ(engine->usage(*job)->preemptions, 1u);
  late.tenant = first.tenant = {};
  EXPECT_EQ(heard, alone(*engine, late));
  EXPECT_EQ(rest[*beside], alone(*engine, first));
}

TEST(AdapterSnapshots, ContinueWithTheAdapterTheyHad) {
  const test::ModelFile model = test::tiny_model({});
  const std::vector<std::int32_t> tokens = test::tiny_prompt(64, 20, 3);
  const auto engine = open(model, room(2));
  const AdapterId a = load(*engine, adapter_a()), b = load(*engine, adapter_b());
  const Heard expected = alone(*engine, request(tokens, a));
  const auto id = engine->submit(request(tokens, a));
  ASSERT_TRUE(id);
  Heard heard;
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(engine->step([&](RequestId, const Token& token) {
      hear(heard, token);
      return true;
    }));
  const auto saved = engine->save(*id);
  ASSERT_TRUE(saved) << saved.error().text();
  EXPECT_EQ(engine->unload_adapter(a).error().code(), Errc::invalid_state);
  engine->cancel(*id);
  (void)run(*engine);
  for (const AdapterId other : {b, AdapterId{}})
    EXPECT_EQ(engine->restore(saved->span(), request(tokens, other)).error().code(), Errc::invalid_argument);
  const auto restored = engine->restore(saved->span(), request(tokens, a));
  ASSERT_TRUE(restored) << restored.error().text();
  auto rest = run(*engine);
  heard.insert(heard.end(), rest[*restored].begin(), rest[*restored].end());
  EXPECT_EQ(heard, expected);
}

TEST(AdapterRequests, EndWhereTheirAdapterIsNotLoaded) {
  const test::ModelFile model = test::tiny_model({});
  const std::vector<std::int32_t> tokens = test::tiny_prompt(64, 10, 3);
  const auto engine = open(model, room());
  const AdapterId a = load(*engine, adapter_a());
  ASSERT_TRUE(engine->unload_adapter(a));
  EXPECT_EQ(engine->unload_adapter(a).error().code(), Errc::not_found);
  EXPECT_EQ(engine->generate(request(tokens, a), [](const Token&) { return true; }).error().code(), Errc::not_found);
  ASSERT_TRUE(engine->submit(request(tokens, a)));
  ASSERT_TRUE(engine->submit(request(tokens, {})));
  std::vector<FinishReason> ends;
  for (std::size_t left = 1; left != 0;) {
    const auto r = engine->step([&](RequestId, const Token& token) {
      if (token.finish != FinishReason::none) ends.push_back(token.finish);
      if (token.error != nullptr) {
        EXPECT_EQ(token.error->code(), Errc::not_found);
      }
      return true;
    });
    ASSERT_TRUE(r);
    left = *r;
  }
  EXPECT_EQ(ends, (std::vector{FinishReason::failed, FinishReason::length}));
}

TEST(AdapterFiles, RowsOfAFusedTensorAreChangedTogether) {
  const test::ModelFile model = test::tiny_model({.name = "phi3", .family = "phi3"});
  const std::vector<std::int32_t> tokens = test::tiny_prompt(64, 20, 3);
  const auto engine = open(model, room());
  const auto loaded =
      load(*engine, tiny_adapter({.weights = {{"blk.0.attn_qkv.weight", 32, 64}, {"blk.1.ffn_up.weight", 32, 128}},
                                  .architecture = "phi3"}));
  EXPECT_NE(alone(*engine, request(tokens, loaded)), alone(*engine, request(tokens, {})));
}

TEST(AdapterFiles, WhatIsNoAdapterOfTheModelIsRefusedByName) {
  const test::ModelFile model = test::tiny_model({});
  const auto engine = open(model, room());
  const AdapterSpec good{.weights = {{"blk.0.attn_q.weight", 32, 32}}};
  const auto refused = [&](Errc code, std::string_view text, void (*change)(AdapterSpec&)) {
    AdapterSpec spec = good;
    change(spec);
    const auto id = engine->load_adapter(tiny_adapter(spec).bytes());
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error().code(), code) << id.error().text();
    EXPECT_NE(id.error().text().find(text), std::string_view::npos) << id.error().text();
  };
  refused(Errc::invalid_argument, "for models of gemma2, expected llama",
          [](AdapterSpec& s) { s.architecture = "gemma2"; });
  refused(Errc::invalid_file, "'general.type' is model, expected adapter",
          [](AdapterSpec& s) { s.general_type = "model"; });
  refused(Errc::unimplemented, "'adapter.type' is dora, expected lora",
          [](AdapterSpec& s) { s.adapter_type = "dora"; });
  refused(Errc::capacity_exceeded, "rank for blk.0.attn_q.weight is 9, the engine was opened for at most 8",
          [](AdapterSpec& s) { s.rank = 9; });
  refused(Errc::missing_weight, "blk.7.attn_q.weight",
          [](AdapterSpec& s) { s.weights[0].name = "blk.7.attn_q.weight"; });
  refused(Errc::unimplemented, "output.weight, which is no plain projection",
          [](AdapterSpec& s) { s.weights[0] = {"output.weight", 32, 64}; });
  refused(Errc::unimplemented, "blk.0.attn_norm.weight",
          [](AdapterSpec& s) { s.weights[0].name = "blk.0.attn_norm.weight"; });
  refused(Errc::shape_mismatch, "of 48 rows and 32 columns, expected 32 and 32",
          [](AdapterSpec& s) { s.weights[0].rows = 48; });
  refused(Errc::shape_mismatch, "of 32 rows and 16 columns, expected 32 and 32",
          [](AdapterSpec& s) { s.weights[0].cols = 16; });
  refused(Errc::invalid_file, "blk.0.attn_q.weight.lora_a of the adapter has no partner blk.0.attn_q.weight.lora_b",
          [](AdapterSpec& s) { s.without_up = true; });
  refused(Errc::invalid_file, "no tensors", [](AdapterSpec& s) { s.weights.clear(); });
  EXPECT_EQ(engine->load_adapter(model.bytes()).error().code(), Errc::missing_metadata);
  EXPECT_EQ(engine->load_adapter(std::span(model.bytes()).first(20)).error().code(), Errc::truncated_file);

  const test::ModelFile file = tiny_adapter(good);
  load(*engine, file);
  load(*engine, file);
  EXPECT_EQ(engine->load_adapter(file.bytes()).error().code(), Errc::capacity_exceeded);
  EXPECT_EQ(open(model, {})->load_adapter(file.bytes()).error().code(), Errc::capacity_exceeded);
}

TEST(AdapterRoom, NoneIsThePlanWithoutAdapters) {
  const test::ModelFile model = test::tiny_model({});
  const auto plain = open(model, {}), with = open(model, room());
  const auto count = [](const HostEngine& engine) {
    std::size_t n = 0;
    const plan::ExecutionPlan& p = engine.plan().plan;
    for (std::size_t i = 0; i < p.instructions.size(); ++i)
      n += p.instruction(i).opcode == ops::LoraAdd::opcode ? 1u : 0u;
    return n;
  };
  EXPECT_EQ(count(*plain), 0u);
  EXPECT_EQ(plain->plan().plan.input("adapters"), plan::kNoRegister);
  EXPECT_EQ(count(*with), 14u) << "seven projections in each of two layers";
  EXPECT_EQ(test::open_engine(On::cpu, model.bytes(), {.adapters = 4097}).error().code(), Errc::invalid_argument);
}

}  // namespace
}  // namespace adapters_test
