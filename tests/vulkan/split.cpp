// SPDX-License-Identifier: Apache-2.0
// tests/vulkan/split.cpp: the last layers of a model on a Vulkan device, and the first on the processor.
// covers: backend/split.hpp backend/vulkan/backend_device.hpp
#include <cstring>
#include <filesystem>
#include <support/adapted_answers.hpp>
#include <vulkan/engine_device.hpp>
#include <vulkan_split.hpp>

namespace zrt::test::vulkan_split_test {
namespace {

static_assert(ExpectsWeights<engines::VulkanSplit> && BoundsSteps<engines::VulkanSplit>);

struct VulkanSplits : VulkanTest {};

using SplitEngine = Engine<engines::VulkanSplit>;

template <class Model>
Result<SplitEngine> open_split(const Model& path, std::optional<std::uint32_t> layers,
                               const EngineOptions& options = small_engine()) {
  if (const auto entry = LoaderDouble{}.entry(); !entry) return pass(entry);
  engines::VulkanSplit::DeviceOptions device;
  device.layers = layers;
  device.last = on_double();
  return SplitEngine::open(path, options, device);
}

TEST_F(VulkanSplits, EveryCutOfBardHasTheReferencesTokens) {
  const Request request = greedy_request("ROMEO:\n", 6);
  std::uint32_t layers = 1;
  for (std::uint32_t last = 0; last <= layers; ++last) {
    SCOPED_TRACE(last);
    auto engine = open_split(kVulkanBard, last);
    ASSERT_TRUE(engine) << engine.error().text();
    layers = engine->device().split().layers;
    EXPECT_EQ(bits_of(*engine, request), reference_bits(kVulkanBard, request));
  }
}

TEST_F(VulkanSplits, ModelsWithRecurrentStateAndExpertsHaveTheReferencesLogits) {
  EngineOptions options = small_engine();
  options.logit_rows = 16;
  for (const std::string_view name : {"granitehybrid-moe", "qwen3moe", "llama"}) {
    const std::string path = ZRT_SHARED_DIR "/golden/arch/" + std::string(name) + ".gguf";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing";
    const auto reference = open_engine(On::reference, path, options);
    ASSERT_TRUE(reference) << reference.error().text();
    const std::vector<float> want = fixed_logits(**reference);
    for (const std::uint32_t last : {1u, 2u}) {
      SCOPED_TRACE(testing::Message() << name << ", " << last);
      auto engine = open_split(path, last, options);
      ASSERT_TRUE(engine) << engine.error().text();
      const std::vector<float> got = fixed_logits(*engine);
      ASSERT_EQ(got.size(), want.size());
      EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0);
    }
  }
}

TEST_F(VulkanSplits, AdaptersAnswerAsOnTheReferenceWhereverTheCutIs) {
  const ModelFile model = tiny_model({.weights = DType::q8_0});
  const auto reference = open_engine(On::reference, model.bytes(), room_for_adapters());
  ASSERT_TRUE(reference) << reference.error().text();
  const auto expected = adapted_answers(**reference);
  for (const std::uint32_t last : {0u, 1u, 2u}) {
    SCOPED_TRACE(last);
    auto engine = open_split(model.bytes(), last, room_for_adapters());
    ASSERT_TRUE(engine) << engine.error().text();
    EXPECT_EQ(adapted_answers(*engine), expected);
  }
}

TEST_F(VulkanSplits, ADeviceWithLittleMemoryTakesTheLayersThatFit) {
  {
    auto engine = open_split(kVulkanBard, std::nullopt);
    ASSERT_TRUE(engine) << engine.error().text();
    EXPECT_EQ(engine->device().split().last_layers, engine->device().split().layers);
  }
  double_state().memory_bytes = 4 << 20;
  auto engine = open_split(kVulkanBard, std::nullopt);
  ASSERT_TRUE(engine) << engine.error().text();
  const plan::PlanSplit& split = engine->device().split();
  EXPECT_GT(split.last_layers, 0u);
  EXPECT_LT(split.last_layers, split.layers);
  const Request request = greedy_request("ROMEO:\n", 6);
  EXPECT_EQ(bits_of(*engine, request), reference_bits(kVulkanBard, request));
}

}  // namespace
}  // namespace zrt::test::vulkan_split_test
