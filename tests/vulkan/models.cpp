// SPDX-License-Identifier: Apache-2.0
// tests/vulkan/models.cpp: small models of each weight type have the reference's logits.
#include <cstring>
#include <support/typed_model.hpp>
#include <vulkan/engine_device.hpp>

namespace zrt::test::vulkan_models_test {
namespace {

struct VulkanModels : VulkanTest {};

/// A prompt over a page and in two steps, and generated tokens: state and pages outlive a step.
constexpr std::array<std::int32_t, 18> kPrompt{1, 5, 9, 2, 7, 7, 3, 8, 4, 6, 1, 2, 3, 11, 12, 13, 14, 15};
constexpr std::array<std::int32_t, 3> kFed{3, 8, 20};

template <class E> std::vector<float> logits_of(E& engine) {
  std::vector<float> all;
  const auto done = engine.evaluate(
      kPrompt, kFed, [&](std::uint32_t, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  EXPECT_TRUE(done) << done.error().text();
  return all;
}

void expect_logits(std::span<const std::byte> model) {
  EngineOptions options = small_engine();
  options.logit_rows = 16;
  const auto reference = open_engine(On::reference, model, options);
  ASSERT_TRUE(reference) << reference.error().text();
  const std::vector<float> want = logits_of(**reference);
  auto engine = VulkanEngine::open(model, options, on_double());
  ASSERT_TRUE(engine) << engine.error().text();
  const std::vector<float> got = logits_of(*engine);
  ASSERT_EQ(got.size(), want.size());
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0);
}

/// The models whose logits tests/golden compares with llama.cpp's.
TEST_F(VulkanModels, EveryWeightTypeHasTheReferencesLogits) {
  ASSERT_TRUE(LoaderDouble{}.entry());
  std::size_t count = 0;
  for (const quant::TypeFacts& type : quant::kTypeFactsOf<quant::OwnTypes>) {
    // Each architecture has its share of the types.
    const std::string_view architecture = kTypedArchitectures[count++ % kTypedArchitectures.size()];
    SCOPED_TRACE(testing::Message() << architecture << " " << name(type.dtype));
    const Bytes file = TypedModel(architecture, type.dtype).build();
    expect_logits(std::span<const std::byte>(file));
  }
}

}  // namespace
}  // namespace zrt::test::vulkan_models_test
