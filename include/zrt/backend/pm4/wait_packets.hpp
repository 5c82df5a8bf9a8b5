// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/wait_packets.hpp: packets that wait for memory and registers, each pinned to its dwords.
#pragma once

#include <zrt/backend/pm4/packet_writer.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// How a wait compares what it reads with the reference.
enum class WaitCondition : std::uint8_t { always, less, less_equal, equal, not_equal, greater_equal, greater };

namespace detail {
[[nodiscard]] constexpr std::uint64_t wait_operation(bool preemptable) noexcept {
  return preemptable ? named_value(fields::kWaitOperation, "WAIT_PREEMPTABLE")
                     : named_value(fields::kWaitOperation, "WAIT");
}
}  // namespace detail

/// Waits until 32 bits of memory, masked, compare as wanted.
struct WaitMemory {
  static constexpr const Packet& kind = kWaitRegMem;
  std::uint64_t address = 0;
  std::uint32_t reference = 0;
  WaitCondition compare = WaitCondition::greater_equal;
  std::uint32_t mask = ~0u;
  std::uint16_t poll_interval = 4;
  bool preemptable = false;  ///< another queue may run meanwhile

  constexpr void fill(Payload<kWaitRegMem>& p) const noexcept {
    p.put("FUNCTION", static_cast<std::uint64_t>(compare)).put("MEM_SPACE", 1);
    p.put("OPERATION", detail::wait_operation(preemptable));
    p.put("ADDRESS_LO", address & 0xffffffffu).put("ADDRESS_HI", address >> 32);
    p.put("REFERENCE", reference).put("MASK", mask).put("POLL_INTERVAL", poll_interval);
  }
};
static_assert(stream_of<Gfx12>(WaitMemory{.address = 0x6000'0030'0000, .reference = 7})
                  .is({0xc0053c00, 0x15, 0x00300000, 0x6000, 7, 0xffffffff, 4}));

static_assert(stream_of<Gfx12>(
                  WaitMemory{.address = 0x1000, .reference = 7, .compare = WaitCondition::equal, .preemptable = true})
                  .is({0xc0053c00, 0xd3, 0x1000, 0, 7, 0xffffffff, 4}));

/// Waits until 64 bits of memory, masked, compare as wanted.
struct WaitMemory64 {
  static constexpr const Packet& kind = kWaitRegMem64;
  std::uint64_t address = 0;
  std::uint64_t reference = 0;
  WaitCondition compare = WaitCondition::greater_equal;
  std::uint64_t mask = ~std::uint64_t{0};
  std::uint16_t poll_interval = 4;
  bool preemptable = false;  ///< another queue may run meanwhile

  constexpr void fill(Payload<kWaitRegMem64>& p) const noexcept {
    p.put("FUNCTION", static_cast<std::uint64_t>(compare)).put("MEM_SPACE", 1);
    p.put("OPERATION", detail::wait_operation(preemptable));
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
    p.put("FUNCTION", static_cast<std::uint64_t>(WaitCondition::greater_equal));
    p.put("OPERATION", named_value(fields::kWaitOperation, "WRITE_WAIT_WRITE"));
    p.put("ADDRESS_LO", request).put("ADDRESS_HI", done);
    p.put("REFERENCE", value).put("MASK", value).put("POLL_INTERVAL", 4);
  }
};
static_assert(
    stream_of<Gfx12>(WriteWaitRegister{0xe26, 0xe27}).is({0xc0053c00, 0x45, 0xe26, 0xe27, 0xffffffff, 0xffffffff, 4}));

/// Waits until a register, by its dword address, masked, compares as wanted.
struct WaitRegister {
  static constexpr const Packet& kind = kWaitRegMem;
  std::uint32_t address = 0;
  std::uint32_t reference = 0;
  WaitCondition compare = WaitCondition::greater_equal;
  std::uint32_t mask = ~0u;

  constexpr void fill(Payload<kWaitRegMem>& p) const noexcept {
    p.put("FUNCTION", static_cast<std::uint64_t>(compare)).put("ADDRESS_LO", address);
    p.put("REFERENCE", reference).put("MASK", mask).put("POLL_INTERVAL", 4);
  }
};
static_assert(
    stream_of<Gfx12>(WaitRegister{0xe27, 1, WaitCondition::equal, 1}).is({0xc0053c00, 0x03, 0xe27, 0, 1, 1, 4}));

}  // namespace zrt::inline ZRT_ABI::pm4
