// SPDX-License-Identifier: Apache-2.0
// examples/zrt/engine_vulkan.cpp: models on a Vulkan device.
#include "model_of.hpp"
#include "output.hpp"
#include "vulkan_choice.hpp"

#include <vulkan.hpp>

namespace program {
namespace {

/// With the way to those that there are.
zrt::Error with_way(const zrt::Error& error) {
  zrt::Error out = error;
  if (error.code() == zrt::Errc::unsupported_device || error.code() == zrt::Errc::not_found)
    out.append("; zrt devices lists what there is, --device software computes on the processor");
  return out;
}

}  // namespace

Opened open_vulkan(const std::string& path, const zrt::EngineOptions& options, const CardChoice& choice,
                   const Watchers& watchers) {
  const auto device = vulkan_choice(choice.device);
  if (!device) return zrt::pass(device);
  auto model = open_watched<engines::VulkanBackend>(path, options, watchers,
                                                    {.kernels = engines::vulkan_kernels(), .device = *device});
  if (!model) return std::unexpected<zrt::Error>(with_way(model.error()));
  return model;
}

}  // namespace program
