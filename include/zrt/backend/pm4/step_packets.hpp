// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/step_packets.hpp: a recorded step as the packets of an indirect buffer, and those that start it.
#pragma once

#include <zrt/backend/pm4/dispatch.hpp>
#include <zrt/backend/pm4/step_position.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// Dwords that the packets of one recorded launch have at most.
inline constexpr std::size_t kLaunchDwords = 64;
/// Dwords of what starts a step from the ring.
inline constexpr std::size_t kStepStartDwords = 24;
/// Bytes from one grid in memory to the next: three counts and a gap.
inline constexpr std::size_t kGridBytes = 16;

/// Writes the launches: argument blocks lie from `arguments` on, grids from `grids` on.
///
/// A launch that waits for earlier ones does so before its registers are set, and then sees what they wrote; between
/// launches that need nothing of each other nothing stands. Grids are read from memory, because their sizes follow the
/// step. The last flush waits for the last launch. Where the step stands is written to `progress`; see at_launch().
template <class Target>
void write_step(PacketWriter<Target>& writer, Span<const RecordedLaunch> launches, std::uint64_t arguments,
                std::uint64_t grids, std::uint64_t progress) noexcept {
  const auto tell = [&](std::size_t before) {
    writer.add(WriteData{progress, std::array{position_before(before)}, false});
  };
  tell(0);
  for (const RecordedLaunch& launch : launches) {
    if (launch.barrier) {
      writer.add(PartialFlush{});
      tell(static_cast<std::size_t>(&launch - launches.data()));
      writer.add(AcquireMem{kAcquireWrites});
    }
    const Kernel& kernel = *launch.kernel;
    write_launch_registers(writer, {.program = kernel.program,
                                    .arguments = arguments + launch.arguments,
                                    .workgroup = kernel.workgroup,
                                    .wave32 = kernel.wave32});
    writer.add(DispatchIndirect{grids + launch.grid * kGridBytes, {.wave32 = kernel.wave32}});
  }
  writer.add(PartialFlush{});
  tell(launches.size());
}

/// Writes what a ring gets for a step: the GPU sees what the host wrote, then runs the buffer of packets.
template <class Target>
constexpr void write_step_start(PacketWriter<Target>& writer, const IndirectBuffer& packets) noexcept {
  write_full_barrier(writer);
  writer.add(packets);
}

}  // namespace zrt::inline ZRT_ABI::pm4
