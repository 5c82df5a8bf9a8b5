// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/step_packets.hpp: a recorded step as the packets of an indirect buffer, and those that start it.
#pragma once

#include <zrt/backend/pm4/dispatch.hpp>
#include <zrt/backend/pm4/kernel_table.hpp>
#include <zrt/device/step_layout.hpp>
#include <zrt/device/step_position.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// Dwords that the packets of one recorded launch have at most, that of its time included.
inline constexpr std::size_t kLaunchDwords = 64;
/// Dwords of what starts a step from the ring.
inline constexpr std::size_t kStepStartDwords = 24;

/// Where the GPU finds what a step's packets name.
struct StepAddresses {
  std::uint64_t arguments = 0;  ///< of the first argument block
  std::uint64_t grids = 0;
  std::uint64_t progress = 0;  ///< the word that says where the step stands; see device::at_launch()
  std::uint64_t times = 0;     ///< 64 bits for the begin and for the end of each launch; 0: none are wanted
};

/// Where a step may be cut: every piece but the first begins with a launch that waits for all before it.
struct StepPieces {
  // A piece costs a doorbell and a fence; two are under way, so that the queue hardly notices. A stop is seen after two
  // pieces at most.
  static constexpr std::size_t kMost = 16, kLeastLaunches = 8;

  std::array<std::size_t, kMost> ends{};  ///< in dwords of the packets
  std::size_t count = 0;

  /// Whether the launch of that number begins another of the pieces that so many launches make.
  [[nodiscard]] constexpr bool begins(std::size_t launch, std::size_t launches) const noexcept {
    const std::size_t whole = launches / kLeastLaunches, most = whole < kMost ? whole : kMost;
    return count + 1 < most && launch * most >= (count + 1) * launches;
  }
  constexpr void end(std::size_t dwords) noexcept { ends[count++] = dwords; }
};

/// Writes the launches of `kernels`, and says where they may be parted.
///
/// A launch that waits for earlier ones does so before its registers are set, and then sees what they wrote; between
/// launches that need nothing of each other nothing stands. Grids are read from memory, because their sizes follow the
/// step. The last flush waits for the last launch. Times are the clock at the begin of the step and behind each launch:
/// RELEASE_MEM writes it once that launch and all before it have ended, and nothing waits for it.
template <class Target>
StepPieces write_step(PacketWriter<Target>& writer, Span<const device::RecordedLaunch> launches,
                      Span<const Kernel> kernels, const StepAddresses& at) noexcept {
  StepPieces pieces;
  const auto tell = [&](std::size_t before) {
    writer.add(WriteData{at.progress, std::array{device::position_before(before)}, false});
  };
  tell(0);
  if (at.times != 0) writer.add(CopyClock{at.times});
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const device::RecordedLaunch& launch = launches[i];
    if (launch.barrier) {
      if (pieces.begins(i, launches.size())) pieces.end(writer.size());
      writer.add(PartialFlush{});
      tell(i);
      writer.add(AcquireMem{kAcquireWrites});
    }
    const Kernel& kernel = kernels[launch.kernel];
    write_launch_registers(writer, {.program = kernel.program,
                                    .arguments = at.arguments + launch.arguments,
                                    .workgroup = kernel.workgroup,
                                    .wave32 = kernel.wave32});
    writer.add(DispatchIndirect{at.grids + launch.grid * device::kGridBytes, {.wave32 = kernel.wave32}});
    if (at.times != 0)
      writer.add(ReleaseMem{.address = at.times + (i + 1) * 8,
                            .data = ReleaseData::gpu_clock,
                            .event = ReleaseEvent::bottom_of_pipe,
                            .writes_back = false});
  }
  writer.add(PartialFlush{});
  tell(launches.size());
  pieces.end(writer.size());
  return pieces;
}

/// Writes what a ring gets for a step: the GPU sees what the host wrote, then runs the buffer of packets.
template <class Target>
constexpr void write_step_start(PacketWriter<Target>& writer, const IndirectBuffer& packets) noexcept {
  write_full_barrier(writer);
  writer.add(packets);
}

}  // namespace zrt::inline ZRT_ABI::pm4
