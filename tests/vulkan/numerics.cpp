// SPDX-License-Identifier: Apache-2.0
// covers: backend/vulkan/numerics_probe.hpp
#include <zrt/backend/vulkan/numerics_probe.hpp>

#include <vulkan/vulkan_test.hpp>

namespace zrt::test {
namespace {

using vulkan::FmaMode;
using vulkan::Probed;

struct VulkanNumerics : VulkanTest {};

TEST_F(VulkanNumerics, ADeviceIsCanonicalByItsOwnInstructionsOrInF64) {
  auto device = open();
  ASSERT_TRUE(device.has_value()) << device.error().text();
  const auto spirv = spirv_of("numerics_probe");
  const auto numerics = vulkan::probe_numerics(**device, spirv);
  ASSERT_TRUE(numerics.has_value()) << numerics.error().text();
  EXPECT_EQ(numerics->promise, NumericsClass::canonical);
}

TEST_F(VulkanNumerics, ExpressionsInF64HaveTheHostsBits) {
  auto device = open();
  ASSERT_TRUE(device.has_value()) << device.error().text();
  const auto counts =
      vulkan::probe(**device, spirv_of("numerics_probe"), {.fma = FmaMode::soft, .divides_in_f64 = true});
  ASSERT_TRUE(counts.has_value()) << counts.error().text();
  for (const Probed what : {Probed::fused, Probed::chain, Probed::quotient, Probed::root})
    EXPECT_EQ(vulkan::of(*counts, what), 0u) << static_cast<int>(what);
}

TEST_F(VulkanNumerics, TheChoiceIsWhatTheCountsSay) {
  auto device = open();
  ASSERT_TRUE(device.has_value()) << device.error().text();
  const auto spirv = spirv_of("numerics_probe");
  const auto own = vulkan::probe(**device, spirv, {.fma = FmaMode::native});
  ASSERT_TRUE(own.has_value()) << own.error().text();
  const auto numerics = vulkan::probe_numerics(**device, spirv);
  ASSERT_TRUE(numerics.has_value()) << numerics.error().text();
  const bool fuses = vulkan::of(*own, Probed::fused) == 0 && vulkan::of(*own, Probed::chain) == 0;
  EXPECT_EQ(numerics->fma, fuses ? FmaMode::native : FmaMode::soft);
  const bool divides = vulkan::of(*own, Probed::quotient) == 0 && vulkan::of(*own, Probed::root) == 0;
  EXPECT_EQ(numerics->divides_in_f64, !divides);
}

vulkan::Mismatches wrong(std::initializer_list<Probed> expressions) {
  vulkan::Mismatches counts{};
  for (const Probed what : expressions) counts[static_cast<std::size_t>(what)] = 1;
  return counts;
}

TEST(VulkanNumericsChoice, WhatIsExactIsTaken) {
  const auto native = vulkan::choose_numerics(wrong({}), wrong({}));
  EXPECT_EQ(native.fma, FmaMode::native);
  EXPECT_FALSE(native.divides_in_f64);
  EXPECT_EQ(native.promise, NumericsClass::canonical);
  for (const Probed what : {Probed::fused, Probed::chain}) {
    const auto soft = vulkan::choose_numerics(wrong({what}), wrong({}));
    EXPECT_EQ(soft.fma, FmaMode::soft);
    EXPECT_FALSE(soft.divides_in_f64);
    EXPECT_EQ(soft.promise, NumericsClass::canonical);
  }
  for (const Probed what : {Probed::quotient, Probed::root}) {
    const auto soft = vulkan::choose_numerics(wrong({what}), wrong({}));
    EXPECT_EQ(soft.fma, FmaMode::native);
    EXPECT_TRUE(soft.divides_in_f64);
    EXPECT_EQ(soft.promise, NumericsClass::canonical);
  }
}

TEST(VulkanNumericsChoice, WhatNothingComputesIsRelaxed) {
  for (const Probed what : {Probed::sum, Probed::product, Probed::unfused, Probed::half, Probed::fused, Probed::chain,
                            Probed::quotient, Probed::root})
    EXPECT_EQ(vulkan::choose_numerics(wrong({what}), wrong({what})).promise, NumericsClass::relaxed);
}

}  // namespace
}  // namespace zrt::test
