// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/umq/gem_buffer.hpp: a buffer of the amdgpu driver that is closed when its owner goes.
#pragma once

#include <zrt/backend/pm4/umq/device.hpp>

namespace zrt::inline ZRT_ABI::pm4::umq {

/// A buffer of the driver; move-only. The device outlives it.
template <OperatingSystem Os> class GemBuffer {
 public:
  GemBuffer() = default;
  GemBuffer(const GemBuffer&) = delete;
  GemBuffer& operator=(const GemBuffer&) = delete;
  GemBuffer(GemBuffer&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, 0)) {}
  GemBuffer& operator=(GemBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~GemBuffer() { (void)close(); }

  /// Errors as system_failure().
  [[nodiscard]] static Result<GemBuffer> create(const Device<Os>& device, GemCreate create) noexcept {
    if (auto r = device.call_with(kGemCreate, create); !r) return pass(r);
    GemBuffer buffer;
    buffer.device_ = &device;
    buffer.handle_ = answer_in<GemCreateOut>(create).handle;
    return buffer;
  }

  /// Closes it before its owner goes. False where it stays with the open file.
  [[nodiscard]] bool close() noexcept {
    const std::uint32_t handle = std::exchange(handle_, 0);
    return handle == 0 || give_back(*device_, kGemClose, GemClose{.handle = handle});
  }

  [[nodiscard]] std::uint32_t handle() const noexcept { return handle_; }
  /// Where the host maps it in the render node's file. Errors as system_failure().
  [[nodiscard]] Result<std::uint64_t> file_offset() const noexcept {
    GemMmap mmap{.handle_or_offset = handle_};
    if (auto r = device_->call_with(kGemMmap, mmap); !r) return pass(r);
    return mmap.handle_or_offset;
  }

 private:
  const Device<Os>* device_ = nullptr;
  std::uint32_t handle_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::pm4::umq
