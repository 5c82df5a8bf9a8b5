// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/ioctl.hpp: the number of a system call on a device file, from the argument's size.
#pragma once

#include <zrt/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace zrt::inline ZRT_ABI::pm4 {

/// Which way a call's argument goes, seen from the caller.
enum class IoctlDirection : std::uint32_t { none = 0, write = 1, read = 2, read_write = 3 };

/// The request number as Linux composes it on x86 and ARM: direction, size, type, number.
[[nodiscard]] constexpr std::uint32_t ioctl_request(IoctlDirection direction, char type, std::uint8_t number,
                                                    std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>(direction) << 30 | static_cast<std::uint32_t>(bytes & 0x3fff) << 16 |
         std::uint32_t{static_cast<unsigned char>(type)} << 8 | number;
}
[[nodiscard]] constexpr std::uint32_t ioctl_bytes(std::uint32_t request) noexcept { return request >> 16 & 0x3fff; }
[[nodiscard]] constexpr std::uint8_t ioctl_number(std::uint32_t request) noexcept {
  return static_cast<std::uint8_t>(request);
}

/// A call with its name, for errors and for whoever lists the calls.
struct IoctlCall {
  std::string_view name;
  std::uint32_t request = 0;
};

}  // namespace zrt::inline ZRT_ABI::pm4
