// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/heap.hpp: the heaps that memory of the GPU comes from, and what the GPU may do with it.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::pm4 {

inline constexpr std::uint64_t kPageBytes = 4096;

/// Where memory lies and who sees it.
enum class Heap : std::uint8_t {
  device_local,  ///< video memory that the host does not see
  bar,           ///< video memory that the host sees through the PCIe BAR
  host_visible,  ///< memory of the host, coherent
};
/// As drivers and their tools call it.
[[nodiscard]] constexpr std::string_view name(Heap heap) noexcept {
  switch (heap) {
    case Heap::device_local:
      return "VRAM";
    case Heap::bar:
      return "VRAM behind the BAR";
    case Heap::host_visible:
      break;
  }
  return "GTT";
}

/// What the GPU may do with memory beside reading it.
enum class GpuAccess : std::uint8_t { read, read_write, execute };

}  // namespace zrt::inline ZRT_ABI::pm4
