// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/packets.hpp: packets with typed members, each pinned to its dwords.
#pragma once

#include <zrt/backend/pm4/cache_packets.hpp>
#include <zrt/backend/pm4/memory_packets.hpp>
#include <zrt/backend/pm4/wait_packets.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// Dwords that do nothing: at least two, header included. One dword is kNopWord.
struct Nop {
  static constexpr const Packet& kind = kNop;
  Span<const std::uint32_t> ignored{};

  constexpr void fill(Payload<kNop>&) const noexcept {}
  [[nodiscard]] constexpr Span<const std::uint32_t> body() const noexcept { return ignored; }
};
static_assert(header_word(kNop.opcode, 0) == (kNopWord & ~0u) && header_word(kNop.opcode, 1) == 0xc0001000u);

/// COMPUTE_DISPATCH_INITIATOR, as far as zrt sets it.
struct DispatchInitiator {
  bool wave32 = true;
  bool force_start_at_000 = true;

  template <const Packet& kind> constexpr void fill(Payload<kind>& p) const noexcept {
    p.put("COMPUTE_SHADER_EN", 1).put("FORCE_START_AT_000", force_start_at_000).put("CS_W32_EN", wave32);
  }
};

/// Starts a grid of workgroups with the registers as they are.
struct DispatchDirect {
  static constexpr const Packet& kind = kDispatchDirect;
  std::array<std::uint32_t, 3> workgroups{1, 1, 1};
  DispatchInitiator initiator{};

  constexpr void fill(Payload<kDispatchDirect>& p) const noexcept {
    p.put("DIM_X", workgroups[0]).put("DIM_Y", workgroups[1]).put("DIM_Z", workgroups[2]);
    initiator.fill(p);
  }
};
static_assert(stream_of<Gfx11>(DispatchDirect{{2, 1, 1}}).is({0xc0031500, 2, 1, 1, 0x8005}));
static_assert(stream_of<Gfx12>(DispatchDirect{{2, 1, 1}, {.wave32 = false}}).is({0xc0031500, 2, 1, 1, 0x0005}));

/// The same with the three counts read from memory.
struct DispatchIndirect {
  static constexpr const Packet& kind = kDispatchIndirect;
  std::uint64_t address = 0;
  DispatchInitiator initiator{};

  constexpr void fill(Payload<kDispatchIndirect>& p) const noexcept {
    p.put("ADDRESS", address);
    initiator.fill(p);
  }
};
static_assert(stream_of<Gfx12>(DispatchIndirect{0x6000'0010'0000}).is({0xc0021600, 0x00100000, 0x6000, 0x8005}));

/// Skips dwords on the dies outside the mask: only parts with several dies, only inside an indirect buffer.
struct PredExec {
  static constexpr const Packet& kind = kPredExec;
  std::uint32_t dwords = 0;
  std::uint32_t xcc_mask = 1;

  constexpr void fill(Payload<kPredExec>& p) const noexcept {
    p.put("EXEC_COUNT", dwords).put("VIRTUAL_XCC_MASK", xcc_mask);
  }
};
static_assert(stream_of<Gfx12>(PredExec{5, 1}).is({0xc0002300, 0x01000005}));

/// Runs `dwords` dwords at `address`, then goes on after this packet; a chain does not come back.
struct IndirectBuffer {
  static constexpr const Packet& kind = kIndirectBuffer;
  std::uint64_t address = 0;
  std::uint32_t dwords = 0;
  bool chain = false;
  /// For a user queue of the DRM driver; not for one of KFD.
  bool inherit_vmid = false;

  constexpr void fill(Payload<kIndirectBuffer>& p) const noexcept {
    p.put("ADDRESS", address).put("SIZE", dwords).put("CHAIN", chain).put("VALID", 1);
    p.put("INHERIT_VMID_MQD", inherit_vmid);
  }
};
static_assert(stream_of<Gfx12>(IndirectBuffer{0x6000'0040'0000, 16}).is({0xc0023f00, 0x00400000, 0x6000, 0x00800010}));
static_assert(stream_of<Gfx12>(IndirectBuffer{.address = 0x6000'0040'0000, .dwords = 16, .chain = true})
                  .is({0xc0023f00, 0x00400000, 0x6000, 0x00900010}));
static_assert(stream_of<Gfx12>(IndirectBuffer{.address = 0x6000'0040'0000, .dwords = 16, .inherit_vmid = true})
                  .is({0xc0023f00, 0x00400000, 0x6000, 0x40800010}));

/// Writes consecutive registers from an offset of the SH aperture.
struct SetShReg {
  static constexpr const Packet& kind = kSetShReg;
  std::uint16_t offset = 0;
  Span<const std::uint32_t> values{};

  constexpr void fill(Payload<kSetShReg>& p) const noexcept { p.put("OFFSET", offset); }
  [[nodiscard]] constexpr Span<const std::uint32_t> body() const noexcept { return values; }
};

/// Writes consecutive registers from an offset of the UCONFIG aperture.
struct SetUconfigReg {
  static constexpr const Packet& kind = kSetUconfigReg;
  std::uint16_t offset = 0;
  Span<const std::uint32_t> values{};

  constexpr void fill(Payload<kSetUconfigReg>& p) const noexcept { p.put("OFFSET", offset); }
  [[nodiscard]] constexpr Span<const std::uint32_t> body() const noexcept { return values; }
};

/// Makes the firmware publish how far a user queue has come.
struct ProtectedFenceSignal {
  static constexpr const Packet& kind = kProtectedFenceSignal;

  constexpr void fill(Payload<kProtectedFenceSignal>&) const noexcept {}
};
static_assert(stream_of<Gfx12>(ProtectedFenceSignal{}).is({0xc000d000, 0}));

static_assert(
    stream_of<Gfx12>(SetShReg{register_offset("COMPUTE_PGM_LO"), detail::kTwo}).is({0xc0027600, 0x20c, 0x11, 0x22}));
static_assert(stream_of<Gfx12>(SetUconfigReg{0x10, detail::kTwo}).is({0xc0027900, 0x10, 0x11, 0x22}));
static_assert(stream_of<Gfx12>(Nop{detail::kTwo}).is({0xc0011000, 0x11, 0x22}));

}  // namespace zrt::inline ZRT_ABI::pm4
