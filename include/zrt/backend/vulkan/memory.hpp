// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/memory.hpp: memory of a Vulkan device with the address that its kernels see.
#pragma once

#include <zrt/backend/vulkan/device.hpp>
#include <zrt/backend/vulkan/memory_types.hpp>
#include <zrt/core/span.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// One allocation, move-only; its device outlives it. The host sees it, but for that of Heap::device on some devices.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Memory() {
    if (device_ == nullptr || device_->is_abandoned()) return;
    device_->addresses().remove(buffer_);
    device_->functions().DestroyBuffer(device_->handle(), buffer_, nullptr);
    // Mapped memory may be freed as it is.
    device_->functions().FreeMemory(device_->handle(), memory_, nullptr);
  }

  /// Errors: the device's death; Errc::invalid_argument for no bytes; out_of_memory for more than an allocation of the
  /// device may have, or than its heap has left; those of Vulkan.
  [[nodiscard]] static Result<Memory> allocate(const Device& device, Heap heap, std::uint64_t bytes) noexcept {
    if (!device.alive()) return pass(device.alive());
    if (bytes == 0) return fail(Errc::invalid_argument, "memory of 0 bytes is allocated");
    if (bytes > device.facts().largest_allocation)
      return fail(Errc::out_of_memory, "an allocation of ", bytes, " bytes, ", device.facts().name.view(),
                  " gives at most ", device.facts().largest_allocation);
    Memory memory;
    memory.device_ = &device;
    memory.heap_ = heap;
    memory.bytes_ = bytes;
    if (auto r = memory.make_buffer(); !r) return pass(r);
    if (auto r = memory.take(); !r) return pass(r);
    if (auto r = memory.place(); !r) return pass(r);
    return memory;
  }

  /// For kernels.
  [[nodiscard]] std::uint64_t address() const noexcept { return address_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] Heap heap() const noexcept { return heap_; }
  /// The bytes for the host; none where it does not see them, which may be in Heap::device.
  [[nodiscard]] Span<std::byte> span() const noexcept {
    return seen_ == nullptr ? Span<std::byte>{} : Span<std::byte>{seen_, static_cast<std::size_t>(bytes_)};
  }
  [[nodiscard]] VkBuffer buffer() const noexcept { return buffer_; }

 private:
  static constexpr VkBufferUsageFlags kUsage =
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
      VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

  void swap(Memory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(buffer_, other.buffer_);
    std::swap(memory_, other.memory_);
    std::swap(seen_, other.seen_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    std::swap(heap_, other.heap_);
    std::swap(is_seen_, other.is_seen_);
    std::swap(is_cached_, other.is_cached_);
  }
  template <class... Pieces>
  [[nodiscard]] std::unexpected<Error> failed(VkResult result, Pieces... what) const noexcept {
    return device_->failed(result, what..., " of ", bytes_, " bytes of ", name(heap_), " of ",
                           device_->facts().name.view());
  }
  [[nodiscard]] Result<void> make_buffer() noexcept {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes_;
    info.usage = kUsage;
    const VkResult r = device_->functions().CreateBuffer(device_->handle(), &info, nullptr, &buffer_);
    if (r == VK_SUCCESS) return {};
    buffer_ = nullptr;
    return failed(r, "making a buffer");
  }
  [[nodiscard]] Result<void> take() noexcept {
    VkMemoryRequirements needs{};
    device_->functions().GetBufferMemoryRequirements(device_->handle(), buffer_, &needs);
    const auto type = choose_memory_type(device_->memory(), needs.memoryTypeBits, heap_);
    if (!type) return pass(type);
    const VkMemoryType& chosen = device_->memory().memoryTypes[*type];
    is_seen_ = (chosen.propertyFlags & detail::kSeen) == detail::kSeen;
    is_cached_ = (chosen.propertyFlags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
    if (auto r = check_budget(needs.size, chosen.heapIndex); !r) return r;
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    const VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags, needs.size, *type};
    const VkResult r = device_->functions().AllocateMemory(device_->handle(), &info, nullptr, &memory_);
    if (r == VK_SUCCESS) return {};
    memory_ = nullptr;
    return failed(r, "an allocation");
  }
  [[nodiscard]] Result<void> check_budget(std::uint64_t bytes, std::uint32_t heap) const noexcept {
    const std::uint64_t left = device_->bytes_left(heap);
    if (bytes <= left) return {};
    return fail(Errc::out_of_memory, "an allocation of ", bytes, " bytes of ", name(heap_), ", ",
                device_->facts().name.view(), " has ", left, " left");
  }
  [[nodiscard]] Result<void> place() noexcept {
    const DeviceFunctions& call = device_->functions();
    if (const VkResult r = call.BindBufferMemory(device_->handle(), buffer_, memory_, 0); r != VK_SUCCESS)
      return failed(r, "binding");
    if (is_seen_) {
      void* seen = nullptr;
      if (const VkResult r = call.MapMemory(device_->handle(), memory_, 0, VK_WHOLE_SIZE, 0, &seen); r != VK_SUCCESS)
        return failed(r, "mapping");
      seen_ = static_cast<std::byte*>(seen);
    }
    const VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, nullptr, buffer_};
    address_ = call.GetBufferDeviceAddress(device_->handle(), &info);
    return device_->addresses().add({address_, bytes_, seen_, buffer_, is_cached_});
  }

  const Device* device_ = nullptr;
  VkBuffer buffer_ = nullptr;
  VkDeviceMemory memory_ = nullptr;
  std::byte* seen_ = nullptr;
  std::uint64_t address_ = 0;
  std::uint64_t bytes_ = 0;
  Heap heap_ = Heap::device;
  bool is_seen_ = false;
  bool is_cached_ = false;
};

}  // namespace zrt::inline ZRT_ABI::vulkan
