// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan.hpp: GPUs by Vulkan 1.3: a step recorded once as command buffers, replayed by one submission. An optional header: it needs Vulkan-Headers.
#pragma once

#include <zrt/backend/vulkan/declaration.hpp>
#include <zrt/device/adapters.hpp>
#include <zrt/device/claims.hpp>
#include <zrt/device/step_program.hpp>
#include <zrt/exec/adapter_table.hpp>
#include <zrt/ops/catalog.hpp>

namespace zrt::inline ZRT_ABI {

template <vulkan::VulkanLoader Loader> struct BasicVulkanBackend {
  static constexpr std::string_view name = "vulkan";
  using Tensor = device::Tensor;
  using Weight = device::Weight;
  using State = device::State;
  using Scratch = device::Scratch;
  using Device = vulkan::BackendDevice<Loader>;
  using DeviceOptions = vulkan::DeviceOptions<Loader>;
  using Memory = typename Device::Memory;
  using Program = device::StepProgram<Device>;
  using Recorder = device::DeviceRecorder<Program, Device>;
  using Claims = device::Claims;
  using Unsupported = device::Unsupported;
};

template <vulkan::VulkanLoader Loader, class O>
  requires device::RecordsDispatches<O>
struct Adapter<BasicVulkanBackend<Loader>, O> : device::SharedAdapter<BasicVulkanBackend<Loader>, O> {};

template <vulkan::VulkanLoader Loader>
struct Adapter<BasicVulkanBackend<Loader>, ops::Sample>
    : device::SharedAdapter<BasicVulkanBackend<Loader>, ops::Sample, device::SampleByKernel> {};

static_assert(CheckBackend<VulkanBackend, ops::Catalog>::kOk);

}  // namespace zrt::inline ZRT_ABI
