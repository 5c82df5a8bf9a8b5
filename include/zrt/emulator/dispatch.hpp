// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/dispatch.hpp: one compute dispatch as the registers describe it, and what follows from them.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/emulator/isa/isa.hpp>
#include <zrt/emulator/isa/types.hpp>
#include <zrt/emulator/memory.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::emulator {

/// The one float mode that is modelled: round to nearest, denormals kept.
inline constexpr u32 kNearestWithDenormals = 0xf0;
/// The bit of the MODE register by which minima and maxima of GFX11 take signaling NaNs.
inline constexpr u32 kIeeeMode = 1u << 9;

class Coherence;

/// One dispatch as the compute registers describe it.
struct Dispatch {
  Isa isa = Isa::gfx12;
  bool wave64 = false;
  std::array<u32, 3> groups{1, 1, 1};    ///< grid, in workgroups
  std::array<u32, 3> threads{1, 1, 1};   ///< of a workgroup
  u64 code = 0;                          ///< address of the first instruction
  u32 rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;   ///< COMPUTE_PGM_RSRC1..3
  std::array<u32, 16> user_data{};       ///< COMPUTE_USER_DATA_0..15
  u64 scratch_base = 0;                  ///< address of the scratch memory
  u64 scratch_bytes = 0;                 ///< all of it
  u32 scratch_wave_bytes = 0;            ///< WAVESIZE of TMPRING_SIZE, in bytes
  u64 instruction_limit = u64{1} << 28;  ///< instructions of one wave, against endless loops
  u64 grid_limit = u64{1} << 32;         ///< instructions of all waves, against endless grids; a start counts as 256
  bool any_address = true;               ///< vector accesses need no alignment: SH_MEM_CONFIG as the drivers set it
  Coherence* coherence = nullptr;        ///< of the queue that starts it; alone it sees all of memory
  AccessFault* fault = nullptr;          ///< where to tell of an access that ends it
  u64* clock = nullptr;                  ///< of the queue: each instruction of a wave is a tick
};

/// Limits and places that follow from a dispatch's registers.
struct DispatchShape {
  u32 vgprs = 0;
  u32 lds_bytes = 0;
  u32 user_sgprs = 0;
  u32 threads = 0;
  u32 waves = 0;
  u32 mode = 0;
  bool scratch = false;

  /// Errors: an empty or too large workgroup, a grid that ids or a count cannot hold, a float mode that is not modelled, scratch that does not fit.
  [[nodiscard]] static Result<DispatchShape> of(const Dispatch& d) noexcept {
    DispatchShape s;
    const CheckedSize threads = CheckedSize(d.threads[0]) * d.threads[1] * d.threads[2];
    if (!threads.ok() || threads.raw() == 0 || threads.raw() > 1024)
      return fail(Errc::invalid_argument, "a workgroup has ", d.threads[0], " x ", d.threads[1], " x ", d.threads[2],
                  " threads; 1 to 1024 are expected");
    s.threads = static_cast<u32>(threads.raw());
    const u32 lanes = d.wave64 ? 64 : 32;
    s.waves = (s.threads + lanes - 1) / lanes;
    // A wave of GFX12 gets y and z in 16 bits each.
    constexpr u32 most = 65536;
    const bool ids_fit = d.isa != Isa::gfx12 || (d.groups[1] <= most && d.groups[2] <= most);
    if (!ids_fit || !(CheckedSize(d.groups[0]) * d.groups[1] * d.groups[2] * s.waves).ok())
      return fail(Errc::invalid_argument, "a grid of ", d.groups[0], " x ", d.groups[1], " x ", d.groups[2],
                  " workgroups of ", s.waves, " waves, ids of 16 bits for y and z and a count of 64 bits expected");
    s.vgprs = ((d.rsrc1 & 63u) + 1) * (d.wave64 ? 4 : 8);
    if (s.vgprs > 256) s.vgprs = 256;
    s.lds_bytes = (d.rsrc2 >> 15 & 0x1ffu) * 512;
    if (s.lds_bytes > 65536)
      return fail(Errc::invalid_argument, "a workgroup has at most 65536 bytes of LDS, not ", s.lds_bytes);
    s.user_sgprs = d.rsrc2 >> 1 & 31u;
    if (s.user_sgprs > d.user_data.size())
      return fail(Errc::invalid_argument, s.user_sgprs, " user SGPRs are enabled, at most 16 are expected");
    s.mode = d.rsrc1 >> 12 & 0xffu;
    if (s.mode != kNearestWithDenormals)
      return fail(Errc::unimplemented, "only the float mode 0xf0 (nearest, denormals kept) is modelled, not ",
                  hex(s.mode).view());
    if (d.isa == Isa::gfx11 && (d.rsrc1 >> 23 & 1u) != 0) s.mode |= kIeeeMode;
    s.scratch = (d.rsrc2 & 1u) != 0;
    if (s.scratch && d.scratch_wave_bytes == 0)
      return fail(Errc::invalid_argument, "the kernel uses scratch, but TMPRING_SIZE gives its waves none");
    return s;
  }
};

}  // namespace zrt::inline ZRT_ABI::emulator
