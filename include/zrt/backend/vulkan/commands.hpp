// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/commands.hpp: a command buffer, recorded once and handed over any number of times.
#pragma once

#include <zrt/backend/vulkan/launch_times.hpp>
#include <zrt/backend/vulkan/memory.hpp>
#include <zrt/backend/vulkan/pipeline.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// Move-only; its device outlives it, and so does what it runs.
class Commands {
 public:
  Commands() = default;
  Commands(Commands&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), handle_(std::exchange(other.handle_, nullptr)) {}
  Commands& operator=(Commands&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Commands() {
    if (device_ != nullptr && !device_->is_abandoned())
      device_->functions().FreeCommandBuffers(device_->handle(), device_->commands(), 1, &handle_);
  }

  /// A buffer that is being recorded. Errors: the device's death; those of Vulkan.
  [[nodiscard]] static Result<Commands> begin(const Device& device) noexcept {
    if (!device.alive()) return pass(device.alive());
    const VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, device.commands(),
                                           VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    VkCommandBuffer made = nullptr;
    if (const VkResult r = device.functions().AllocateCommandBuffers(device.handle(), &info, &made); r != VK_SUCCESS)
      return device.failed(r, "making a command buffer");
    Commands commands;
    commands.device_ = &device;
    commands.handle_ = made;
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    if (const VkResult r = device.functions().BeginCommandBuffer(made, &begin); r != VK_SUCCESS)
      return device.failed(r, "beginning a command buffer");
    return commands;
  }

  /// Everything behind it waits for all kernels and copies before it, and sees what they wrote.
  void barrier() noexcept { memory_barrier(kWork, kWork); }
  /// What kernels and copies wrote is there for the host, which may write over it too.
  void show_to_host() noexcept {
    memory_barrier(kWork, {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT | VK_ACCESS_2_HOST_WRITE_BIT});
  }
  void bind(const Pipeline& pipeline) noexcept {
    functions().CmdBindPipeline(handle_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle());
  }
  /// The argument block of the kernels that follow, and the number of their first workgroup on the first axis.
  void arguments(std::uint64_t address, std::uint32_t first = 0) noexcept {
    const LaunchConstants constants{address, first, 0};
    functions().CmdPushConstants(handle_, device_->layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof constants,
                                 &constants);
  }
  void dispatch(std::uint32_t x, std::uint32_t y, std::uint32_t z) noexcept {
    functions().CmdDispatch(handle_, x, y, z);
  }
  /// A grid of three words at `offset` of `memory`, as they stand there when the kernel's turn comes.
  void dispatch(const Memory& memory, std::uint64_t offset) noexcept {
    functions().CmdDispatchIndirect(handle_, memory.buffer(), offset);
  }
  void copy(VkBuffer from, VkBuffer to, const VkBufferCopy& part) noexcept {
    functions().CmdCopyBuffer(handle_, from, to, 1, &part);
  }
  /// Writes a word at `offset` of `memory`.
  void write(const Memory& memory, std::uint64_t offset, std::uint32_t word) noexcept {
    functions().CmdFillBuffer(handle_, memory.buffer(), offset, sizeof word, word);
  }
  void forget(const LaunchTimes& times, std::uint32_t count) noexcept {
    functions().CmdResetQueryPool(handle_, times.pool(), 0, count);
  }
  /// Timestamp `index` is the clock when every kernel before it has ended.
  void tell(const LaunchTimes& times, std::uint32_t index) noexcept {
    functions().CmdWriteTimestamp2(handle_, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, times.pool(), index);
  }
  /// Writes `count` timestamps of 8 bytes at `offset` of `memory`.
  void write(const LaunchTimes& times, std::uint32_t count, const Memory& memory, std::uint64_t offset) noexcept {
    functions().CmdCopyQueryPoolResults(handle_, times.pool(), 0, count, memory.buffer(), offset, 8,
                                        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  }
  /// Ends the recording, hands it over and waits. Errors: those of end(), Device::submit and Device::wait.
  [[nodiscard]] Result<void> run(Device& device, std::uint64_t timeout) noexcept {
    if (auto r = end(); !r) return r;
    const VkCommandBufferSubmitInfo all = submission();
    const auto value = device.submit(Span<const VkCommandBufferSubmitInfo>(&all, 1));
    if (!value) return pass(value);
    return device.wait(*value, timeout);
  }
  /// Errors: those of Vulkan.
  [[nodiscard]] Result<void> end() noexcept {
    const VkResult r = functions().EndCommandBuffer(handle_);
    if (r != VK_SUCCESS) return device_->failed(r, "recording a command buffer");
    return {};
  }

  /// The buffer as a part of a submission.
  [[nodiscard]] VkCommandBufferSubmitInfo submission() const noexcept {
    return {VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, nullptr, handle_, 0};
  }
  [[nodiscard]] const Device& device() const noexcept { return *device_; }

 private:
  struct Scope {
    VkPipelineStageFlags2 stages = 0;
    VkAccessFlags2 access = 0;
  };
  static constexpr Scope kWork{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                               VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT |
                                   VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT};

  [[nodiscard]] const DeviceFunctions& functions() const noexcept { return device_->functions(); }
  void memory_barrier(const Scope& before, const Scope& after) noexcept {
    const VkMemoryBarrier2 memory{
        VK_STRUCTURE_TYPE_MEMORY_BARRIER_2, nullptr, before.stages, before.access, after.stages, after.access};
    VkDependencyInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
    info.memoryBarrierCount = 1;
    info.pMemoryBarriers = &memory;
    functions().CmdPipelineBarrier2(handle_, &info);
  }

  const Device* device_ = nullptr;
  VkCommandBuffer handle_ = nullptr;
};

}  // namespace zrt::inline ZRT_ABI::vulkan
