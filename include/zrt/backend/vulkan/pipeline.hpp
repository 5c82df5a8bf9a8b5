// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/pipeline.hpp: a kernel as a device runs it, from SPIR-V and specialisation constants.
#pragma once

#include <zrt/backend/vulkan/device.hpp>
#include <zrt/backend/vulkan/without_f64.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// Move-only; its device outlives it.
class Pipeline {
 public:
  Pipeline() = default;
  Pipeline(Pipeline&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), handle_(std::exchange(other.handle_, nullptr)) {}
  Pipeline& operator=(Pipeline&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Pipeline() {
    if (device_ != nullptr && !device_->is_abandoned())
      device_->functions().DestroyPipeline(device_->handle(), handle_, nullptr);
  }

  /// Makes the kernel's entry point main; `constants` have the ids 0, 1, ... `name` is for errors. The module is fitted to
  /// the device: without numbers of 64 bits where it has none, and with the modes by which it is told how to round.
  ///
  /// Errors: the device's death; those of without_f64() and with_modes(); those of Vulkan.
  [[nodiscard]] static Result<Pipeline> make(const Device& device, std::string_view name,
                                             Span<const std::uint32_t> spirv,
                                             Span<const std::uint32_t> constants) noexcept {
    if (!device.alive()) return pass(device.alive());
    const auto fitted = fit(device, name, spirv);
    if (!fitted) return pass(fitted);
    VkShaderModuleCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = fitted->span().size_bytes();
    info.pCode = fitted->data();
    VkShaderModule module = nullptr;
    if (const VkResult r = device.functions().CreateShaderModule(device.handle(), &info, nullptr, &module);
        r != VK_SUCCESS)
      return device.failed(r, "taking kernel ", name);
    auto pipeline = make(device, name, module, constants);
    device.functions().DestroyShaderModule(device.handle(), module, nullptr);
    return pipeline;
  }

  [[nodiscard]] VkPipeline handle() const noexcept { return handle_; }

 private:
  static constexpr std::size_t kMostConstants = 16;

  [[nodiscard]] static Result<Vector<std::uint32_t>> fit(const Device& device, std::string_view name,
                                                         Span<const std::uint32_t> spirv) noexcept {
    const DeviceFacts& facts = device.facts();
    if (facts.has_f64) return with_modes(spirv, name, facts.float_modes, device.allocator());
    const auto smaller = without_f64(spirv, name, device.allocator());
    if (!smaller) return pass(smaller);
    return with_modes(smaller->span(), name, facts.float_modes, device.allocator());
  }

  [[nodiscard]] static Result<Pipeline> make(const Device& device, std::string_view name, VkShaderModule module,
                                             Span<const std::uint32_t> constants) noexcept {
    std::array<VkSpecializationMapEntry, kMostConstants> entries{};
    if (constants.size() > entries.size())
      return fail(Errc::capacity_exceeded, "kernel ", name, " gets ", constants.size(), " constants, at most ",
                  entries.size());
    for (std::uint32_t i = 0; i < constants.size(); ++i) entries[i] = {i, i * 4, 4};
    const VkSpecializationInfo values{static_cast<std::uint32_t>(constants.size()), entries.data(),
                                      constants.size_bytes(), constants.data()};
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &values;
    info.layout = device.layout();
    VkPipeline made = nullptr;
    const VkResult r = device.functions().CreateComputePipelines(device.handle(), nullptr, 1, &info, nullptr, &made);
    if (r != VK_SUCCESS) return device.failed(r, "compiling kernel ", name);
    Pipeline pipeline;
    pipeline.device_ = &device;
    pipeline.handle_ = made;
    return pipeline;
  }

  const Device* device_ = nullptr;
  VkPipeline handle_ = nullptr;
};

}  // namespace zrt::inline ZRT_ABI::vulkan
