// SPDX-License-Identifier: Apache-2.0
// examples/zrt/engine_vulkan_split.cpp: models whose last layers run on a Vulkan device, and the first on the processor.
#include "model_of.hpp"
#include "vulkan_choice.hpp"

#include <charconv>
#include <vulkan_split.hpp>

namespace program {

Opened open_vulkan_split(const std::string& path, const zrt::EngineOptions& options, const CardChoice& choice) {
  const auto device = vulkan_choice(choice.device);
  if (!device) return zrt::pass(device);
  engines::VulkanSplit::DeviceOptions parts;
  parts.last = {.kernels = engines::vulkan_kernels(), .device = *device};
  if (!choice.layers.empty() && choice.layers != kLayersThatFit) {
    std::uint32_t layers = 0;
    const char* const end = choice.layers.data() + choice.layers.size();
    if (const auto read = std::from_chars(choice.layers.data(), end, layers); read.ec != std::errc{} || read.ptr != end)
      return zrt::fail(zrt::Errc::invalid_argument, "'", std::string_view(choice.layers), "' is no number of layers");
    parts.layers = layers;
  }
  return ModelOf<engines::VulkanSplit>::open(path, options, parts);
}

}  // namespace program
