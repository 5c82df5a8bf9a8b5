// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/memory_types.hpp: from which heap memory comes, by what it is for.
#pragma once

#include <zrt/backend/vulkan/api.hpp>
#include <zrt/core/error.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::vulkan {

/// What memory is for.
enum class Heap : std::uint8_t {
  device,    ///< bulk: the device's own memory, which the host may see or not
  shared,    ///< what the host writes, or reads seldom; the device's own memory where the host sees much of it
  for_host,  ///< what the host reads after each step
};
[[nodiscard]] constexpr std::string_view name(Heap heap) noexcept {
  return heap == Heap::device ? "device memory" : heap == Heap::shared ? "shared memory" : "memory for the host";
}

namespace detail {

/// Of a device's own memory the host may see a window of 256 MiB, which is no place for bulk.
inline constexpr VkDeviceSize kWindowBytes = VkDeviceSize{256} << 20;

struct TypeWish {
  VkMemoryPropertyFlags required = 0;
  VkMemoryPropertyFlags preferred = 0;
};
/// Memory that the host reads and writes without further ado.
inline constexpr VkMemoryPropertyFlags kSeen =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

[[nodiscard]] constexpr TypeWish wish_of(Heap heap) noexcept {
  if (heap == Heap::device) return {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, kSeen};
  if (heap == Heap::shared) return {kSeen, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT};
  return {kSeen, VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
}

/// Memory that a driver has for special uses. AMD's two need a feature of their own.
inline constexpr VkMemoryPropertyFlags kNeverWanted =
    VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
    VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;

[[nodiscard]] constexpr bool is_window(const VkPhysicalDeviceMemoryProperties& memory,
                                       const VkMemoryType& type) noexcept {
  constexpr VkMemoryPropertyFlags both = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  const VkDeviceSize size = memory.memoryHeaps[type.heapIndex].size;
  bool is_largest = true;
  for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) is_largest &= memory.memoryHeaps[i].size <= size;
  return (type.propertyFlags & both) == both && size <= kWindowBytes && !is_largest;
}

}  // namespace detail

/// The type of memory for that use, among the types of `allowed`: what is required, then what is preferred, then the
/// largest heap. For bulk the largest heap comes first, since the host may see a part of a card's memory as a heap of its
/// own; where a device has no memory of its own but a window, bulk is shared.
///
/// Errors: Errc::unsupported_device where there is none.
[[nodiscard]] constexpr Result<std::uint32_t> choose_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                                                 std::uint32_t allowed, Heap use) noexcept {
  const detail::TypeWish wish = detail::wish_of(use);
  std::uint32_t best = VK_MAX_MEMORY_TYPES;
  const auto rank = [&](std::uint32_t type) {
    const VkMemoryType& t = memory.memoryTypes[type];
    const VkDeviceSize size = memory.memoryHeaps[t.heapIndex].size;
    const VkDeviceSize liked = (t.propertyFlags & wish.preferred) == wish.preferred ? 1 : 0;
    return use == Heap::device ? std::array{size, liked} : std::array{liked, size};
  };
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryType& type = memory.memoryTypes[i];
    if ((allowed >> i & 1u) == 0 || (type.propertyFlags & wish.required) != wish.required ||
        (type.propertyFlags & detail::kNeverWanted) != 0 || detail::is_window(memory, type))
      continue;
    if (best == VK_MAX_MEMORY_TYPES || rank(i) > rank(best)) best = i;
  }
  if (best == VK_MAX_MEMORY_TYPES && use == Heap::device) return choose_memory_type(memory, allowed, Heap::shared);
  if (best == VK_MAX_MEMORY_TYPES) return fail(Errc::unsupported_device, "the device has no ", name(use));
  return best;
}

}  // namespace zrt::inline ZRT_ABI::vulkan
