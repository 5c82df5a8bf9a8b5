// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/wave.hpp: the state of one wave and of its workgroup, and how a wave faults.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/emulator/coherence.hpp>
#include <zrt/emulator/counters.hpp>
#include <zrt/emulator/lane_kernels.hpp>
#include <zrt/emulator/memory.hpp>
#include <zrt/emulator/waits.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// Scalar registers that have a name; the numbers are those of the encoding.
namespace sgpr {
inline constexpr unsigned kVcc = 106, kTtmp = 108, kNull = 124, kM0 = 125, kExec = 126, kCount = 128;
}

/// Where flat addresses mean local memory and scratch: the upper halves of the apertures.
inline constexpr u32 kSharedAperture = 0x10000, kPrivateAperture = 0x20000;

/// What the waves of one workgroup share.
struct Workgroup {
  std::array<u32, 3> id{};
  u64 number = 0;  ///< in the grid
  Span<std::byte> lds{};
  const AddressSpace* memory = nullptr;
  Counters* counters = nullptr;
  Coherence* coherence = nullptr;
  bool any_address = true;  ///< as of Dispatch
  LaneKernels kernels{};
  Isa isa = Isa::gfx12;
  u32 waves = 0;
  u32 ended = 0;
  u32 arrived = 0;        ///< waves at the barrier's current phase
  u32 barrier_phase = 0;  ///< completed barriers
};

/// One wave: registers, counters, place in its program.
struct Wave {
  alignas(64) std::array<u32, sgpr::kCount> sgpr{};
  u32* vgprs = nullptr;  ///< [half][register][lane]
  u32 vgpr_count = 0;
  u32 halves = 1;  ///< 2 for wave64
  u32 pc = 0;      ///< in words from the program's start
  bool scc = false;
  bool waiting = false;  ///< at the barrier, for the phase after `awaited_phase`
  bool ended = false;
  bool signaled = false;  ///< has arrived at the barrier and has not yet waited
  u32 awaited_phase = 0;
  u32 mode = 0;   ///< bits of the MODE register: rounding and denormals
  u32 index = 0;  ///< in its workgroup
  u64 instructions = 0;
  u64 code_address = 0;
  u64 scratch = 0;  ///< address of this wave's scratch memory
  u32 scratch_per_lane = 0;
  Workgroup* group = nullptr;
  const MappedRegion* last_region = nullptr;  ///< of the last vector access
  Waits waits{};
  Error error{};
  AccessFault fault{};
  bool unordered = false;  ///< the error is one of the order of accesses

  [[nodiscard]] u32* vgpr(unsigned half, unsigned index_) const noexcept {
    return vgprs + (std::size_t{half} * vgpr_count + index_) * kLanes;
  }
  [[nodiscard]] u32 exec(unsigned half) const noexcept { return sgpr[sgpr::kExec + half]; }
  [[nodiscard]] u64 exec_all() const noexcept {
    return sgpr[sgpr::kExec] | (halves == 2 ? u64{sgpr[sgpr::kExec + 1]} << 32 : 0);
  }
  [[nodiscard]] u64 vcc_all() const noexcept {
    return sgpr[sgpr::kVcc] | (halves == 2 ? u64{sgpr[sgpr::kVcc + 1]} << 32 : 0);
  }
  [[nodiscard]] u32 lanes() const noexcept { return halves * kLanes; }

  /// What is written to the null register is lost.
  void write_sgpr(unsigned index_, u32 value) noexcept {
    if (index_ != sgpr::kNull) sgpr[index_] = value;
  }
  void write_sgpr_pair(unsigned index_, u64 value) noexcept {
    if (index_ == sgpr::kNull) return;
    sgpr[index_] = static_cast<u32>(value);
    sgpr[index_ + 1] = static_cast<u32>(value >> 32);
  }
};

/// Ends the wave with an error that names workgroup, wave, program counter and instruction.
template <class... Pieces> ZRT_NOINLINE Flow fault(Wave& w, const Decoded& d, Errc code, Pieces... pieces) noexcept {
  const Name at = hex(w.code_address + u64{w.pc} * 4);
  const auto& id = w.group->id;
  w.error =
      Error::of(code, "workgroup ", id[0], ",", id[1], ",", id[2], " wave ", w.index, " at ", at.view(), " ",
                d.instruction == nullptr ? std::string_view("(no instruction)") : d.instruction->name, ": ", pieces...);
  return Flow::fault;
}

}  // namespace zrt::inline ZRT_ABI::emulator
