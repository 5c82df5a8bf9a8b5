// SPDX-License-Identifier: Apache-2.0
// tests/unit/cpu_policies.cpp: a CPU backend compiled for one weight type and one variant, and what it refuses.
// test-set: full
#include <zrt/backend/cpu.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <data/models/tiny_models.hpp>
#include <string>
#include <support/engine_of.hpp>
#include <vector>

namespace cpu_policies_test {
namespace {

using namespace zrt;
using test::On;

// v1 runs everywhere, and where the baseline is higher it stands for the lowest that is built.
using Narrow = BasicCpuBackend<cpu::WeightTypes<DType::q8_0>, cpu::Variants<cpu::Isa::v1>>;
using OnlyV4 = cpu::BasicDevice<cpu::AllWeightTypes, cpu::Variants<cpu::Isa::v4>>;

std::vector<std::int32_t> tokens_of(test::HostEngine& engine) {
  Request request;
  request.prompt = "ROMEO:\n";
  request.max_tokens = 24;
  request.sampling.temperature = 0.8f;
  request.sampling.seed = 7;
  std::vector<std::int32_t> ids;
  const auto done = engine.generate(request, [&](const Token& token) {
    if (token.id != kNoToken) ids.push_back(token.id);
    return true;
  });
  EXPECT_TRUE(done) << (done ? "" : done.error().text());
  return ids;
}

TEST(CpuPolicies, ANarrowEngineGivesTheSameTokensAndLogits) {
  const std::string model = ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf";
  auto narrow = test::open_on<Narrow>(std::string_view(model), EngineOptions{.context = 64});
  auto whole = test::open_engine(On::cpu, std::string_view(model), EngineOptions{.context = 64});
  ASSERT_TRUE(narrow) << narrow.error().text();
  ASSERT_TRUE(whole) << whole.error().text();
  const std::vector<std::int32_t> ids = tokens_of(**whole);
  EXPECT_EQ(ids.size(), 24u);
  EXPECT_EQ(tokens_of(**narrow), ids);

  std::array<std::vector<float>, 2> logits;
  for (std::size_t i = 0; i < 2; ++i) {
    auto& engine = i == 0 ? **narrow : **whole;
    ASSERT_TRUE(engine.evaluate(ids, {}, [&](std::uint32_t, std::span<const float> row) {
      logits[i].insert(logits[i].end(), row.begin(), row.end());
    }));
  }
  ASSERT_FALSE(logits[0].empty());
  EXPECT_EQ(std::memcmp(logits[0].data(), logits[1].data(), logits[0].size() * sizeof(float)), 0);
  EXPECT_EQ(logits[0].size(), logits[1].size());
}

TEST(CpuPolicies, OnlyTheListedVariantIsChosen) {
  EXPECT_EQ(Narrow::Device().isa(), cpu::kLowestIsa);
  EXPECT_EQ(cpu::Device().isa(), std::max(cpu::detect_isa(), cpu::kLowestIsa));
  EXPECT_EQ(Narrow::Device().kernels().weights.size(), 2u) << "q8_0, and f32, which is always there";
}

TEST(CpuPolicies, AWeightOfAnotherTypeIsRefusedByName) {
  for (const DType type : {DType::q4_0, DType::f16}) {
    const test::ModelFile file = test::tiny_model({.weights = type});
    ASSERT_TRUE(test::open_engine(On::cpu, file.bytes()));
    const auto engine = test::open_on<Narrow>(file.bytes(), EngineOptions{});
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().code(), Errc::unsupported_weight_type);
    const std::string text(engine.error().text());
    EXPECT_NE(text.find("token_embd.weight"), text.npos) << text;
    EXPECT_NE(text.find(name(type)), text.npos) << text;
    EXPECT_NE(text.find("add the type to the WeightTypes of BasicCpuBackend"), text.npos) << text;
  }
  EXPECT_TRUE(test::open_on<Narrow>(test::tiny_model({.weights = DType::q8_0}).bytes(), EngineOptions{}));
}

TEST(CpuPolicies, AProcessorWithoutAListedVariantIsRefused) {
  if (cpu::kLowestIsa > cpu::Isa::v3) GTEST_SKIP() << "this program's own baseline demands v4";
  OnlyV4 device(system_allocator(), {}, cpu::Isa::v3);
  const auto ready = device.ready();
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code(), Errc::unsupported_device);
  const std::string text(ready.error().text());
  EXPECT_NE(text.find("runs v3"), text.npos) << text;
  EXPECT_NE(text.find("compiled for v4 alone"), text.npos) << text;

  // Whoever binds without asking is refused too.
  const std::array<float, 4> data{};
  const auto weight = device.weight({"w", DType::f32, {4}, std::as_bytes(std::span(data))});
  ASSERT_FALSE(weight);
  EXPECT_EQ(weight.error().code(), Errc::unsupported_device);
  cpu::Program program(device);
  cpu::DeviceRecorder recorder(program, device);
  const auto begun = recorder.begin({});
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code(), Errc::unsupported_device);
}

static_assert(!cpu::WeightType<DType::q8_1> && cpu::WeightType<DType::q6_k>);

}  // namespace
}  // namespace cpu_policies_test
