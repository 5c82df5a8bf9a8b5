// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/staging.hpp: bytes to and from memory that the host does not see.
#pragma once

#include <zrt/backend/vulkan/commands.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// Copies by way of one piece of memory of the host, while nothing else of the queue is under way. Where the host sees
/// the memory it copies at once, but for reading much of what its cache has not.
class Staging {
 public:
  Staging(Device& device, std::uint64_t timeout) noexcept : device_(&device), timeout_(timeout) {}

  /// Errors: Errc::invalid_argument for an address that is no memory's; those of Memory, Commands and the device.
  [[nodiscard]] Result<void> copy_in(std::uint64_t address, Span<const std::byte> from) noexcept {
    return copy(
        address, from.size(),
        [&](std::byte* host, std::size_t at, std::size_t size, bool) { std::memcpy(host, from.data() + at, size); },
        true);
  }
  [[nodiscard]] Result<void> copy_out(std::uint64_t address, Span<std::byte> to) noexcept {
    return copy(
        address, to.size(),
        [&](const std::byte* host, std::size_t at, std::size_t size, bool) { std::memcpy(to.data() + at, host, size); },
        false);
  }

 private:
  static constexpr std::uint64_t kBytes = std::uint64_t{4} << 20;
  /// Read word by word from behind a bus they take as long as a submission.
  static constexpr std::size_t kFewBytes = 1024;

  template <class Move>
  [[nodiscard]] Result<void> copy(std::uint64_t address, std::size_t bytes, const Move& move, bool in) noexcept {
    if (bytes == 0) return {};
    const auto range = device_->addresses().find(address);
    if (!range || bytes > range->bytes - (address - range->address))
      return fail(Errc::invalid_argument, "a copy of ", bytes, " bytes at an address that is no memory's");
    if (range->seen != nullptr && (in || range->reads_fast || bytes <= kFewBytes)) {
      move(range->seen + (address - range->address), 0, bytes, in);
      return {};
    }
    return copy_staged(*range, address - range->address, bytes, move, in);
  }
  template <class Move>
  [[nodiscard]] Result<void> copy_staged(const AddressRange& range, std::uint64_t offset, std::size_t bytes,
                                         const Move& move, bool in) noexcept {
    if (auto r = make_room(); !r) return r;
    for (std::size_t at = 0; at < bytes;) {
      const std::size_t size = bytes - at < kBytes ? bytes - at : static_cast<std::size_t>(kBytes);
      std::byte* const host = room_.span().data();
      if (in) move(host, at, size, in);
      const VkBufferCopy part = in ? VkBufferCopy{0, offset + at, size} : VkBufferCopy{offset + at, 0, size};
      if (auto r = run(in ? room_.buffer() : range.buffer, in ? range.buffer : room_.buffer(), part); !r) return r;
      if (!in) move(host, at, size, in);
      at += size;
    }
    return {};
  }
  [[nodiscard]] Result<void> make_room() noexcept {
    if (!room_.span().empty()) return {};
    auto room = Memory::allocate(*device_, Heap::for_host, kBytes);
    if (!room) return pass(room);
    room_ = std::move(*room);
    return {};
  }
  [[nodiscard]] Result<void> run(VkBuffer from, VkBuffer to, const VkBufferCopy& part) noexcept {
    auto commands = Commands::begin(*device_);
    if (!commands) return pass(commands);
    commands->barrier();
    commands->copy(from, to, part);
    commands->show_to_host();
    return commands->run(*device_, timeout_);
  }

  Device* device_;
  std::uint64_t timeout_;
  Memory room_{};
};

}  // namespace zrt::inline ZRT_ABI::vulkan
