// SPDX-License-Identifier: Apache-2.0
// tests/vulkan/models.cpp: small models of each weight type have the reference's logits.
#include <cstring>
#include <support/typed_model.hpp>
#include <vulkan/engine_device.hpp>

namespace zrt::test::vulkan_models_test {
namespace {

struct VulkanModels : VulkanTest {};

void expect_logits(std::span<const std::byte> model) {
  EngineOptions options = small_engine();
  options.logit_rows = 16;
  const auto reference = open_engine(On::reference, model, options);
  ASSERT_TRUE(reference) << reference.error().text();
  const std::vector<float> want = fixed_logits(**reference);
  auto engine = VulkanEngine::open(model, options, on_double());
  ASSERT_TRUE(engine) << engine.error().text();
  const std::vector<float> got = fixed_logits(*engine);
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
