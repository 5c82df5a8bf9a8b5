// SPDX-License-Identifier: Apache-2.0
// covers: backend/vulkan/launch_limits.hpp backend/vulkan/pipeline_set.hpp
#include <zrt/backend/vulkan/launch_limits.hpp>
#include <zrt/backend/vulkan/pipeline_set.hpp>
#include <zrt/device/recorder.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace zrt::test {
namespace {

struct VulkanLimits : testing::Test {
  VulkanLimits() : record(system_allocator()), recorder(record, signatures) {
    exec::StepBounds bounds;
    bounds.extents.value[1] = 4096;
    EXPECT_TRUE(recorder.reserve(bounds));
    EXPECT_TRUE(recorder.begin({}));
  }
  static std::vector<device::KernelSignature> known() {
    std::vector<device::KernelSignature> all;
    for (const std::string_view name : {"argmax", "soft_cap", "ssm_scan"})
      all.push_back(device::signature_of(*device::find_kernel_abi(name), name));
    return all;
  }
  /// One launch of argmax over so many columns.
  device::KernelCall argmax(std::uint32_t cols) {
    device::KernelCall call("argmax");
    call.buffer(std::uint64_t{64}).buffer(std::uint64_t{128}).value(cols).grid(1);
    return call;
  }

  const std::vector<device::KernelSignature> signatures = known();
  device::StepRecord record;
  device::Recorder recorder;
};

TEST_F(VulkanLimits, ALaunchWithTooManyTurnsIsNamed) {
  ASSERT_TRUE(recorder.push(argmax(1024 * 1000)));
  EXPECT_TRUE(vulkan::check_turns(record));
  ASSERT_TRUE(recorder.push(argmax(1024 * 65535)));
  const auto turns = vulkan::check_turns(record);
  ASSERT_FALSE(turns);
  EXPECT_EQ(turns.error().code(), Errc::limit_exceeded);
  EXPECT_NE(turns.error().text().find("argmax"), std::string_view::npos) << turns.error().text();
}

TEST_F(VulkanLimits, CountsOfAStepCountAtTheirLargest) {
  // Rows of a slot by states of a channel: few in a step of one token, too many in the largest.
  const auto scan = [&](std::uint32_t states) {
    device::KernelCall call("ssm_scan");
    for (std::uint64_t buffer = 1; buffer <= 9; ++buffer) call.buffer(buffer * 64);
    call.value(device::StepCount::elements(Shape{Dim(1, 1)}));
    for (const std::uint32_t value : {8u, 64u, 1u, states, 0u, 0u, 0u, 0u, 0u, 0u}) call.value(value);
    return call.grid(1);
  };
  ASSERT_TRUE(recorder.push(scan(16)));
  EXPECT_TRUE(vulkan::check_turns(record));
  ASSERT_TRUE(recorder.push(scan(128)));
  const auto turns = vulkan::check_turns(record);
  ASSERT_FALSE(turns);
  EXPECT_NE(turns.error().text().find("ssm_scan"), std::string_view::npos) << turns.error().text();
}

TEST_F(VulkanLimits, AGridBeyondTheDevicesIsRefused) {
  vulkan::DeviceFacts facts{.name = "small"};
  facts.most_groups = {65535, 65535};
  ASSERT_TRUE(recorder.push(argmax(64).grid(65535, device::StepCount::elements(Shape{Dim(15, 1)}))));
  EXPECT_TRUE(vulkan::check_grids(facts, record));
  ASSERT_TRUE(recorder.push(argmax(64).grid(1, device::StepCount::elements(Shape{Dim(16, 1)}))));
  const auto grids = vulkan::check_grids(facts, record);
  ASSERT_FALSE(grids);
  EXPECT_EQ(grids.error().code(), Errc::capacity_exceeded);
  EXPECT_NE(grids.error().text().find("65536"), std::string_view::npos) << grids.error().text();
}

TEST(VulkanPipelines, AKernelOfMoreLanesThanTheDeviceRunsIsNotCompiled) {
  const std::array files{vulkan::KernelFile{.name = "argmax"}};
  vulkan::PipelineSet kernels(system_allocator());
  ASSERT_TRUE(kernels.list(files));
  const auto compiled = [&](std::uint32_t lanes) {
    const vulkan::Device device(system_allocator(), {}, {.name = Name("small"), .most_lanes = lanes});
    return kernels.pipeline(device, 0, {});
  };
  const auto refused = compiled(1023);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::unsupported_device);
  EXPECT_NE(refused.error().text().find("argmax"), std::string_view::npos) << refused.error().text();
  EXPECT_EQ(compiled(1024).error().code(), Errc::invalid_file) << "it has no words";
}

}  // namespace
}  // namespace zrt::test
