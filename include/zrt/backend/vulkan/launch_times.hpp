// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/launch_times.hpp: the device's clock at places of a command buffer.
#pragma once

#include <zrt/backend/vulkan/device.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// Timestamps of one step; move-only, its device outlives it.
class LaunchTimes {
 public:
  LaunchTimes() = default;
  LaunchTimes(LaunchTimes&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), pool_(std::exchange(other.pool_, nullptr)) {}
  LaunchTimes& operator=(LaunchTimes&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(pool_, other.pool_);
    return *this;
  }
  ~LaunchTimes() {
    if (device_ != nullptr && !device_->is_abandoned())
      device_->functions().DestroyQueryPool(device_->handle(), pool_, nullptr);
  }

  /// Errors: the device's death; those of Vulkan.
  [[nodiscard]] static Result<LaunchTimes> make(const Device& device, std::uint32_t count) noexcept {
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = count;
    LaunchTimes times;
    const VkResult r = device.functions().CreateQueryPool(device.handle(), &info, nullptr, &times.pool_);
    if (r != VK_SUCCESS) return device.failed(r, "making ", count, " timestamps");
    times.device_ = &device;
    return times;
  }

  [[nodiscard]] VkQueryPool pool() const noexcept { return pool_; }

 private:
  const Device* device_ = nullptr;
  VkQueryPool pool_ = nullptr;
};

}  // namespace zrt::inline ZRT_ABI::vulkan
