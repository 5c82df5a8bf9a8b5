// SPDX-License-Identifier: Apache-2.0
// tests/vulkan/kernel_modules.cpp: kernels are fitted to what a device has of float controls and of 64-bit numbers.
// covers: backend/vulkan/spirv.hpp backend/vulkan/float_modes.hpp backend/vulkan/without_f64.hpp
#include <zrt/backend/vulkan/numerics_probe.hpp>

#include <algorithm>
#include <vulkan/engine_device.hpp>

namespace zrt::test {
namespace {

using vulkan::FloatMode;
using vulkan::FloatModes;

constexpr VkPhysicalDeviceVulkan12Properties device_with(VkShaderFloatControlsIndependence independence, bool f16,
                                                         bool f32, bool f64) {
  VkPhysicalDeviceVulkan12Properties p{};
  p.denormBehaviorIndependence = p.roundingModeIndependence = independence;
  p.shaderRoundingModeRTEFloat16 = f16 ? VK_TRUE : VK_FALSE;
  p.shaderRoundingModeRTEFloat32 = f32 ? VK_TRUE : VK_FALSE;
  p.shaderRoundingModeRTEFloat64 = f64 ? VK_TRUE : VK_FALSE;
  return p;
}
constexpr bool gives(const VkPhysicalDeviceVulkan12Properties& p, std::initializer_list<std::uint32_t> bits) {
  const FloatModes modes = vulkan::float_modes_of(p);
  return std::ranges::equal(modes.all(), bits,
                            [](const FloatMode& mode, std::uint32_t b) { return mode == FloatMode{4462, 4467, b}; });
}
static_assert(gives(device_with(VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL, false, true, true), {32, 64}));
static_assert(gives(device_with(VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL, false, false, false), {}));
static_assert(gives(device_with(VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY, false, true, true), {32}));
static_assert(gives(device_with(VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY, true, true, true), {16, 32, 64}));
static_assert(gives(device_with(VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE, false, true, true), {}));
static_assert(gives(device_with(VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE, true, true, true), {16, 32, 64}));

/// The execution modes of a module as (mode, bits), and its capabilities.
struct Said {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> modes;
  std::vector<std::uint32_t> capabilities;
  bool in_order = true;  ///< capabilities, entry points, modes
};
Said said_by(Span<const std::uint32_t> module) {
  Said said;
  int stage = 0;
  vulkan::spirv::Instructions all(module);
  for (vulkan::spirv::Statement each; all.next(each);) {
    const int at = each.op == vulkan::spirv::Code::capability       ? 0
                   : each.op == vulkan::spirv::Code::entry_point    ? 1
                   : each.op == vulkan::spirv::Code::execution_mode ? 2
                                                                    : -1;
    if (at < 0) continue;
    said.in_order = said.in_order && at >= stage;
    stage = std::max(stage, at);
    if (at == 0) said.capabilities.push_back(each[1]);
    if (at == 2 && each[2] >= 4459) said.modes.emplace_back(each[2], each[3]);
  }
  return said;
}

TEST(VulkanModules, ModesStandWhereTheSpecificationWantsThem) {
  const auto module = spirv_of("rms_norm");
  FloatModes modes;
  for (const FloatMode& mode : {FloatMode{4462, 4467, 32}, FloatMode{4462, 4467, 64}, FloatMode{4461, 4466, 32}})
    modes.add(mode);
  const auto fitted = vulkan::with_modes(module, "rms_norm", modes, system_allocator());
  ASSERT_TRUE(fitted) << fitted.error().text();
  EXPECT_EQ(fitted->size(), module.size() + 2 * 2 + 3 * 4);
  const Said before = said_by(module), after = said_by(fitted->span());
  EXPECT_TRUE(before.modes.empty());
  EXPECT_TRUE(after.in_order);
  EXPECT_EQ(after.modes, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{4462, 32}, {4462, 64}, {4461, 32}}));
  EXPECT_EQ(after.capabilities.size(), before.capabilities.size() + 2);
  const auto same = vulkan::with_modes(module, "rms_norm", {}, system_allocator());
  ASSERT_TRUE(same);
  EXPECT_TRUE(std::ranges::equal(*same, module));
  const auto twice = vulkan::with_modes(fitted->span(), "rms_norm", modes, system_allocator());
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code(), Errc::invalid_file);
}

TEST(VulkanModules, EveryKernelDoesWithoutNumbersOf64Bits) {
  std::size_t smaller = 0;
  for (const vulkan::KernelFile& file : engines::vulkan_kernels()) {
    SCOPED_TRACE(file.name);
    const auto module = vulkan::words_of(file, system_allocator());
    ASSERT_TRUE(module);
    const auto fitted = vulkan::without_f64(module->span(), file.name, system_allocator());
    ASSERT_TRUE(fitted) << fitted.error().text();
    EXPECT_TRUE(vulkan::spirv::check(fitted->span(), file.name));
    EXPECT_EQ(std::ranges::count(said_by(fitted->span()).capabilities, 10u), 0);
    vulkan::spirv::Instructions all(fitted->span());
    for (vulkan::spirv::Statement each; all.next(each);)
      EXPECT_FALSE(each.op == vulkan::spirv::Code::type_float && each[2] == 64);
    smaller += fitted->size() < module->size() ? 1u : 0u;
  }
  EXPECT_GT(smaller, 40u);
}

TEST(VulkanModules, DamagedModulesAreRefused) {
  const auto module = spirv_of("residual_add");
  const auto refused = [&](std::span<const std::uint32_t> words) {
    const Span<const std::uint32_t> damaged(words.data(), words.size());
    for (const auto& r : {vulkan::with_modes(damaged, "k", {}, system_allocator()),
                          vulkan::without_f64(damaged, "k", system_allocator())}) {
      EXPECT_FALSE(r);
      EXPECT_TRUE(r || r.error().code() == Errc::invalid_file);
    }
  };
  refused({});
  refused(std::span(module).first(4));
  refused(std::span(module).first(6));
  auto changed = module;
  changed[0] ^= 1;
  refused(changed);
  changed = module;
  changed[5] &= 0xffff;
  refused(changed);
  // Whatever words say, nothing is read outside them.
  for (std::size_t i = 1; i < module.size(); ++i) {
    changed = module;
    changed[i] = ~changed[i];
    (void)vulkan::with_modes(changed, "k", {}, system_allocator());
    (void)vulkan::without_f64(changed, "k", system_allocator());
  }
}

struct VulkanFitted : VulkanTest {};

TEST_F(VulkanFitted, ADeviceWithoutFloatControlsTakesKernelsAsTheyAre) {
  const auto spirv = spirv_of("numerics_probe");
  const auto promise = [&](bool without_modes) {
    double_state().leaves_rounding_open = without_modes;
    const auto device = open();
    EXPECT_TRUE(device) << device.error().text();
    EXPECT_TRUE(!without_modes || (*device)->facts().float_modes.all().empty());
    const auto numerics = vulkan::probe_numerics(**device, spirv);
    EXPECT_TRUE(numerics);
    return numerics->promise;
  };
  // What lavapipe rounds it rounds so of itself.
  EXPECT_EQ(promise(false), promise(true));
}

TEST_F(VulkanFitted, KernelsWithoutNumbersOf64BitsRunOnADeviceWithoutThem) {
  const vulkan::DeviceNumerics native{.fma = vulkan::FmaMode::native};
  const auto probed = [&](vulkan::Device& device) {
    const auto counts = vulkan::probe(device, spirv_of("numerics_probe"), native);
    EXPECT_TRUE(counts);
    return *counts;
  };
  vulkan::Mismatches with{};
  {
    const auto device = open();
    ASSERT_TRUE(device) << device.error().text();
    with = probed(**device);
  }
  double_state().missing_feature = "shaderFloat64";
  const auto device = open();
  ASSERT_TRUE(device) << device.error().text();
  EXPECT_FALSE((*device)->facts().has_f64);
  EXPECT_EQ(probed(**device), with);
  for (const vulkan::KernelFile& file : engines::vulkan_kernels()) {
    const auto words = vulkan::words_of(file, system_allocator());
    const auto made = vulkan::Pipeline::make(**device, file.name, words->span(), native.constants());
    EXPECT_TRUE(made) << file.name << ": " << made.error().text();
  }
}

TEST_F(VulkanFitted, WithoutThemAndWithAnUnfusedFmaADeviceIsRefused) {
  double_state().missing_feature = "shaderFloat64";
  const auto engine = open_vulkan(kVulkanBard);
  double_state().missing_feature.clear();
  const auto device = open();
  ASSERT_TRUE(device);
  const auto own = vulkan::probe(**device, spirv_of("numerics_probe"), {.fma = vulkan::FmaMode::native});
  ASSERT_TRUE(own);
  if (of(*own, vulkan::Probed::fused) == 0) {
    EXPECT_TRUE(engine);
    return;
  }
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code(), Errc::unsupported_device);
  EXPECT_NE(engine.error().text().find("shaderFloat64"), std::string_view::npos) << engine.error().text();
}

}  // namespace
}  // namespace zrt::test
