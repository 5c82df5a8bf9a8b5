// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/memory_packets.hpp: packets that write and copy memory, each pinned to its dwords.
#pragma once

#include <zrt/backend/pm4/packet_writer.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// Where WRITE_DATA and COPY_DATA write: past the caches, or into the L2.
enum class WriteTo : std::uint8_t { l2 = 2, memory = 5 };
static_assert(named_value(fields::kWriteTo, "L2") == 2 && named_value(fields::kWriteTo, "MEMORY") == 5);

/// Writes dwords into memory.
struct WriteData {
  static constexpr const Packet& kind = kWriteData;
  std::uint64_t address = 0;
  Span<const std::uint32_t> data{};
  bool confirmed = true;  ///< the next packet waits until the memory has it
  WriteTo to = WriteTo::memory;
  bool one_address = false;  ///< all dwords go to the same one

  constexpr void fill(Payload<kWriteData>& p) const noexcept {
    p.put("DST_SEL", static_cast<std::uint64_t>(to)).put("ADDR_INCR", one_address).put("WR_CONFIRM", confirmed);
    p.put("ADDRESS", address);
  }
  [[nodiscard]] constexpr Span<const std::uint32_t> body() const noexcept { return data; }
};
namespace detail {
inline constexpr std::array<std::uint32_t, 2> kTwo{0x11, 0x22};
}
static_assert(stream_of<Gfx12>(WriteData{0x6000'0000'1000, detail::kTwo})
                  .is({0xc0043700, 0x00100500, 0x1000, 0x6000, 0x11, 0x22}));
static_assert(stream_of<Gfx12>(WriteData{0x1000, detail::kTwo, false, WriteTo::l2, true})
                  .is({0xc0043700, 0x00010200, 0x1000, 0, 0x11, 0x22}));

/// Copies 32 or 64 bits from memory to memory.
struct CopyMemory {
  static constexpr const Packet& kind = kCopyData;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  bool wide = false;
  bool past_l2 = false;  ///< reads by the older selection, writes past the caches

  constexpr void fill(Payload<kCopyData>& p) const noexcept {
    p.put("SRC_SEL", past_l2 ? named_value(fields::kCopyFrom, "MEMORY") : named_value(fields::kCopyFrom, "L2"));
    p.put("DST_SEL", static_cast<std::uint64_t>(past_l2 ? WriteTo::memory : WriteTo::l2));
    p.put("COUNT_SEL", wide).put("WR_CONFIRM", 1).put("SRC", from).put("DST", to);
  }
};
static_assert(stream_of<Gfx12>(CopyMemory{0x1000, 0x2000, true}).is({0xc0044000, 0x00110202, 0x1000, 0, 0x2000, 0}));
static_assert(
    stream_of<Gfx12>(CopyMemory{0x1000, 0x2000, false, true}).is({0xc0044000, 0x00100501, 0x1000, 0, 0x2000, 0}));

/// Writes a value of 32 or 64 bits into memory.
struct CopyImmediate {
  static constexpr const Packet& kind = kCopyData;
  std::uint64_t value = 0;
  std::uint64_t to = 0;
  bool wide = false;

  constexpr void fill(Payload<kCopyData>& p) const noexcept {
    p.put("SRC_SEL", named_value(fields::kCopyFrom, "IMMEDIATE"));
    p.put("DST_SEL", static_cast<std::uint64_t>(WriteTo::memory));
    p.put("COUNT_SEL", wide).put("WR_CONFIRM", 1).put("SRC", value).put("DST", to);
  }
};
static_assert(
    stream_of<Gfx12>(CopyImmediate{0x1'0000'0007, 0x2000, true}).is({0xc0044000, 0x00110505, 7, 1, 0x2000, 0}));

/// Copies a register, by its dword address, into memory.
struct CopyRegister {
  static constexpr const Packet& kind = kCopyData;
  std::uint32_t from = 0;
  std::uint64_t to = 0;

  constexpr void fill(Payload<kCopyData>& p) const noexcept {
    p.put("SRC_SEL", named_value(fields::kCopyFrom, "REGISTER"));
    p.put("DST_SEL", static_cast<std::uint64_t>(WriteTo::memory)).put("WR_CONFIRM", 1).put("SRC", from).put("DST", to);
  }
};
static_assert(stream_of<Gfx12>(CopyRegister{0xe27, 0x2000}).is({0xc0044000, 0x00100500, 0xe27, 0, 0x2000, 0}));

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

}  // namespace zrt::inline ZRT_ABI::pm4
