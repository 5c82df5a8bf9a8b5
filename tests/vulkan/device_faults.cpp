// SPDX-License-Identifier: Apache-2.0
// covers: backend/vulkan/device.hpp backend/vulkan/instance.hpp backend/vulkan/failure.hpp
#include <zrt/core/slice.hpp>

#include <algorithm>
#include <vulkan/vulkan_test.hpp>

namespace zrt::test {
namespace {

using vulkan::Heap;
using vulkan::Memory;

bool names(const Error& error, std::string_view what) { return error.text().find(what) != std::string_view::npos; }

struct VulkanFaults : VulkanTest {
  /// What went wrong is gone: a device can be opened and works.
  static void expect_works() {
    double_state().faults.clear();
    double_state().missing_feature.clear();
    double_state().missing_function.clear();
    double_state().has_no_device = false;
    double_state().never_ends = false;
    double_state().loader_version = 0;
    auto device = open();
    ASSERT_TRUE(device.has_value()) << device.error().text();
    const auto ran = run(**device);
    EXPECT_TRUE(ran.has_value()) << ran.error().text();
  }
  static Result<vulkan::Pipeline> kernel(vulkan::Device& device) {
    return vulkan::Pipeline::make(device, "numerics_probe", spirv_of("numerics_probe"), {});
  }
  /// One launch of the probe's kernel on no triples.
  static Result<void> run(vulkan::Device& device) {
    const auto pipeline = kernel(device);
    if (!pipeline) return pass(pipeline);
    const auto memory = Memory::allocate(device, Heap::shared, 256);
    if (!memory) return pass(memory);
    std::memset(memory->span().data(), 0, 256);
    return vulkan::run_once(device, *pipeline, memory->address(), {1, 1, 1}, 2'000'000'000);
  }
};

TEST_F(VulkanFaults, WithoutDevicesTheErrorSaysWhatToInstall) {
  double_state().has_no_device = true;
  const auto device = open();
  ASSERT_FALSE(device.has_value());
  EXPECT_EQ(device.error().code(), Errc::unsupported_device);
  EXPECT_TRUE(names(device.error(), "mesa-vulkan-drivers")) << device.error().text();
  expect_works();
}

TEST_F(VulkanFaults, WithoutADriverTheErrorSaysWhatToInstall) {
  double_state().faults = {{"vkCreateInstance", VK_ERROR_INCOMPATIBLE_DRIVER, 0}};
  const auto device = open();
  ASSERT_FALSE(device.has_value());
  EXPECT_EQ(device.error().code(), Errc::unsupported_device);
  EXPECT_TRUE(names(device.error(), "mesa-vulkan-drivers")) << device.error().text();
  expect_works();
}

TEST_F(VulkanFaults, ALoaderBefore13IsRefused) {
  double_state().loader_version = VK_API_VERSION_1_2;
  const auto device = open();
  ASSERT_FALSE(device.has_value());
  EXPECT_EQ(device.error().code(), Errc::unsupported_device);
  EXPECT_TRUE(names(device.error(), "1.2")) << device.error().text();
  expect_works();
}

TEST_F(VulkanFaults, EachMissingFeatureIsNamed) {
  for (const vulkan::NamedFeature& feature : vulkan::kRequiredFeatures) {
    double_state().missing_feature = feature.name;
    const auto device = open();
    ASSERT_FALSE(device.has_value()) << feature.name;
    EXPECT_EQ(device.error().code(), Errc::unsupported_device);
    EXPECT_TRUE(names(device.error(), feature.name)) << device.error().text();
  }
  expect_works();
}

TEST_F(VulkanFaults, EachMissingFunctionIsNamed) {
  for (const std::string name : {"vkCreateInstance", "vkGetPhysicalDeviceFeatures2", "vkDestroyInstance",
                                 "vkDestroyDevice", "vkQueueSubmit2", "vkDestroyPipeline"}) {
    double_state().missing_function = name;
    const auto device = open();
    ASSERT_FALSE(device.has_value()) << name;
    EXPECT_EQ(device.error().code(), Errc::unsupported_device);
    EXPECT_TRUE(names(device.error(), name)) << device.error().text();
    // What destroys cannot be missed without a leak, which the validation layer reports.
    if (name.starts_with("vkDestroy")) double_state().complaints.clear();
  }
  expect_works();
}

TEST_F(VulkanFaults, EachCallOfOpeningMayFail) {
  for (const std::string name :
       {"vkCreateInstance", "vkEnumeratePhysicalDevices", "vkEnumerateDeviceExtensionProperties", "vkCreateDevice",
        "vkCreateSemaphore", "vkCreateCommandPool", "vkCreatePipelineLayout"}) {
    double_state().faults = {{name, VK_ERROR_OUT_OF_HOST_MEMORY, 0}};
    const auto device = open();
    ASSERT_FALSE(device.has_value()) << name;
    EXPECT_EQ(device.error().code(), Errc::out_of_memory);
    EXPECT_TRUE(names(device.error(), "VK_ERROR_OUT_OF_HOST_MEMORY")) << device.error().text();
  }
  expect_works();
}

TEST_F(VulkanFaults, EachCallOfAnAllocationMayFail) {
  auto device = open();
  ASSERT_TRUE(device.has_value()) << device.error().text();
  for (const std::string name : {"vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory", "vkMapMemory"}) {
    double_state().faults = {{name, VK_ERROR_OUT_OF_DEVICE_MEMORY, 0}};
    const auto memory = Memory::allocate(**device, Heap::shared, 4096);
    ASSERT_FALSE(memory.has_value()) << name;
    EXPECT_EQ(memory.error().code(), Errc::out_of_memory);
    EXPECT_TRUE(names(memory.error(), "4096 bytes")) << memory.error().text();
    double_state().faults.clear();
    EXPECT_TRUE(run(**device).has_value()) << name;
  }
}

TEST_F(VulkanFaults, AHeapThatIsTooSmallIsNoAllocation) {
  double_state().memory_bytes = 1 << 20;
  auto device = open();
  ASSERT_TRUE(device.has_value()) << device.error().text();
  const auto memory = Memory::allocate(**device, Heap::device, std::uint64_t{2} << 20);
  ASSERT_FALSE(memory.has_value());
  EXPECT_EQ(memory.error().code(), Errc::out_of_memory);
  EXPECT_TRUE(names(memory.error(), "1048576 left")) << memory.error().text();
  EXPECT_EQ(double_state().calls["vkAllocateMemory"], 0);
}

TEST_F(VulkanFaults, MoreThanAnAllocationMayHaveIsRefused) {
  auto device = open();
  ASSERT_TRUE(device.has_value()) << device.error().text();
  const auto memory = Memory::allocate(**device, Heap::device, (*device)->facts().largest_allocation + 1);
  ASSERT_FALSE(memory.has_value());
  EXPECT_EQ(memory.error().code(), Errc::out_of_memory);
  const auto nothing = Memory::allocate(**device, Heap::device, 0);
  ASSERT_FALSE(nothing.has_value());
  EXPECT_EQ(nothing.error().code(), Errc::invalid_argument);
}

TEST_F(VulkanFaults, EachCallOfALaunchMayFail) {
  auto device = open();
  ASSERT_TRUE(device.has_value()) << device.error().text();
  for (const std::string name : {"vkCreateShaderModule", "vkCreateComputePipelines", "vkAllocateCommandBuffers",
                                 "vkBeginCommandBuffer", "vkEndCommandBuffer", "vkQueueSubmit2"}) {
    double_state().faults = {{name, VK_ERROR_OUT_OF_HOST_MEMORY, 0}};
    const auto ran = run(**device);
    ASSERT_FALSE(ran.has_value()) << name;
    EXPECT_EQ(ran.error().code(), Errc::out_of_memory) << name;
    double_state().faults.clear();
    EXPECT_TRUE(run(**device).has_value()) << name;
  }
}

TEST_F(VulkanFaults, WhatIsNoSpirvIsRefused) {
  auto device = open();
  ASSERT_TRUE(device.has_value()) << device.error().text();
  const std::array<std::uint32_t, 8> words{};
  const auto kernel = vulkan::Pipeline::make(**device, "broken", words, {});
  ASSERT_FALSE(kernel.has_value());
  EXPECT_EQ(kernel.error().code(), Errc::invalid_file);
}

TEST_F(VulkanFaults, ALostDeviceIsDeadAndTheNextOneWorks) {
  for (const std::string name : {"vkQueueSubmit2", "vkWaitSemaphores"}) {
    {
      auto device = open();
      ASSERT_TRUE(device.has_value()) << device.error().text();
      double_state().faults = {{name, VK_ERROR_DEVICE_LOST, 0}};
      const auto lost = run(**device);
      ASSERT_FALSE(lost.has_value()) << name;
      EXPECT_EQ(lost.error().code(), Errc::device_lost);
      double_state().faults.clear();
      const auto again = run(**device);
      ASSERT_FALSE(again.has_value()) << name;
      EXPECT_EQ(again.error().code(), Errc::device_lost);
      EXPECT_EQ(Memory::allocate(**device, Heap::shared, 64).error().code(), Errc::device_lost);
    }
    expect_works();
  }
}

TEST_F(VulkanFaults, AfterATimeOutTheDeviceIsDeadAndTheNextOneWorks) {
  {
    auto device = open();
    ASSERT_TRUE(device.has_value()) << device.error().text();
    double_state().never_ends = true;
    const auto late = run(**device);
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error().code(), Errc::limit_exceeded);
    EXPECT_TRUE(names(late.error(), "2000 ms")) << late.error().text();
    double_state().never_ends = false;
    EXPECT_EQ(run(**device).error().code(), Errc::limit_exceeded);
    EXPECT_TRUE((*device)->is_abandoned());
  }
  expect_works();
}

}  // namespace
}  // namespace zrt::test
