// SPDX-License-Identifier: Apache-2.0
// tests/data/docs/vulkan.hpp: statements of a host with a Vulkan device and kernel modules.
#include <zrt/backend/vulkan.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>
extern template struct zrt::ModelLoader<zrt::VulkanBackend>;
extern template class zrt::Engine<zrt::VulkanBackend>;
// around each block:
namespace NAME {
inline bool example(const zrt::EngineOptions& options, const zrt::vulkan::KernelFiles& files) {
BLOCK
  return done.has_value();
}
}  // namespace NAME
