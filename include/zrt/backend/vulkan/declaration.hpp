// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/declaration.hpp: the name, device and options of the backend for Vulkan devices, for sources that call engines compiled elsewhere.
#pragma once

#include <zrt/backend/vulkan/backend_device.hpp>
#include <zrt/exec/device_of.hpp>

namespace zrt::inline ZRT_ABI {

/// A Vulkan device that `Loader` leads to, chosen when an engine is opened.
///
/// A host hands Engine::open a vulkan::DeviceOptions: the kernels, and which device it wants.
template <vulkan::VulkanLoader Loader> struct BasicVulkanBackend;

/// Whatever Vulkan 1.3 device a machine has.
using VulkanBackend = BasicVulkanBackend<vulkan::SystemLoader>;

template <vulkan::VulkanLoader Loader> struct DeviceTypes<BasicVulkanBackend<Loader>> {
  using Device = vulkan::BackendDevice<Loader>;
  using Options = vulkan::DeviceOptions<Loader>;
};

}  // namespace zrt::inline ZRT_ABI
