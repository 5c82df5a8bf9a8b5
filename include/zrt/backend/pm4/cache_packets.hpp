// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/cache_packets.hpp: packets that empty caches and tell that work is done, each pinned to its dwords.
#pragma once

#include <zrt/backend/pm4/packet_writer.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

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

/// In which order levels of caches act.
enum class CacheSequence : std::uint8_t { parallel, forward, reverse };

/// Invalidates caches (and writes them back) for all of memory: no source states the unit of a smaller range.
struct AcquireMem {
  static constexpr const Packet& kind = kAcquireMem;
  CacheActions caches = kAcquireWrites;
  CacheSequence sequence = CacheSequence::parallel;

  constexpr void fill(Payload<kAcquireMem>& p) const noexcept {
    p.put("COHER_SIZE", ~std::uint64_t{0}).put("SEQ", static_cast<std::uint64_t>(sequence));
    p.put("GLI_INV", caches.gli_inv).put("GLM_WB", caches.glm_wb).put("GLM_INV", caches.glm_inv);
    p.put("GLK_WB", caches.glk_wb).put("GLK_INV", caches.glk_inv).put("GLV_INV", caches.glv_inv);
    p.put("GL1_INV", caches.gl1_inv).put("GL2_INV", caches.gl2_inv).put("GL2_WB", caches.gl2_wb);
  }
};
static_assert(stream_of<Gfx12>(AcquireMem{}).is({0xc0065800, 0, 0xffffffff, 0xffffffff, 0, 0, 0, 0x3f0}));
static_assert(stream_of<Gfx12>(AcquireMem{kAcquireWrites, CacheSequence::reverse})
                  .is({0xc0065800, 0, 0xffffffff, 0xffffffff, 0, 0, 0, 0x203f0}));
static_assert(stream_of<Gfx11>(AcquireMem{kAcquireAll}).is({0xc0065800, 0, 0xffffffff, 0xffffffff, 0, 0, 0, 0xc3f1}));

/// What RELEASE_MEM waits for, an event by its number.
enum class ReleaseEvent : std::uint8_t {
  caches_flushed = 0x14,  ///< all before it is done, and what the packet says of caches
  bottom_of_pipe = 0x28,  ///< all before it is done
  shaders_done = 0x2f,    ///< the waves of all dispatches before it are done
};
static_assert(named_value(fields::kEventType, "CACHE_FLUSH_AND_INV_TS_EVENT") == 0x14);
static_assert(named_value(fields::kEventType, "BOTTOM_OF_PIPE_TS") == 0x28);
static_assert(named_value(fields::kEventType, "CS_DONE") == 0x2f);

/// What RELEASE_MEM writes.
enum class ReleaseData : std::uint8_t { none, low_32_bits, all_64_bits, gpu_clock, cp_counter };

/// How RELEASE_MEM interrupts the host.
enum class ReleaseInterrupt : std::uint8_t {
  none,
  alone,        ///< whatever becomes of the data
  after_write,  ///< once the data is written
  no_but_late,  ///< not at all; the data is written once all writes before it are confirmed
};

/// When everything before it is done and, unless it leaves them alone, the caches are written back: writes a value,
/// then may interrupt the host.
struct ReleaseMem {
  static constexpr const Packet& kind = kReleaseMem;
  std::uint64_t address = 0;
  std::uint64_t value = 0;
  ReleaseData data = ReleaseData::all_64_bits;
  ReleaseInterrupt interrupt = ReleaseInterrupt::none;
  /// The event that the interrupt reports.
  std::uint32_t context = 0;
  ReleaseEvent event = ReleaseEvent::caches_flushed;
  bool to_l2 = false;  ///< the value goes into the L2, else to the memory controller
  bool writes_back = true;

  constexpr void fill(Payload<kReleaseMem>& p) const noexcept {
    const auto type = static_cast<std::uint8_t>(event);
    p.put("EVENT_TYPE", type).put("EVENT_INDEX", event_index(type));
    p.put("GLM_WB", writes_back).put("GLM_INV", writes_back).put("GLV_INV", writes_back).put("GL1_INV", writes_back);
    p.put("GL2_INV", writes_back).put("GL2_WB", writes_back).put("SEQ", writes_back).put("DST_SEL", to_l2);
    p.put("INT_SEL", static_cast<std::uint64_t>(interrupt)).put("DATA_SEL", static_cast<std::uint64_t>(data));
    p.put("ADDRESS", address).put("DATA", value).put("INT_CTXID", context);
  }
};
static_assert(stream_of<Gfx11>(ReleaseMem{0x6000'0030'0000, 0x1234abcd, ReleaseData::low_32_bits})
                  .is({0xc0064900, 0x0070f514, 0x20000000, 0x00300000, 0x6000, 0x1234abcd, 0, 0}));
static_assert(stream_of<Gfx12>(ReleaseMem{0x6000'0030'0000, 0x1'0000'0002})
                  .is({0xc0064900, 0x00704514, 0x40000000, 0x00300000, 0x6000, 2, 1, 0}));
static_assert(stream_of<Gfx12>(ReleaseMem{.address = 0x1000,
                                          .data = ReleaseData::gpu_clock,
                                          .interrupt = ReleaseInterrupt::after_write,
                                          .context = 9,
                                          .event = ReleaseEvent::shaders_done,
                                          .to_l2 = true})
                  .is({0xc0064900, 0x0070462f, 0x62010000, 0x1000, 0, 0, 0, 9}));
static_assert(stream_of<Gfx12>(ReleaseMem{.address = 0x1000, .value = 1, .event = ReleaseEvent::bottom_of_pipe})
                  .is({0xc0064900, 0x00704528, 0x40000000, 0x1000, 0, 1, 0, 0}));
static_assert(stream_of<Gfx11>(ReleaseMem{.address = 0x1000,
                                          .data = ReleaseData::gpu_clock,
                                          .event = ReleaseEvent::bottom_of_pipe,
                                          .writes_back = false})
                  .is({0xc0064900, 0x528, 0x60000000, 0x1000, 0, 0, 0, 0}));

}  // namespace zrt::inline ZRT_ABI::pm4
