// SPDX-License-Identifier: Apache-2.0
// examples/engines/vulkan.hpp: the engine on Vulkan devices and its kernels, compiled elsewhere (vulkan.cpp, and what CMake writes from kernels/vulkan).
#pragma once

#include <zrt/backend/vulkan.hpp>
#include <zrt/models.hpp>
#include <zrt/trace/recorder.hpp>
#include <zrt/trace/timeline.hpp>
#include <zrt/zrt.hpp>

namespace engines {

/// The machine's Vulkan, or whatever stands in its place: one engine serves both.
struct VulkanLoader {
  PFN_vkGetInstanceProcAddr instead = nullptr;

  [[nodiscard]] zrt::Result<PFN_vkGetInstanceProcAddr> entry() const noexcept {
    return instead != nullptr ? zrt::Result<PFN_vkGetInstanceProcAddr>(instead) : zrt::vulkan::SystemLoader{}.entry();
  }
};

using VulkanBackend = zrt::BasicVulkanBackend<VulkanLoader>;

/// The kernels of this repository.
[[nodiscard]] zrt::vulkan::KernelFiles vulkan_kernels() noexcept;

}  // namespace engines

extern template class zrt::Engine<engines::VulkanBackend>;
extern template class zrt::Engine<engines::VulkanBackend, zrt::AllFamilies, zrt::trace::TimelineObserver>;
extern template class zrt::Engine<engines::VulkanBackend, zrt::AllFamilies, zrt::trace::RunObserver>;
