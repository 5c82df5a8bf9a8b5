// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/device.hpp: a GPU that a process has opened through /dev/kfd, and its address space.
#pragma once

#include <zrt/backend/pm4/kfd/call.hpp>
#include <zrt/backend/pm4/kfd/topology.hpp>
#include <zrt/backend/pm4/umq/call.hpp>

namespace zrt::inline ZRT_ABI::pm4::kfd {

/// A GPU with its address space; move-only. The operating system outlives it; what is made on it keeps its address, so
/// it stays where it is from then on and goes last.
///
/// The kernel ties the address space to the process and to the render node's file that was open first, for as long as the
/// process lives. So the operating system keeps that file open: later devices, and several at once, share the address
/// space. A process has one object for its operating system, or the second is refused.
template <OperatingSystem Os> class Device {
 public:
  /// The oldest version of the calls that is spoken here, 1.14 of Linux 6.8.
  static constexpr std::uint32_t kMajor = 1;
  static constexpr std::uint32_t kLeastMinor = 14;

  /// Opens the first GPU that zrt writes packets for.
  ///
  /// Errors: Errc::unsupported_device where there is none, or the kernel lacks what is needed;
  /// Errc::unsupported_version for another version of the calls; else as system_failure().
  [[nodiscard]] static Result<Device> open(Os& os) noexcept {
    auto calls = File<Os>::open(os, "/dev/kfd", true);
    if (!calls) return pass(calls);
    const auto node = find_node(os);
    if (!node) return pass(node);
    const Name path = Name::of("/dev/dri/renderD", node->drm_render_minor);
    SystemValue render = 0;
    do {
      render = os.open_once(path.view());
    } while (render == -EINTR);
    if (render < 0) return system_failure(render, "opening", path.view());
    GetVersion version;
    if (auto r = call(os, calls->number(), kGetVersion, version); !r) return pass(r);
    if (version.major_version != kMajor || version.minor_version < kLeastMinor)
      return fail(Errc::unsupported_version, "/dev/kfd speaks version ", version.major_version, '.',
                  version.minor_version, ", ", kMajor, '.', kLeastMinor, " or a later minor version expected");
    AcquireVm acquire{.drm_fd = static_cast<std::uint32_t>(render), .gpu_id = node->gpu_id};
    if (auto r = call(os, calls->number(), kAcquireVm, acquire); !r) return pass(r);
    RuntimeEnable runtime;
    if (auto r = call(os, calls->number(), kRuntimeEnable, runtime); !r) return pass(r);
    Device device;
    device.os_ = &os;
    device.calls_ = std::move(*calls);
    device.render_ = static_cast<int>(render);
    device.node_ = *node;
    device.minor_ = version.minor_version;
    return device;
  }

  [[nodiscard]] Os& os() const noexcept { return *os_; }
  [[nodiscard]] const GpuNode& node() const noexcept { return node_; }
  [[nodiscard]] const TargetFacts& target() const noexcept { return *find_target_version(node_.gfx_target_version); }
  [[nodiscard]] std::uint32_t compute_units() const noexcept {
    return node_.simd_per_cu == 0 ? 0 : node_.simd_count / node_.simd_per_cu;
  }
  [[nodiscard]] std::uint32_t shader_engines() const noexcept {
    return node_.simd_arrays_per_engine == 0 ? 0 : node_.array_count / node_.simd_arrays_per_engine;
  }
  [[nodiscard]] std::uint32_t minor_version() const noexcept { return minor_; }
  [[nodiscard]] Name driver() const noexcept { return Name::of("kfd ", kMajor, ".", minor_); }
  /// Ticks of the GPU's clock in a millisecond. /dev/kfd has no call for it; the render node has.
  [[nodiscard]] Result<std::uint32_t> clock_rate() const noexcept {
    umq::DeviceInfo info;
    if (auto r = umq::ask(*os_, render_, umq::InfoQuery::dev_info, info); !r) return pass(r);
    return umq::checked_clock_rate(info);
  }
  /// The file of the calls, and the one that memory is mapped from.
  [[nodiscard]] int calls_file() const noexcept { return calls_.number(); }
  [[nodiscard]] int render_file() const noexcept { return render_; }

  template <class Arguments>
  [[nodiscard]] Result<void> call_with(std::uint32_t request, Arguments& arguments) const noexcept {
    return call(*os_, calls_.number(), request, arguments);
  }

  /// Bytes of video memory that could be allocated now. Errors as system_failure().
  [[nodiscard]] Result<std::uint64_t> available_memory() const noexcept {
    AvailableMemory available{.gpu_id = node_.gpu_id};
    if (auto r = call_with(kAvailableMemory, available); !r) return pass(r);
    return available.available;
  }

 private:
  Device() = default;

  Os* os_ = nullptr;
  File<Os> calls_{};
  int render_ = -1;  ///< of the operating system
  GpuNode node_{};
  std::uint32_t minor_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
