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

/// The layers that fit, where not all of them do, with a word about it; else the error of the whole model.
Opened with_those_that_fit(const std::string& path, const zrt::EngineOptions& options, const CardChoice& choice,
                           const zrt::Error& error) {
  auto model = open_vulkan_split(path, options, choice);
  if (!model) return std::unexpected<zrt::Error>(error);
  const zrt::plan::PlanSplit& split = *(*model)->split();
  note(std::to_string(split.last_layers) + " of " + std::to_string(split.layers) +
       " layers run on the device, the others on the processor: " + std::string(error.text()));
  return model;
}

}  // namespace

Opened open_vulkan(const std::string& path, const zrt::EngineOptions& options, const CardChoice& choice,
                   const Watchers& watchers) {
  const auto device = vulkan_choice(choice.device);
  if (!device) return zrt::pass(device);
  const bool is_watched =
      watchers.timeline != nullptr || watchers.run.recorder != nullptr || watchers.run.replay != nullptr;
  if (!choice.layers.empty() && is_watched)
    return zrt::fail(zrt::Errc::unimplemented,
                     "a model on two backends is not traced or recorded; leave out "
                     "--device-layers");
  if (!choice.layers.empty()) {
    auto parts = open_vulkan_split(path, options, choice);
    if (!parts) return std::unexpected<zrt::Error>(with_way(parts.error()));
    return parts;
  }
  auto model = open_watched<engines::VulkanBackend>(path, options, watchers,
                                                    {.kernels = engines::vulkan_kernels(), .device = *device});
  if (model) return model;
  if (model.error().code() == zrt::Errc::out_of_memory && !is_watched)
    return with_those_that_fit(path, options, choice, model.error());
  return std::unexpected<zrt::Error>(with_way(model.error()));
}

}  // namespace program
