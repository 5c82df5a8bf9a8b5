// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/functions.hpp: the functions of Vulkan that zrt calls, found by name.
#pragma once

#include <zrt/backend/vulkan/api.hpp>
#include <zrt/core/error.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

#define ZRT_VULKAN_INSTANCE_FUNCTIONS(X)    \
  X(DestroyInstance)                        \
  X(EnumeratePhysicalDevices)               \
  X(EnumerateDeviceExtensionProperties)     \
  X(GetPhysicalDeviceProperties2)           \
  X(GetPhysicalDeviceFeatures2)             \
  X(GetPhysicalDeviceMemoryProperties2)     \
  X(GetPhysicalDeviceQueueFamilyProperties) \
  X(CreateDevice)                           \
  X(GetDeviceProcAddr)

#define ZRT_VULKAN_DEVICE_FUNCTIONS(X) \
  X(DestroyDevice)                     \
  X(DeviceWaitIdle)                    \
  X(GetDeviceQueue)                    \
  X(CreateSemaphore)                   \
  X(DestroySemaphore)                  \
  X(GetSemaphoreCounterValue)          \
  X(WaitSemaphores)                    \
  X(QueueSubmit2)                      \
  X(CreateCommandPool)                 \
  X(DestroyCommandPool)                \
  X(AllocateCommandBuffers)            \
  X(FreeCommandBuffers)                \
  X(BeginCommandBuffer)                \
  X(EndCommandBuffer)                  \
  X(CmdBindPipeline)                   \
  X(CmdPushConstants)                  \
  X(CmdDispatch)                       \
  X(CmdDispatchIndirect)               \
  X(CmdPipelineBarrier2)               \
  X(CmdCopyBuffer)                     \
  X(CmdFillBuffer)                     \
  X(CmdCopyQueryPoolResults)           \
  X(CmdResetQueryPool)                 \
  X(CmdWriteTimestamp2)                \
  X(CreateQueryPool)                   \
  X(DestroyQueryPool)                  \
  X(CreateBuffer)                      \
  X(DestroyBuffer)                     \
  X(GetBufferMemoryRequirements)       \
  X(BindBufferMemory)                  \
  X(GetBufferDeviceAddress)            \
  X(AllocateMemory)                    \
  X(FreeMemory)                        \
  X(MapMemory)                         \
  X(CreateShaderModule)                \
  X(DestroyShaderModule)               \
  X(CreatePipelineLayout)              \
  X(DestroyPipelineLayout)             \
  X(CreateComputePipelines)            \
  X(DestroyPipeline)

#define ZRT_VULKAN_MEMBER(function) PFN_vk##function function = nullptr;
#define ZRT_VULKAN_FIND(function)                                                \
  functions.function = reinterpret_cast<PFN_vk##function>(find("vk" #function)); \
  if (functions.function == nullptr) return missing_function("vk" #function);

/// What is called on an instance and on physical devices.
struct InstanceFunctions {
  ZRT_VULKAN_INSTANCE_FUNCTIONS(ZRT_VULKAN_MEMBER)
};
/// What is called on a device, its queue and its command buffers, without the loader in between.
struct DeviceFunctions {
  ZRT_VULKAN_DEVICE_FUNCTIONS(ZRT_VULKAN_MEMBER)
};

[[nodiscard]] inline std::unexpected<Error> missing_function(std::string_view name) noexcept {
  return fail(Errc::unsupported_device, "the Vulkan driver has no function ", name);
}

/// Errors: Errc::unsupported_device for a function that is not there.
[[nodiscard]] inline Result<InstanceFunctions> find_functions(PFN_vkGetInstanceProcAddr entry,
                                                              VkInstance instance) noexcept {
  const auto find = [&](const char* name) { return entry(instance, name); };
  InstanceFunctions functions;
  ZRT_VULKAN_INSTANCE_FUNCTIONS(ZRT_VULKAN_FIND)
  return functions;
}
/// Errors: Errc::unsupported_device for a function that is not there.
[[nodiscard]] inline Result<DeviceFunctions> find_functions(const InstanceFunctions& of, VkDevice device) noexcept {
  const auto find = [&](const char* name) { return of.GetDeviceProcAddr(device, name); };
  DeviceFunctions functions;
  ZRT_VULKAN_DEVICE_FUNCTIONS(ZRT_VULKAN_FIND)
  return functions;
}

#undef ZRT_VULKAN_FIND
#undef ZRT_VULKAN_MEMBER
#undef ZRT_VULKAN_DEVICE_FUNCTIONS
#undef ZRT_VULKAN_INSTANCE_FUNCTIONS

}  // namespace zrt::inline ZRT_ABI::vulkan
