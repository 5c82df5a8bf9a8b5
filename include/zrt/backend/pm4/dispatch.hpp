// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/dispatch.hpp: the packets of a dispatch, of a fence and of a full barrier.
#pragma once

#include <zrt/backend/pm4/descriptor.hpp>
#include <zrt/backend/pm4/packets.hpp>
#include <zrt/backend/pm4/scratch.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// One kernel with its grid.
struct Launch {
  ProgramRegisters program{};
  std::uint64_t arguments = 0;  ///< address of the block that s[0:1] points to
  std::array<std::uint32_t, 3> workgroup{1, 1, 1};
  std::array<std::uint32_t, 3> grid{1, 1, 1};  ///< in workgroups
  bool wave32 = true;
  ScratchRing scratch{};
};

namespace detail {

template <class Target, std::size_t n>
constexpr void set_registers(PacketWriter<Target>& writer, std::uint16_t offset,
                             const std::array<std::uint32_t, n>& values) noexcept {
  writer.add(SetShReg{offset, values});
}

[[nodiscard]] constexpr std::array<std::uint32_t, 2> halves(std::uint64_t value) noexcept {
  return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
}

}  // namespace detail

/// Sets every register that a launch depends on; its grid is not among them.
///
/// Without scratch SCRATCH_BASE is left alone and TMPRING_SIZE is 0.
template <class Target>
constexpr void write_launch_registers(PacketWriter<Target>& writer, const Launch& launch) noexcept {
  using detail::set_registers;
  set_registers(writer, register_offset("COMPUTE_PGM_LO"), detail::halves(launch.program.code >> 8));
  set_registers(writer, register_offset("COMPUTE_PGM_RSRC1"), std::array{launch.program.rsrc1, launch.program.rsrc2});
  set_registers(writer, register_offset("COMPUTE_PGM_RSRC3"), std::array{launch.program.rsrc3});
  set_registers(writer, register_offset("COMPUTE_TMPRING_SIZE"), std::array{launch.scratch.tmpring_size});
  if (launch.scratch.tmpring_size != 0)
    set_registers(writer, register_offset("COMPUTE_DISPATCH_SCRATCH_BASE_LO"),
                  detail::halves(launch.scratch.base >> 8));
  set_registers(writer, register_offset("COMPUTE_RESTART_X"), std::array<std::uint32_t, 3>{});
  set_registers(writer, register_offset("COMPUTE_USER_DATA_"), detail::halves(launch.arguments));
  set_registers(writer, register_offset("COMPUTE_RESOURCE_LIMITS"), std::array{0u});
  // START_X to PERFCOUNT_ENABLE.
  set_registers(writer, register_offset("COMPUTE_START_X"),
                std::array{0u, 0u, 0u, launch.workgroup[0], launch.workgroup[1], launch.workgroup[2], 0u, 0u});
}

/// A dispatch that sees what earlier ones wrote: invalidates the caches above the L2, sets the registers, starts the
/// grid, and waits until its waves are done.
template <class Target> constexpr void write_dispatch(PacketWriter<Target>& writer, const Launch& launch) noexcept {
  writer.add(AcquireMem{kAcquireWrites});
  write_launch_registers(writer, launch);
  writer.add(DispatchDirect{launch.grid, {.wave32 = launch.wave32}});
  writer.add(PartialFlush{});
}

/// Writes `value` to `address` once everything before it is done and visible to the host. With an event, which is not
/// 0, the host is interrupted after that.
template <class Target>
constexpr void write_fence(PacketWriter<Target>& writer, std::uint64_t address, std::uint64_t value,
                           std::uint32_t event = 0) noexcept {
  writer.add(ReleaseMem{.address = address,
                        .value = value,
                        .interrupt = event != 0 ? ReleaseInterrupt::after_write : ReleaseInterrupt::none,
                        .context = event});
}

/// The registers of the host data path that flush what the host wrote through the PCIe BAR.
inline constexpr std::uint32_t kHdpFlushRequest = 0xe26;
inline constexpr std::uint32_t kHdpFlushDone = 0xe27;

/// Lets what follows see what the host wrote, new code included.
template <class Target> constexpr void write_full_barrier(PacketWriter<Target>& writer) noexcept {
  writer.add(WriteWaitRegister{kHdpFlushRequest, kHdpFlushDone});
  writer.add(AcquireMem{kAcquireAll});
}

/// Dwords of a dispatch and of a fence, for whoever counts room.
inline constexpr std::size_t kDispatchDwords = 55;
inline constexpr std::size_t kFenceDwords = 8;
static_assert(
    [] {
      std::array<std::uint32_t, kDispatchDwords> room{};
      PacketWriter<Gfx1201> writer(room);
      write_dispatch(writer, {.scratch = {.tmpring_size = 1}});
      return writer.finish().has_value() && writer.size() == kDispatchDwords;
    }(),
    "a dispatch with scratch fills its room");

}  // namespace zrt::inline ZRT_ABI::pm4
