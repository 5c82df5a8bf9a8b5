// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/features.hpp: the features of a device that zrt's kernels need.
#pragma once

#include <zrt/backend/vulkan/api.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::vulkan {

/// The features of Vulkan 1.0 to 1.3 as one chain; it stays where it is made.
struct DeviceFeatures {
  VkPhysicalDeviceFeatures2 core{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceVulkan13Features v13{};

  DeviceFeatures() noexcept {
    core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    core.pNext = &v11;
    v11.pNext = &v12;
    v12.pNext = &v13;
  }
  DeviceFeatures(const DeviceFeatures&) = delete;
  DeviceFeatures& operator=(const DeviceFeatures&) = delete;
};

/// A feature by its name in the specification.
struct NamedFeature {
  std::string_view name;
  VkBool32& (*of)(DeviceFeatures& features) noexcept;
};

/// Without it kernels fuse and divide by the device's own instructions, if these are exact.
inline constexpr NamedFeature kFloat64Feature{
    "shaderFloat64", [](DeviceFeatures& f) noexcept -> VkBool32& { return f.core.features.shaderFloat64; }};

/// Without one of these no kernel runs.
inline constexpr auto kRequiredFeatures = std::to_array<NamedFeature>({
    {"shaderInt64", [](DeviceFeatures& f) noexcept -> VkBool32& { return f.core.features.shaderInt64; }},
    {"storageBuffer16BitAccess",
     [](DeviceFeatures& f) noexcept -> VkBool32& { return f.v11.storageBuffer16BitAccess; }},
    {"storageBuffer8BitAccess", [](DeviceFeatures& f) noexcept -> VkBool32& { return f.v12.storageBuffer8BitAccess; }},
    {"scalarBlockLayout", [](DeviceFeatures& f) noexcept -> VkBool32& { return f.v12.scalarBlockLayout; }},
    {"timelineSemaphore", [](DeviceFeatures& f) noexcept -> VkBool32& { return f.v12.timelineSemaphore; }},
    {"bufferDeviceAddress", [](DeviceFeatures& f) noexcept -> VkBool32& { return f.v12.bufferDeviceAddress; }},
    {"synchronization2", [](DeviceFeatures& f) noexcept -> VkBool32& { return f.v13.synchronization2; }},
    {"maintenance4", [](DeviceFeatures& f) noexcept -> VkBool32& { return f.v13.maintenance4; }},
});

/// The first required feature that is missing, or an empty name.
[[nodiscard]] inline std::string_view missing_feature(DeviceFeatures& present) noexcept {
  for (const NamedFeature& feature : kRequiredFeatures)
    if (feature.of(present) == VK_FALSE) return feature.name;
  return {};
}

/// Asks for what is required, and for 64-bit floats where the device has them.
inline void want(DeviceFeatures& wanted, bool f64) noexcept {
  for (const NamedFeature& feature : kRequiredFeatures) feature.of(wanted) = VK_TRUE;
  kFloat64Feature.of(wanted) = f64 ? VK_TRUE : VK_FALSE;
}

}  // namespace zrt::inline ZRT_ABI::vulkan
