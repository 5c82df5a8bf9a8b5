// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/device_choice.hpp: which of a machine's Vulkan devices an engine takes.
#pragma once

#include <zrt/backend/vulkan/device_facts.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// What a host asks for. Without a name: a discrete GPU before an integrated one before a virtual one, then the one with
/// more memory.
struct DeviceChoice {
  std::optional<std::uint32_t> index{};  ///< in the instance's order
  std::optional<DeviceUuid> uuid{};
  /// A device that the processor computes may be taken where there is no other; by name it may be taken always.
  bool software = false;
};

namespace detail {

[[nodiscard]] constexpr int rank(VkPhysicalDeviceType type) noexcept {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 0;
    default:
      break;
  }
  return 1;
}

[[nodiscard]] inline bool is_better(const DeviceFacts& a, const DeviceFacts& than) noexcept {
  if (rank(a.type) != rank(than.type)) return rank(a.type) > rank(than.type);
  return a.local_bytes > than.local_bytes;
}

[[nodiscard]] inline Result<const DeviceFacts*> if_usable(const DeviceFacts& named) noexcept {
  if (!named.usable) return pass(named.usable);
  return &named;
}

[[nodiscard]] inline Result<const DeviceFacts*> by_name(Span<const DeviceFacts> all,
                                                        const DeviceChoice& choice) noexcept {
  if (choice.index) {
    if (*choice.index >= all.size())
      return fail(Errc::not_found, "Vulkan device ", *choice.index, " is asked for, there are ", all.size());
    return if_usable(all[*choice.index]);
  }
  for (const DeviceFacts& facts : all)
    if (facts.uuid == *choice.uuid) return if_usable(facts);
  return fail(Errc::not_found, "none of the ", all.size(), " Vulkan devices has the UUID that is asked for");
}

/// Why none of them is taken.
[[nodiscard]] inline std::unexpected<Error> none_usable(Span<const DeviceFacts> all) noexcept {
  if (all.empty())
    return fail(Errc::unsupported_device,
                "there is no Vulkan device: install a driver, on Debian mesa-vulkan-drivers or NVIDIA's");
  for (const DeviceFacts& facts : all)
    if (!facts.usable) return pass(facts.usable);
  return fail(Errc::unsupported_device, "the only Vulkan device is ", all[0].name.view(),
              ", which the processor computes: it is taken where it is named");
}

}  // namespace detail

/// Errors: Errc::not_found for a name that no device has; unsupported_device where none is usable, with the reason.
[[nodiscard]] inline Result<const DeviceFacts*> choose(Span<const DeviceFacts> all,
                                                       const DeviceChoice& choice) noexcept {
  if (choice.index || choice.uuid) return detail::by_name(all, choice);
  const DeviceFacts* best = nullptr;
  for (const DeviceFacts& facts : all)
    if (facts.usable && (!facts.is_software() || choice.software) &&
        (best == nullptr || detail::is_better(facts, *best)))
      best = &facts;
  if (best == nullptr) return detail::none_usable(all);
  return best;
}

}  // namespace zrt::inline ZRT_ABI::vulkan
