// SPDX-License-Identifier: Apache-2.0
// tests/process/program_vulkan.cpp: what the program does on Vulkan devices, and without any.
#include <support/zrt_program.hpp>

namespace zrt::test {
namespace {

/// The loader finds no driver.
const std::string kNoDriver = "VK_ICD_FILENAMES=/nowhere VK_DRIVER_FILES=/nowhere";

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

struct VulkanProgram : Program {
  [[nodiscard]] Outcome generate(std::vector<std::string> backend, const std::string& environment = {}) const {
    std::vector<std::string> words{"generate",     "--model", kModel,   "--prompt", "ROMEO:\n",
                                   "--max-tokens", "8",       "--temp", "0",        "--backend"};
    words.insert(words.end(), backend.begin(), backend.end());
    return run(words, environment);
  }
  /// Whether a driver is installed.
  [[nodiscard]] bool finds_device() const { return has(run({"devices"}).out, "vulkan 0: "); }
};

TEST_F(VulkanProgram, DevicesAreListedWithWhatTheyRun) {
  const Outcome listed = run({"devices"});
  ASSERT_EQ(listed.status, 0) << listed.err;
  for (const char* const line : {"cpu: ", "; chosen: ", "pm4 by user queue: ", "pm4 by /dev/kfd: "})
    EXPECT_TRUE(has(listed.out, line)) << line << '\n' << listed.out;
  if (!finds_device()) GTEST_SKIP() << "SKIPPED: no Vulkan driver is installed\n" << listed.out;
  for (const char* const line : {"  driver ", ", UUID ", "canonical, fma "})
    EXPECT_TRUE(has(listed.out, line)) << line << '\n' << listed.out;
}

TEST_F(VulkanProgram, WithoutADriverTheListSaysSoAndAutoFallsBack) {
  const Outcome listed = run({"devices"}, kNoDriver);
  EXPECT_EQ(listed.status, 0) << listed.err;
  EXPECT_TRUE(has(listed.out, "vulkan: none: ")) << listed.out;
  const Outcome none = generate({"vulkan"}, kNoDriver);
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(none.out.empty()) << none.out;
  EXPECT_TRUE(has(none.err, "unsupported_device")) << none.err;
  const Outcome automatic = generate({"auto"}, kNoDriver);
  EXPECT_EQ(automatic.status, 0) << automatic.err;
  EXPECT_TRUE(has(automatic.err, "backend cpu; not vulkan: ")) << automatic.err;
  EXPECT_EQ(automatic.out, generate({"cpu"}).out);
}

TEST_F(VulkanProgram, TextIsTheCpusHoweverTheDeviceIsNamed) {
  if (!finds_device()) GTEST_SKIP() << "SKIPPED: no Vulkan driver is installed";
  const std::string wanted = generate({"cpu"}).out;
  const std::string listed = run({"devices"}).out;
  const std::string uuid = listed.substr(listed.find("UUID ") + 5, 36);
  for (const std::string& device : {std::string("software"), std::string("0"), uuid}) {
    const Outcome done = generate({"vulkan", "--device", device});
    EXPECT_EQ(done.status, 0) << device << '\n' << done.err;
    EXPECT_EQ(done.out, wanted) << device;
  }
}

TEST_F(VulkanProgram, ADeviceThatIsNotThereIsAnError) {
  if (!finds_device()) GTEST_SKIP() << "SKIPPED: no Vulkan driver is installed";
  const Outcome beyond = generate({"vulkan", "--device", "77"});
  EXPECT_EQ(beyond.status, 1);
  EXPECT_TRUE(has(beyond.err, "not_found") && has(beyond.err, "zrt devices")) << beyond.err;
  const Outcome unknown = generate({"vulkan", "--device", "radiant"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_TRUE(has(unknown.err, "invalid_argument")) << unknown.err;
  EXPECT_EQ(generate({"vulkan", "--tier", "kfd"}).status, 2) << "its queues have no tiers";
  EXPECT_EQ(generate({"cpu", "--device", "0"}).status, 2);
}

TEST_F(VulkanProgram, TheLastLayersRunOnTheDeviceAndTheFirstOnTheProcessor) {
  EXPECT_EQ(generate({"cpu", "--device-layers", "1"}).status, 2);
  EXPECT_EQ(generate({"vulkan", "--device-layers", "some"}).status, 2);
  if (!finds_device()) GTEST_SKIP() << "SKIPPED: no Vulkan driver is installed";
  const std::string wanted = generate({"cpu"}).out;
  for (const char* const layers : {"0", "2", "auto"}) {
    const Outcome done = generate({"vulkan", "--device", "software", "--device-layers", layers});
    EXPECT_EQ(done.status, 0) << layers << '\n' << done.err;
    EXPECT_EQ(done.out, wanted) << layers;
  }
  const Outcome beyond = generate({"vulkan", "--device", "software", "--device-layers", "99"});
  EXPECT_EQ(beyond.status, 1);
  EXPECT_TRUE(has(beyond.err, "invalid_argument") && has(beyond.err, "99 layers are asked for")) << beyond.err;
  const Outcome plan =
      run({"plan", "--model", kModel, "--backend", "vulkan", "--device", "software", "--device-layers", "2"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  for (const char* const line : {"processor: the first ", "device: the last 2 layers and the head, ", "handed over: r"})
    EXPECT_TRUE(has(plan.out, line)) << line << '\n' << plan.out;
}

}  // namespace
}  // namespace zrt::test
