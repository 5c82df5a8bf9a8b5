// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/umq/info.hpp: what the amdgpu driver can be asked about a card, and its answers.
#pragma once

#include <zrt/core/config.hpp>

#include <cstddef>
#include <cstdint>

/// Older kernels write as much of an answer as they know: what they leave out stays as the caller had it.
namespace zrt::inline ZRT_ABI::pm4::umq {

enum class InfoQuery : std::uint32_t {
  hw_ip_info = 0x02,
  dev_info = 0x16,
  memory = 0x19,
  vram_lost_counter = 0x1f,  ///< the answer is a number of 32 bits
  gpuvm_fault = 0x23,
  uq_fw_areas = 0x24,
};

/// The argument of INFO.
struct Info {
  std::uint64_t return_pointer = 0;
  std::uint32_t return_size = 0;
  InfoQuery query = InfoQuery::dev_info;
  std::uint32_t parameters[4]{};  ///< of HW_IP_INFO the kind of engine and its number
};
static_assert(sizeof(Info) == 32 && offsetof(Info, return_size) == 8 && offsetof(Info, query) == 12);
static_assert(offsetof(Info, parameters) == 16);

/// Of DEV_INFO, the fields that a queue needs; the kernel's text has names for the others.
struct DeviceInfo {
  std::uint32_t before_engines[5]{};
  std::uint32_t num_shader_engines = 0;
  std::uint32_t num_shader_arrays_per_engine = 0;
  std::uint32_t gpu_counter_freq = 0;  ///< of the clock that packets write, in kHz
  std::uint32_t before_units[4]{};
  std::uint32_t cu_active_number = 0;
  std::uint32_t before_addresses[23]{};
  std::uint64_t virtual_address_offset = 0;
  std::uint64_t virtual_address_max = 0;
  std::uint32_t before_mask[69]{};
  std::uint32_t userq_ip_mask = 0;  ///< the engines that take user queues, a bit each; since Linux 6.16
  std::uint32_t pad[2]{};
};
static_assert(sizeof(DeviceInfo) == 448 && offsetof(DeviceInfo, num_shader_engines) == 20);
static_assert(offsetof(DeviceInfo, cu_active_number) == 48 && offsetof(DeviceInfo, virtual_address_offset) == 144);
static_assert(offsetof(DeviceInfo, gpu_counter_freq) == 28);
static_assert(offsetof(DeviceInfo, virtual_address_max) == 152 && offsetof(DeviceInfo, userq_ip_mask) == 436);

struct HwIpInfo {
  std::uint32_t hw_ip_version_major = 0;
  std::uint32_t hw_ip_version_minor = 0;
  std::uint64_t capabilities_flags = 0;
  std::uint32_t ib_start_alignment = 0;
  std::uint32_t ib_size_alignment = 0;
  std::uint32_t available_rings = 0;
  std::uint32_t ip_discovery_version = 0;  ///< 23:16 major, 15:8 minor, 7:0 revision of the graphics core
  std::uint32_t userq_num_slots = 0;       ///< of later kernels, some of which count another engine's
  std::uint32_t pad = 0;
};
static_assert(sizeof(HwIpInfo) == 40 && offsetof(HwIpInfo, ip_discovery_version) == 28);
static_assert(offsetof(HwIpInfo, userq_num_slots) == 32);

struct HeapInfo {
  std::uint64_t total_heap_size = 0;
  std::uint64_t usable_heap_size = 0;
  std::uint64_t heap_usage = 0;
  std::uint64_t max_allocation = 0;

  [[nodiscard]] constexpr std::uint64_t left() const noexcept {
    return usable_heap_size > heap_usage ? usable_heap_size - heap_usage : 0;
  }
};
struct MemoryInfo {
  HeapInfo vram{};
  HeapInfo cpu_accessible_vram{};
  HeapInfo gtt{};
};
static_assert(sizeof(MemoryInfo) == 96 && offsetof(MemoryInfo, cpu_accessible_vram) == 32);

/// Of UQ_FW_AREAS for compute: what the firmware wants. Kernels that tell it for graphics alone give EINVAL.
struct ComputeAreas {
  std::uint32_t eop_size = 0;
  std::uint32_t eop_alignment = 0;
};
static_assert(sizeof(ComputeAreas) == 8 && offsetof(ComputeAreas, eop_alignment) == 4);

/// The last access of this file's address space that failed; 0 before the first.
struct GpuvmFault {
  std::uint64_t addr = 0;
  std::uint32_t status = 0;
  std::uint32_t vmhub = 0;
};
static_assert(sizeof(GpuvmFault) == 16 && offsetof(GpuvmFault, status) == 8);
/// In `status`: whether the access was a write.
inline constexpr std::uint32_t kFaultWrote = 1u << 18;

}  // namespace zrt::inline ZRT_ABI::pm4::umq
