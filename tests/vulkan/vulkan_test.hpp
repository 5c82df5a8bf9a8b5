// SPDX-License-Identifier: Apache-2.0
// tests/vulkan/vulkan_test.hpp: a test with a Vulkan device, whatever the machine has, under the validation layer.
#pragma once

#include <zrt/backend/vulkan/memory.hpp>
#include <zrt/backend/vulkan/one_off.hpp>
#include <zrt/backend/vulkan/pipeline.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <vulkan/loader_double.hpp>

namespace zrt::test {

/// The words of a kernel of kernels/vulkan.
inline std::vector<std::uint32_t> spirv_of(const std::string& name) {
  std::ifstream file(std::string(ZRT_SOURCE_DIR) + "/kernels/vulkan/" + name + ".spv", std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_FALSE(bytes.empty()) << "there is no kernel " << name;
  std::vector<std::uint32_t> words(bytes.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

/// Skipped where no driver is installed. Fails where the validation layer says a word, if it is installed.
class VulkanTest : public testing::Test {
 protected:
  void SetUp() override {
    double_state() = {};
    const auto instance = vulkan::Instance::open(LoaderDouble{});
    if (!instance) GTEST_SKIP() << "SKIPPED: " << instance.error().text();
    const auto all = vulkan::list_devices(*instance, system_allocator());
    if (!all || all->empty()) GTEST_SKIP() << "SKIPPED: no Vulkan driver is installed (mesa-vulkan-drivers)";
    if (!double_state().validates) std::cerr << "no validation layer is installed (vulkan-validationlayers)\n";
  }
  void TearDown() override {
    for (const std::string& complaint : double_state().complaints) ADD_FAILURE() << complaint;
  }

  /// A device of the machine, a software one if there is no other.
  static Result<Owned<vulkan::Device>> open() {
    return vulkan::Device::open(system_allocator(), LoaderDouble{}, {.software = true});
  }
};

}  // namespace zrt::test
