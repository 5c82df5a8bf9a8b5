// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/address_map.hpp: from the addresses that kernels see to buffers, and to the host's view of them.
#pragma once

#include <zrt/backend/vulkan/api.hpp>
#include <zrt/core/mutex.hpp>
#include <zrt/core/vector.hpp>

#include <cstddef>
#include <optional>

namespace zrt::inline ZRT_ABI::vulkan {

/// One allocation of a device.
struct AddressRange {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::byte* seen = nullptr;  ///< by the host; null where it does not see it
  VkBuffer buffer = nullptr;
  bool reads_fast = false;  ///< the host's cache has it; else each read goes to the device
};

/// The allocations of a device, which any thread may make and free.
class AddressMap {
 public:
  explicit AddressMap(const Allocator& allocator) noexcept : ranges_(allocator) {}

  /// Errors: Errc::out_of_memory.
  [[nodiscard]] Result<void> add(const AddressRange& range) noexcept {
    const MutexLock lock(mutex_);
    return ranges_.push_back(range);
  }
  void remove(VkBuffer buffer) noexcept {
    const MutexLock lock(mutex_);
    for (AddressRange& range : ranges_) {
      if (range.buffer != buffer) continue;
      range = ranges_.back();
      ranges_.pop_back();
      return;
    }
  }
  /// The allocation that an address lies in.
  [[nodiscard]] std::optional<AddressRange> find(std::uint64_t address) const noexcept {
    const MutexLock lock(mutex_);
    for (const AddressRange& range : ranges_)
      if (address >= range.address && address - range.address < range.bytes) return range;
    return std::nullopt;
  }

 private:
  mutable Mutex mutex_{};
  Vector<AddressRange> ranges_;
};

}  // namespace zrt::inline ZRT_ABI::vulkan
