// SPDX-License-Identifier: Apache-2.0
// covers: backend/vulkan/backend_device.hpp backend/vulkan/device.hpp
#include <vulkan/engine_device.hpp>

namespace zrt::test {
namespace {

struct VulkanEngineFaults : VulkanTest {
  static void expect_usable() {
    double_state().faults.clear();
    double_state().never_ends = false;
    auto engine = open_vulkan(kVulkanBard);
    ASSERT_TRUE(engine) << engine.error().text();
    const Request request = greedy_request("ROMEO:\n", 2);
    EXPECT_EQ(bits_of(*engine, request), reference_bits(kVulkanBard, request));
  }
  /// The step after the prompt's, with what it reports.
  static Result<std::size_t> step(VulkanEngine& engine, std::vector<FinishReason>& ends) {
    return engine.step([&](RequestId, const Token& token) {
      if (token.finish != FinishReason::none) ends.push_back(token.finish);
      return true;
    });
  }
};

TEST_F(VulkanEngineFaults, AnEngineOfALostDeviceIsDeadAndTheNextOneWorks) {
  for (const std::string name : {"vkQueueSubmit2", "vkWaitSemaphores"}) {
    SCOPED_TRACE(name);
    {
      auto engine = open_vulkan(kVulkanBard);
      ASSERT_TRUE(engine) << engine.error().text();
      std::vector<FinishReason> ends;
      ASSERT_TRUE(engine->submit(greedy_request("ROMEO:\n", 9)));
      ASSERT_TRUE(step(*engine, ends));
      double_state().faults = {{name, VK_ERROR_DEVICE_LOST, 0}};
      for (int i = 0; i < 2; ++i) {
        const auto lost = step(*engine, ends);
        ASSERT_FALSE(lost);
        EXPECT_EQ(lost.error().code(), Errc::device_lost) << lost.error().text();
        EXPECT_EQ(ends.size(), static_cast<std::size_t>(i) + 1);
        EXPECT_EQ(ends.back(), FinishReason::failed);
        double_state().faults.clear();
        ASSERT_TRUE(engine->submit(greedy_request("ROMEO:\n", 1)));
      }
    }
    expect_usable();
  }
}

TEST_F(VulkanEngineFaults, AnEngineWhoseStepDoesNotEndIsDeadAndTheNextOneWorks) {
  {
    auto options = on_double();
    options.step_timeout = 1'000'000'000;
    auto engine = open_vulkan(kVulkanBard, small_engine(), options);
    ASSERT_TRUE(engine) << engine.error().text();
    std::vector<FinishReason> ends;
    ASSERT_TRUE(engine->submit(greedy_request("ROMEO:\n", 9)));
    ASSERT_TRUE(step(*engine, ends));
    double_state().never_ends = true;
    const auto late = step(*engine, ends);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), Errc::limit_exceeded);
    EXPECT_NE(late.error().text().find("has not ended in 1000 ms"), std::string_view::npos) << late.error().text();
    double_state().never_ends = false;
    ASSERT_TRUE(engine->submit(greedy_request("ROMEO:\n", 1)));
    EXPECT_EQ(step(*engine, ends).error().code(), Errc::limit_exceeded);
  }
  expect_usable();
}

TEST_F(VulkanEngineFaults, NoEngineOpensWhereACallFails) {
  for (const std::string name : {"vkAllocateMemory", "vkCreateBuffer", "vkCreateComputePipelines",
                                 "vkCreateShaderModule", "vkAllocateCommandBuffers", "vkQueueSubmit2"}) {
    SCOPED_TRACE(name);
    double_state().faults.clear();
    double_state().calls.clear();
    {
      ASSERT_TRUE(open_vulkan(kVulkanBard));
    }
    const int calls = double_state().calls[name];
    EXPECT_GT(calls, 1);
    // Each allocation in turn; of other calls a few.
    for (int before = 0; before < calls; before += name == "vkAllocateMemory" ? 1 : calls / 3 + 1) {
      double_state().faults = {{name, VK_ERROR_OUT_OF_DEVICE_MEMORY, before}};
      const auto engine = open_vulkan(kVulkanBard);
      ASSERT_FALSE(engine) << before;
      EXPECT_EQ(engine.error().code(), Errc::out_of_memory) << engine.error().text();
    }
  }
  expect_usable();
}

TEST_F(VulkanEngineFaults, KernelsThatAreMissingOrDamagedOpenNoEngine) {
  const auto all = engines::vulkan_kernels();
  const auto refused = [](Errc code, const std::vector<vulkan::KernelFile>& files) {
    auto options = on_double();
    options.kernels = files;
    const auto engine = open_vulkan(kVulkanBard, small_engine(), options);
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().code(), code) << engine.error().text();
  };
  const auto with = [&](std::string_view name, auto&& change) {
    std::vector<vulkan::KernelFile> files;
    for (const vulkan::KernelFile& file : all)
      if (file.name != name || change(files, file)) files.push_back(file);
    return files;
  };
  const auto leave_out = [](auto&, const vulkan::KernelFile&) { return false; };
  refused(Errc::not_found, {});
  refused(Errc::not_found, with("numerics_probe", leave_out));
  refused(Errc::not_found, with("sample", leave_out));
  refused(Errc::duplicate_name, with("sample", [](auto& files, const vulkan::KernelFile& file) {
            files.push_back(file);
            return true;
          }));
  refused(Errc::invalid_file, with("sample", [](auto& files, const vulkan::KernelFile& file) {
            files.push_back({file.name, file.spirv.first(file.spirv.size() - 2)});
            return false;
          }));
  refused(Errc::invalid_file, with("sample", [](auto& files, const vulkan::KernelFile& file) {
            files.push_back({file.name, file.spirv.subspan(4)});
            return false;
          }));
}

TEST_F(VulkanEngineFaults, AKernelWithAnothersResultFailsItsSelfTest) {
  const auto all = engines::vulkan_kernels();
  std::vector<vulkan::KernelFile> files(all.begin(), all.end());
  const auto named = [&](std::string_view name) -> vulkan::KernelFile& {
    for (vulkan::KernelFile& file : files)
      if (file.name == name) return file;
    ADD_FAILURE() << name;
    return files[0];
  };
  // The same arguments, another sum.
  named("matvec_q4_0").spirv = named("matvec_mxfp4").spirv;
  auto options = on_double();
  options.self_test = vulkan::SelfTest::always;
  options.kernels = files;
  const auto engine = open_vulkan(kVulkanBard, small_engine(), options);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code(), Errc::spec_violation);
  EXPECT_NE(engine.error().text().find("matvec_q4_0"), std::string_view::npos) << engine.error().text();
}

TEST_F(VulkanEngineFaults, ARelaxedDevicesKernelsMayBeOffByItsBoundAndNoMore) {
  auto device = open();
  ASSERT_TRUE(device) << device.error().text();
  const auto test = [&](const vulkan::DeviceNumerics& numerics, std::span<const vulkan::KernelFile> files) {
    vulkan::PipelineSet kernels(system_allocator());
    EXPECT_TRUE(kernels.list(files));
    return vulkan::test_kernels(**device, kernels, numerics, system_allocator());
  };
  const auto all = engines::vulkan_kernels();
  // A device's own multiply-add, which need not be fused.
  const vulkan::DeviceNumerics own{.fma = vulkan::FmaMode::native};
  const auto near = test(own, all);
  EXPECT_TRUE(near) << near.error().text();
  auto promised = own;
  promised.promise = NumericsClass::canonical;
  const auto probed = vulkan::probe(**device, spirv_of("numerics_probe"), own);
  ASSERT_TRUE(probed);
  EXPECT_EQ(test(promised, all).has_value(), of(*probed, vulkan::Probed::fused) == 0);
  std::vector<vulkan::KernelFile> files(all.begin(), all.end());
  const auto named = [&](std::string_view name) -> vulkan::KernelFile& {
    return *std::ranges::find_if(files, [&](const vulkan::KernelFile& file) { return file.name == name; });
  };
  named("matvec_q4_0").spirv = named("matvec_mxfp4").spirv;
  const auto far = test(own, files);
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().code(), Errc::spec_violation);
}

TEST_F(VulkanEngineFaults, EveryKernelPassesItsSelfTest) {
  auto options = on_double();
  options.self_test = vulkan::SelfTest::always;
  const auto engine = open_vulkan(kVulkanBard, small_engine(), options);
  ASSERT_TRUE(engine) << engine.error().text();
}

}  // namespace
}  // namespace zrt::test
