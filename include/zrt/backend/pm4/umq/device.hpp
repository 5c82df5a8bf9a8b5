// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/umq/device.hpp: a GPU whose render node gives user queues, and the address space of its file.
#pragma once

#include <zrt/backend/pm4/heap.hpp>
#include <zrt/backend/pm4/os_handles.hpp>
#include <zrt/backend/pm4/target.hpp>
#include <zrt/backend/pm4/umq/call.hpp>
#include <zrt/core/name.hpp>

namespace zrt::inline ZRT_ABI::pm4::umq {

/// The version of a graphics core as the driver tells it: major in bits 23:16, minor, revision.
[[nodiscard]] constexpr std::uint32_t core_version(const TargetFacts& target) noexcept {
  const auto digit = [&](std::size_t at) { return static_cast<std::uint32_t>(target.name[at] - '0'); };
  return (digit(3) * 10 + digit(4)) << 16 | digit(5) << 8 | digit(6);
}
static_assert(core_version(kTargetFacts<Gfx1201>) == 0x0c0001 && core_version(kTargetFacts<Gfx1151>) == 0x0b0501);

/// The target with that version of the core, or null.
[[nodiscard]] constexpr const TargetFacts* find_core_version(std::uint32_t version) noexcept {
  for (const TargetFacts& target : kTargets)
    if (core_version(target) == version) return &target;
  return nullptr;
}

/// A GPU with its address space; move-only. The operating system outlives it; what is made on it keeps its address, so
/// it stays where it is from then on and goes last.
///
/// The address space belongs to the open file: several devices of one GPU share nothing, and none of it is shared with
/// a device of /dev/kfd.
template <OperatingSystem Os> class Device {
 public:
  /// The oldest version of the driver that answers for user queues, 3.64 of Linux 6.16.
  static constexpr std::int32_t kMajor = 3;
  static constexpr std::int32_t kLeastMinor = 64;
  static constexpr std::uint32_t kFirstNode = 128;
  static constexpr std::uint32_t kMostNodes = 64;

  /// Opens the first GPU that zrt writes packets for: drivers and cards come in any order, and nodes of cards that went
  /// leave gaps, so every node is asked which driver and which graphics core it belongs to.
  ///
  /// Errors: Errc::unsupported_device where there is none, or it takes no user queues; Errc::unsupported_version for
  /// another version of the driver; else as system_failure(), of a node that does not open only where none does better.
  [[nodiscard]] static Result<Device> open(Os& os) noexcept {
    std::uint32_t others = 0, core = 0;
    Result<void> closed{};
    for (std::uint32_t node = kFirstNode; node < kFirstNode + kMostNodes; ++node) {
      auto file = File<Os>::open_if_there(os, Name::of("/dev/dri/renderD", node).view(), true);
      if (!file && closed) closed = pass(file);
      if (!file || !file->is_open()) continue;
      std::array<char, 16> name{};
      DrmVersion version{.name_len = name.size(),
                         .name = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(name.data()))};
      if (auto r = call(os, file->number(), kVersion, version); !r) return pass(r);
      const std::size_t length =
          version.name_len < name.size() ? static_cast<std::size_t>(version.name_len) : name.size();
      ++others;
      if (std::string_view(name.data(), length) != "amdgpu") continue;
      HwIpInfo compute;
      if (auto r = ask(os, file->number(), InfoQuery::hw_ip_info, compute, kIpCompute); !r) return pass(r);
      core = compute.ip_discovery_version;
      const TargetFacts* const target = find_core_version(core);
      if (target == nullptr) continue;
      return of_node(os, std::move(*file), node, version, *target);
    }
    if (!closed) return pass(closed);
    if (core != 0)
      return fail(Errc::unsupported_device, "no GPU of RDNA3 or RDNA4 among the render nodes; there is one of version ",
                  core >> 16, '.', core >> 8 & 0xff, '.', core & 0xff);
    if (others == 0)
      return fail(Errc::unsupported_device, "there is no render node: /dev/dri/renderD", kFirstNode, " to ",
                  kFirstNode + kMostNodes - 1);
    return fail(Errc::unsupported_device, "none of ", others, " render nodes belongs to amdgpu");
  }

  [[nodiscard]] Os& os() const noexcept { return *os_; }
  [[nodiscard]] const TargetFacts& target() const noexcept { return *target_; }
  [[nodiscard]] std::uint32_t compute_units() const noexcept { return info_.cu_active_number; }
  [[nodiscard]] std::uint32_t shader_engines() const noexcept { return info_.num_shader_engines; }
  /// The number in the name of the render node.
  [[nodiscard]] std::uint32_t render_minor() const noexcept { return node_; }
  /// Of the driver; its major version is kMajor.
  [[nodiscard]] std::uint32_t minor_version() const noexcept { return minor_; }
  [[nodiscard]] int render_file() const noexcept { return file_.number(); }
  [[nodiscard]] Name driver() const noexcept { return Name::of("amdgpu ", std::uint32_t{kMajor}, ".", minor_); }
  /// Ticks of the GPU's clock in a millisecond.
  [[nodiscard]] Result<std::uint32_t> clock_rate() const noexcept { return checked_clock_rate(info_); }
  /// Where addresses that the GPU takes end.
  [[nodiscard]] std::uint64_t address_end() const noexcept { return info_.virtual_address_max; }

  /// Bytes of a queue's EOP buffer: what the firmware wants where the kernel tells it, and at least a page.
  [[nodiscard]] std::uint64_t eop_bytes() const noexcept { return eop_bytes_; }

  template <class Arguments>
  [[nodiscard]] Result<void> call_with(std::uint32_t request, Arguments& arguments) const noexcept {
    return call(*os_, file_.number(), request, arguments);
  }
  template <class Answer> [[nodiscard]] Result<void> ask_for(InfoQuery query, Answer& answer) const noexcept {
    return ask(*os_, file_.number(), query, answer);
  }

  /// Bytes of video memory that could be allocated now: all of it, or what the host sees. Errors as system_failure().
  [[nodiscard]] Result<std::uint64_t> available_memory(Heap heap = Heap::device_local) const noexcept {
    MemoryInfo memory;
    if (auto r = ask_for(InfoQuery::memory, memory); !r) return pass(r);
    return heap == Heap::bar ? memory.cpu_accessible_vram.left() : memory.vram.left();
  }

 private:
  Device() = default;

  [[nodiscard]] static Result<Device> of_node(Os& os, File<Os> file, std::uint32_t node, const DrmVersion& version,
                                              const TargetFacts& target) noexcept {
    if (version.version_major != kMajor || version.version_minor < kLeastMinor)
      return fail(Errc::unsupported_version, "amdgpu of renderD", node, " has version ", version.version_major, '.',
                  version.version_minor, ", ", kMajor, '.', kLeastMinor,
                  " (Linux 6.16) or a later minor version expected");
    Device device;
    if (auto r = ask(os, file.number(), InfoQuery::dev_info, device.info_); !r) return pass(r);
    if ((device.info_.userq_ip_mask >> kIpCompute & 1) == 0)
      return fail(Errc::unsupported_device, "renderD", node,
                  " takes no user queues for compute: user_queue is not 1 or 2, or firmware is too old");
    ComputeAreas areas;
    // No answer is none of an older kernel's.
    if (ask(os, file.number(), InfoQuery::uq_fw_areas, areas, kIpCompute) && areas.eop_size > device.eop_bytes_)
      device.eop_bytes_ = areas.eop_size;
    if (areas.eop_alignment > kPageBytes)
      return fail(Errc::unsupported_device, "amdgpu of renderD", node, " wants EOP buffers aligned to ",
                  areas.eop_alignment, ", a page is known");
    device.os_ = &os;
    device.file_ = std::move(file);
    device.target_ = &target;
    device.node_ = node;
    device.minor_ = static_cast<std::uint32_t>(version.version_minor);
    return device;
  }

  Os* os_ = nullptr;
  File<Os> file_{};
  const TargetFacts* target_ = nullptr;
  DeviceInfo info_{};
  std::uint64_t eop_bytes_ = kPageBytes;
  std::uint32_t node_ = 0;
  std::uint32_t minor_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::pm4::umq
