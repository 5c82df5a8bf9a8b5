// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/packets.hpp: packets with typed members, each pinned to its dwords.
#pragma once

#include <zrt/backend/pm4/packet_writer.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// A value of `list` by its name; a name that the list lacks does not compile.
[[nodiscard]] consteval std::uint64_t named_value(Span<const NamedValue> list, std::string_view name) noexcept {
  for (const NamedValue& named : list)
    if (named.name == name) return named.value;
  detail::no_field_of_this_name();
  return 0;
}

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

/// Writes dwords into memory and waits until they are there.
struct WriteData {
  static constexpr const Packet& kind = kWriteData;
  std::uint64_t address = 0;
  Span<const std::uint32_t> data{};
  bool confirmed = true;  ///< the next packet waits until the memory has it

  constexpr void fill(Payload<kWriteData>& p) const noexcept {
    p.put("DST_SEL", named_value(fields::kWriteTo, "MEMORY")).put("WR_CONFIRM", confirmed).put("ADDRESS", address);
  }
  [[nodiscard]] constexpr Span<const std::uint32_t> body() const noexcept { return data; }
};

/// How a wait compares what it reads with the reference.
enum class Compare : std::uint8_t { always, less, less_equal, equal, not_equal, greater_equal, greater };

/// Waits until 32 bits of memory, masked, compare as wanted.
struct WaitMemory {
  static constexpr const Packet& kind = kWaitRegMem;
  std::uint64_t address = 0;
  std::uint32_t reference = 0;
  Compare compare = Compare::greater_equal;
  std::uint32_t mask = ~0u;
  std::uint16_t poll_interval = 4;

  constexpr void fill(Payload<kWaitRegMem>& p) const noexcept {
    p.put("FUNCTION", static_cast<std::uint64_t>(compare)).put("MEM_SPACE", 1);
    p.put("ADDRESS_LO", address & 0xffffffffu).put("ADDRESS_HI", address >> 32);
    p.put("REFERENCE", reference).put("MASK", mask).put("POLL_INTERVAL", poll_interval);
  }
};
static_assert(stream_of<Gfx12>(WaitMemory{.address = 0x6000'0030'0000, .reference = 7})
                  .is({0xc0053c00, 0x15, 0x00300000, 0x6000, 7, 0xffffffff, 4}));

/// Waits until 64 bits of memory, masked, compare as wanted.
struct WaitMemory64 {
  static constexpr const Packet& kind = kWaitRegMem64;
  std::uint64_t address = 0;
  std::uint64_t reference = 0;
  Compare compare = Compare::greater_equal;
  std::uint64_t mask = ~std::uint64_t{0};
  std::uint16_t poll_interval = 4;

  constexpr void fill(Payload<kWaitRegMem64>& p) const noexcept {
    p.put("FUNCTION", static_cast<std::uint64_t>(compare)).put("MEM_SPACE", 1);
    p.put("ADDRESS_LO", address & 0xffffffffu).put("ADDRESS_HI", address >> 32);
    p.put("REFERENCE", reference).put("MASK", mask).put("POLL_INTERVAL", poll_interval);
  }
};
static_assert(stream_of<Gfx12>(WaitMemory64{.address = 0x6000'0030'0000, .reference = 1})
                  .is({0xc0079300, 0x15, 0x00300000, 0x6000, 1, 0, 0xffffffff, 0xffffffff, 4}));

/// Writes one register, then waits until another is what it should be.
struct WriteWaitRegister {
  static constexpr const Packet& kind = kWaitRegMem;
  std::uint32_t request = 0;
  std::uint32_t done = 0;
  std::uint32_t value = ~0u;

  constexpr void fill(Payload<kWaitRegMem>& p) const noexcept {
    p.put("FUNCTION", static_cast<std::uint64_t>(Compare::greater_equal));
    p.put("OPERATION", named_value(fields::kWaitOperation, "WRITE_WAIT_WRITE"));
    p.put("ADDRESS_LO", request).put("ADDRESS_HI", done);
    p.put("REFERENCE", value).put("MASK", value).put("POLL_INTERVAL", 4);
  }
};

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
static_assert(stream_of<Gfx12>(IndirectBuffer{.address = 0x6000'0040'0000, .dwords = 16, .inherit_vmid = true})
                  .is({0xc0023f00, 0x00400000, 0x6000, 0x40800010}));

/// Copies 32 or 64 bits from memory to memory.
struct CopyMemory {
  static constexpr const Packet& kind = kCopyData;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  bool wide = false;

  constexpr void fill(Payload<kCopyData>& p) const noexcept {
    p.put("SRC_SEL", named_value(fields::kCopyFrom, "L2")).put("DST_SEL", named_value(fields::kWriteTo, "L2"));
    p.put("COUNT_SEL", wide).put("WR_CONFIRM", 1).put("SRC", from).put("DST", to);
  }
};
static_assert(stream_of<Gfx12>(CopyMemory{0x1000, 0x2000, true}).is({0xc0044000, 0x00110202, 0x1000, 0, 0x2000, 0}));

/// Writes the GPU's clock, 64 bits, into memory.
struct CopyClock {
  static constexpr const Packet& kind = kCopyData;
  std::uint64_t to = 0;

  constexpr void fill(Payload<kCopyData>& p) const noexcept {
    p.put("SRC_SEL", named_value(fields::kCopyFrom, "GPU_CLOCK"));
    p.put("DST_SEL", named_value(fields::kWriteTo, "MEMORY")).put("COUNT_SEL", 1).put("WR_CONFIRM", 1).put("DST", to);
  }
};
static_assert(stream_of<Gfx12>(CopyClock{0x2000}).is({0xc0044000, 0x00110509, 0, 0, 0x2000, 0}));

/// Waits until the waves of every earlier dispatch are done.
struct PartialFlush {
  static constexpr const Packet& kind = kEventWrite;

  constexpr void fill(Payload<kEventWrite>& p) const noexcept {
    p.put("EVENT_TYPE", named_value(fields::kEventType, "CS_PARTIAL_FLUSH")).put("EVENT_INDEX", 4);
  }
};
static_assert(stream_of<Gfx12>(PartialFlush{}).is({0xc0004600, 0x407}));

/// What ACQUIRE_MEM does to the caches: GLI holds instructions, GLK scalars, GLV vectors of a processor, GL1 of an
/// array, GL2 of the chip, GLM metadata.
struct CacheActions {
  bool gli_inv = false;
  bool glm_wb = false;
  bool glm_inv = false;
  bool glk_wb = false;
  bool glk_inv = false;
  bool glv_inv = false;
  bool gl1_inv = false;
  bool gl2_inv = false;
  bool gl2_wb = false;
};
/// Before a dispatch that reads what an earlier one wrote: everything above the L2.
inline constexpr CacheActions kAcquireWrites{
    .glm_wb = true, .glm_inv = true, .glk_wb = true, .glk_inv = true, .glv_inv = true, .gl1_inv = true};
/// After the host wrote memory, and after code was loaded: everything.
inline constexpr CacheActions kAcquireAll{.gli_inv = true,
                                          .glm_wb = true,
                                          .glm_inv = true,
                                          .glk_wb = true,
                                          .glk_inv = true,
                                          .glv_inv = true,
                                          .gl1_inv = true,
                                          .gl2_inv = true,
                                          .gl2_wb = true};

/// Invalidates caches (and writes them back) for all of memory.
struct AcquireMem {
  static constexpr const Packet& kind = kAcquireMem;
  CacheActions caches = kAcquireWrites;

  constexpr void fill(Payload<kAcquireMem>& p) const noexcept {
    p.put("COHER_SIZE", ~std::uint64_t{0});
    p.put("GLI_INV", caches.gli_inv).put("GLM_WB", caches.glm_wb).put("GLM_INV", caches.glm_inv);
    p.put("GLK_WB", caches.glk_wb).put("GLK_INV", caches.glk_inv).put("GLV_INV", caches.glv_inv);
    p.put("GL1_INV", caches.gl1_inv).put("GL2_INV", caches.gl2_inv).put("GL2_WB", caches.gl2_wb);
  }
};
static_assert(stream_of<Gfx12>(AcquireMem{}).is({0xc0065800, 0, 0xffffffff, 0xffffffff, 0, 0, 0, 0x3f0}));
static_assert(stream_of<Gfx11>(AcquireMem{kAcquireAll}).is({0xc0065800, 0, 0xffffffff, 0xffffffff, 0, 0, 0, 0xc3f1}));

/// What RELEASE_MEM writes.
enum class ReleaseData : std::uint8_t { none, low_32_bits, all_64_bits, gpu_clock };

/// When everything before it is done and the caches are written back: writes a value, then may interrupt the host.
struct ReleaseMem {
  static constexpr const Packet& kind = kReleaseMem;
  std::uint64_t address = 0;
  std::uint64_t value = 0;
  ReleaseData data = ReleaseData::all_64_bits;
  bool interrupt = false;
  /// The event that the interrupt reports.
  std::uint32_t context = 0;

  constexpr void fill(Payload<kReleaseMem>& p) const noexcept {
    p.put("EVENT_TYPE", named_value(fields::kEventType, "CACHE_FLUSH_AND_INV_TS_EVENT")).put("EVENT_INDEX", 5);
    p.put("GLM_WB", 1).put("GLM_INV", 1).put("GLV_INV", 1).put("GL1_INV", 1).put("GL2_INV", 1).put("GL2_WB", 1);
    p.put("SEQ", 1);
    p.put("INT_SEL", interrupt ? named_value(fields::kInterrupt, "INTERRUPT_AFTER_WRITE") : 0);
    p.put("DATA_SEL", static_cast<std::uint64_t>(data));
    p.put("ADDRESS", address).put("DATA", value).put("INT_CTXID", context);
  }
};
static_assert(stream_of<Gfx11>(ReleaseMem{0x6000'0030'0000, 0x1234abcd, ReleaseData::low_32_bits})
                  .is({0xc0064900, 0x0070f514, 0x20000000, 0x00300000, 0x6000, 0x1234abcd, 0, 0}));
static_assert(stream_of<Gfx12>(ReleaseMem{0x6000'0030'0000, 0x1'0000'0002})
                  .is({0xc0064900, 0x00704514, 0x40000000, 0x00300000, 0x6000, 2, 1, 0}));

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

namespace detail {
inline constexpr std::array<std::uint32_t, 2> kTwo{0x11, 0x22};
}
static_assert(stream_of<Gfx12>(WriteData{0x6000'0000'1000, detail::kTwo})
                  .is({0xc0043700, 0x00100500, 0x1000, 0x6000, 0x11, 0x22}));
static_assert(
    stream_of<Gfx12>(SetShReg{register_offset("COMPUTE_PGM_LO"), detail::kTwo}).is({0xc0027600, 0x20c, 0x11, 0x22}));
static_assert(stream_of<Gfx12>(SetUconfigReg{0x10, detail::kTwo}).is({0xc0027900, 0x10, 0x11, 0x22}));
static_assert(stream_of<Gfx12>(Nop{detail::kTwo}).is({0xc0011000, 0x11, 0x22}));

}  // namespace zrt::inline ZRT_ABI::pm4
