// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/device_facts.hpp: what a physical device is, and whether it runs zrt's kernels.
#pragma once

#include <zrt/backend/vulkan/features.hpp>
#include <zrt/backend/vulkan/float_modes.hpp>
#include <zrt/backend/vulkan/instance.hpp>
#include <zrt/core/name.hpp>

#include <cstring>
#include <optional>

namespace zrt::inline ZRT_ABI::vulkan {

using DeviceUuid = std::array<std::uint8_t, VK_UUID_SIZE>;

/// A physical device of an instance.
struct DeviceFacts {
  VkPhysicalDevice handle = nullptr;
  Name name{};
  Name driver{};
  DeviceUuid uuid{};
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  std::uint32_t api_version = 0;
  std::uint32_t queue_family = 0;
  std::uint32_t timestamp_bits = 0;            ///< of the queue's clock; 0: it has none
  float timestamp_period = 1.0f;               ///< nanoseconds of a tick
  std::array<std::uint32_t, 2> most_groups{};  ///< of a grid's first two axes
  std::uint32_t most_lanes = 0;                ///< of a workgroup in a row
  std::uint64_t largest_allocation = 0;
  std::uint64_t local_bytes = 0;   ///< of the largest heap of its own
  bool has_memory_budget = false;  ///< VK_EXT_memory_budget
  bool has_f64 = false;            ///< shaderFloat64
  FloatModes float_modes{};        ///< that its kernels get
  Result<void> usable{};           ///< or why not

  [[nodiscard]] bool is_software() const noexcept { return type == VK_PHYSICAL_DEVICE_TYPE_CPU; }
};

/// As people call it.
[[nodiscard]] constexpr std::string_view name(VkPhysicalDeviceType type) noexcept {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated GPU";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete GPU";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual GPU";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "software";
    default:
      break;
  }
  return "other device";
}

namespace detail {

/// A text that a driver wrote into an array.
template <std::size_t N> [[nodiscard]] Name text_of(const char (&text)[N]) noexcept {
  return std::string_view(text, ::strnlen(text, N));
}

inline void read_properties(const InstanceFunctions& call, DeviceFacts& facts) noexcept {
  VkPhysicalDeviceVulkan13Properties v13{};
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
  VkPhysicalDeviceVulkan12Properties v12{};
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  v12.pNext = &v13;
  VkPhysicalDeviceVulkan11Properties v11{};
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  v11.pNext = &v12;
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  call.GetPhysicalDeviceProperties2(facts.handle, &all);
  const VkPhysicalDeviceProperties& p = all.properties;
  facts.name = text_of(p.deviceName);
  facts.type = p.deviceType;
  facts.api_version = p.apiVersion;
  facts.most_groups = {p.limits.maxComputeWorkGroupCount[0], p.limits.maxComputeWorkGroupCount[1]};
  facts.most_lanes = p.limits.maxComputeWorkGroupSize[0] < p.limits.maxComputeWorkGroupInvocations
                         ? p.limits.maxComputeWorkGroupSize[0]
                         : p.limits.maxComputeWorkGroupInvocations;
  facts.timestamp_period = p.limits.timestampPeriod;
  // A device before 1.3 need not know the chain.
  if (p.apiVersion < kApiVersion) return;
  all.pNext = &v11;
  call.GetPhysicalDeviceProperties2(facts.handle, &all);
  facts.driver = text_of(v12.driverName);
  facts.float_modes = float_modes_of(v12);
  std::memcpy(facts.uuid.data(), v11.deviceUUID, facts.uuid.size());
  facts.largest_allocation =
      v11.maxMemoryAllocationSize < v13.maxBufferSize ? v11.maxMemoryAllocationSize : v13.maxBufferSize;
}

inline void read_heaps(const InstanceFunctions& call, DeviceFacts& facts) noexcept {
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  call.GetPhysicalDeviceMemoryProperties2(facts.handle, &memory);
  for (std::uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryProperties.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 && heap.size > facts.local_bytes)
      facts.local_bytes = heap.size;
  }
}

[[nodiscard]] inline Result<void> read_extensions(const InstanceFunctions& call, DeviceFacts& facts,
                                                  const Allocator& allocator) noexcept {
  std::uint32_t count = 0;
  Vector<VkExtensionProperties> extensions(allocator);
  VkResult r = call.EnumerateDeviceExtensionProperties(facts.handle, nullptr, &count, nullptr);
  if (r == VK_SUCCESS) {
    if (auto grown = extensions.resize(count); !grown) return grown;
    r = call.EnumerateDeviceExtensionProperties(facts.handle, nullptr, &count, extensions.data());
  }
  if (r != VK_SUCCESS && r != VK_INCOMPLETE) return failure(r, "listing the extensions of ", facts.name.view());
  for (const VkExtensionProperties& e : extensions.span().first(count))
    facts.has_memory_budget |= text_of(e.extensionName).view() == VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
  return {};
}

/// A family that computes and does not draw, or else any that computes.
[[nodiscard]] inline Result<void> choose_queue(const InstanceFunctions& call, DeviceFacts& facts,
                                               const Allocator& allocator) noexcept {
  std::uint32_t count = 0;
  call.GetPhysicalDeviceQueueFamilyProperties(facts.handle, &count, nullptr);
  Vector<VkQueueFamilyProperties> families(allocator);
  if (auto r = families.resize(count); !r) return r;
  call.GetPhysicalDeviceQueueFamilyProperties(facts.handle, &count, families.data());
  std::optional<std::uint32_t> chosen;
  bool draws = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    const VkQueueFamilyProperties& family = families[i];
    const bool also_draws = (family.queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
    if ((family.queueFlags & VK_QUEUE_COMPUTE_BIT) == 0 || family.queueCount == 0 || (chosen && (also_draws || !draws)))
      continue;
    chosen = i;
    draws = also_draws;
  }
  if (!chosen) return fail(Errc::unsupported_device, facts.name.view(), " has no queue that computes");
  facts.queue_family = *chosen;
  facts.timestamp_bits = families[*chosen].timestampValidBits;
  return {};
}

[[nodiscard]] inline Result<void> check_usable(const InstanceFunctions& call, DeviceFacts& facts,
                                               const Allocator& allocator) noexcept {
  if (facts.api_version < kApiVersion)
    return fail(Errc::unsupported_device, facts.name.view(), " is of Vulkan ", VK_API_VERSION_MAJOR(facts.api_version),
                ".", VK_API_VERSION_MINOR(facts.api_version), ", 1.3 expected");
  DeviceFeatures present;
  call.GetPhysicalDeviceFeatures2(facts.handle, &present.core);
  if (const std::string_view missing = missing_feature(present); !missing.empty())
    return fail(Errc::unsupported_device, facts.name.view(), " (", facts.driver.view(), ") lacks the feature ",
                missing);
  facts.has_f64 = kFloat64Feature.of(present) != VK_FALSE;
  if (auto r = read_extensions(call, facts, allocator); !r) return r;
  return choose_queue(call, facts, allocator);
}

}  // namespace detail

/// What the device is. One that zrt cannot use says why in `usable`.
[[nodiscard]] inline DeviceFacts facts_of(const Instance& instance, VkPhysicalDevice device,
                                          const Allocator& allocator) noexcept {
  DeviceFacts facts{.handle = device};
  detail::read_properties(instance.functions(), facts);
  detail::read_heaps(instance.functions(), facts);
  facts.usable = detail::check_usable(instance.functions(), facts, allocator);
  return facts;
}

/// All devices of an instance, in its order. Errors: those of Instance::devices.
[[nodiscard]] inline Result<Vector<DeviceFacts>> list_devices(const Instance& instance,
                                                              const Allocator& allocator) noexcept {
  const auto handles = instance.devices(allocator);
  if (!handles) return pass(handles);
  Vector<DeviceFacts> all(allocator);
  for (VkPhysicalDevice handle : *handles)
    if (auto r = all.push_back(facts_of(instance, handle, allocator)); !r) return pass(r);
  return all;
}

}  // namespace zrt::inline ZRT_ABI::vulkan
