// SPDX-License-Identifier: Apache-2.0
// examples/zrt/vulkan_choice.cpp: which Vulkan device the command line names.
#include "vulkan_choice.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace program {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

std::optional<zrt::vulkan::DeviceUuid> uuid_of(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != '-') digits += static_cast<char>(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
  zrt::vulkan::DeviceUuid uuid{};
  if (digits.size() != uuid.size() * 2 || digits.find_first_not_of(kHexDigits) != digits.npos) return std::nullopt;
  const auto value = [&](std::size_t i) { return kHexDigits.find(digits[i]); };
  for (std::size_t i = 0; i < uuid.size(); ++i)
    uuid[i] = static_cast<std::uint8_t>(value(i * 2) * 16 + value(i * 2 + 1));
  return uuid;
}

}  // namespace

zrt::Result<zrt::vulkan::DeviceChoice> vulkan_choice(std::string_view device) {
  if (device.empty()) return zrt::vulkan::DeviceChoice{};
  if (device == "software") return zrt::vulkan::DeviceChoice{.software = true};
  if (const auto uuid = uuid_of(device)) return zrt::vulkan::DeviceChoice{.uuid = uuid};
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), index);
  if (error == std::errc{} && end == device.data() + device.size()) return zrt::vulkan::DeviceChoice{.index = index};
  return zrt::fail(zrt::Errc::invalid_argument, "no Vulkan device is called '", device,
                   "': it is a number of zrt devices, a UUID, or software");
}

std::string text_of(const zrt::vulkan::DeviceUuid& uuid) {
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kHexDigits[uuid[i] / 16];
    text += kHexDigits[uuid[i] % 16];
  }
  return text;
}

}  // namespace program
