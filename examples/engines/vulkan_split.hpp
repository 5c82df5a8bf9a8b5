// SPDX-License-Identifier: Apache-2.0
// examples/engines/vulkan_split.hpp: the engine on the processor and a Vulkan device, compiled elsewhere (vulkan_split.cpp).
#pragma once

#include <zrt/backend/split.hpp>
#include <zrt/compiled/cpu_backend.hpp>

#include <vulkan.hpp>

namespace engines {

/// The first layers on the processor, the last and the head on a Vulkan device.
using VulkanSplit = zrt::SplitBackend<zrt::CpuBackend, VulkanBackend>;

}  // namespace engines

extern template class zrt::Engine<engines::VulkanSplit>;
