// SPDX-License-Identifier: Apache-2.0
// tests/vulkan/adapters.cpp: LoRA adapters on a Vulkan device, loaded while it serves, give the reference's bits.
#include <support/adapted_answers.hpp>
#include <vulkan/engine_device.hpp>

namespace zrt::test {
namespace {

static_assert(RewritesWeights<engines::VulkanBackend>);

struct VulkanAdapters : VulkanTest {};

TEST_F(VulkanAdapters, SeveralInAStepAnswerAsOnTheReference) {
  for (const DType type : {DType::f32, DType::q8_0}) {
    const ModelFile model = tiny_model({.weights = type});
    const auto reference = open_engine(On::reference, model.bytes(), room_for_adapters());
    ASSERT_TRUE(reference) << reference.error().text();
    const auto expected = adapted_answers(**reference);
    ASSERT_NE(expected.at(1), expected.at(3)) << "an adapter changes what is said";
    for (const bool hidden : {false, true}) {
      SCOPED_TRACE(testing::Message() << name(type) << (hidden ? ", memory that the host does not see" : ""));
      double_state().has_own_memory = hidden;
      ASSERT_TRUE(LoaderDouble{}.entry());
      auto engine = VulkanEngine::open(model.bytes(), room_for_adapters(), on_double());
      ASSERT_TRUE(engine) << engine.error().text();
      EXPECT_EQ(adapted_answers(*engine), expected);
    }
  }
}

}  // namespace
}  // namespace zrt::test
