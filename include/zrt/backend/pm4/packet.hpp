// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/packet.hpp: the words that begin a packet, and what a kind of packet is.
#pragma once

#include <zrt/backend/pm4/field.hpp>
#include <zrt/core/error.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// A packet of one dword that does nothing: type 2.
inline constexpr std::uint32_t kFiller = 0x80000000u;
/// A NOP of one dword: its count says that the header is all of it.
inline constexpr std::uint32_t kNopWord = 0xffff1000u;
/// What a type 3 header can count.
inline constexpr std::size_t kMostPayload = 0x3fff;

/// The header of a type 3 packet with that many dwords after it.
[[nodiscard]] constexpr std::uint32_t header_word(std::uint8_t opcode, std::size_t payload) noexcept {
  return 3u << 30 | static_cast<std::uint32_t>((payload - 1) & 0x3fff) << 16 | std::uint32_t{opcode} << 8;
}

/// The fields of a header.
inline constexpr auto kHeaderFields = std::to_array<BitField>({
    {"PREDICATE", 0, 0, 1},
    {"SHADER_TYPE", 0, 1, 1},
    {"RESET_FILTER_CAM", 0, 2, 1},
    {"OPCODE", 0, 8, 8},
    {"COUNT", 0, 16, 14},
    {"TYPE", 0, 30, 2},
});
static_assert(well_formed(kHeaderFields));

/// Where a packet stands.
enum class PacketPlace : std::uint8_t { ring, indirect_buffer };

[[nodiscard]] constexpr std::string_view name(PacketPlace place) noexcept {
  return place == PacketPlace::ring ? "ring" : "indirect buffer";
}

/// Who may send a packet.
enum class Use : std::uint8_t {
  compute,          ///< a compute queue
  indirect_only,    ///< a compute queue, inside an indirect buffer
  graphics_only,    ///< the graphics queue: a compute queue faults on it
  fields_unstated,  ///< known by name alone
};

/// What follows the fields of a packet.
enum class Body : std::uint8_t {
  none,
  data,               ///< dwords of any value
  sh_registers,       ///< values of consecutive registers from kShBase + OFFSET
  uconfig_registers,  ///< values of consecutive registers from kUconfigBase + OFFSET
};

/// What a rule of a packet found wrong: the field, and what it should be.
struct Objection {
  std::string_view field{};
  std::string_view expected{};
  [[nodiscard]] constexpr bool raised() const noexcept { return !expected.empty(); }
};

/// A kind of packet: all that encoder, decoder and disassembler know of it.
struct Packet {
  std::string_view name;
  std::uint8_t opcode = 0;
  /// Dwords after the header.
  std::uint16_t least = 1;
  std::uint16_t most = 1;
  Span<const BitField> fields{};
  Body body = Body::none;
  Use use = Use::compute;
  /// What binds several fields together; sees a payload of an allowed length, reserved bits clear.
  Objection (*rule)(Span<const std::uint32_t> payload, PacketPlace place) noexcept = nullptr;

  /// Dwords of the payload that fields describe; the body follows.
  [[nodiscard]] constexpr std::size_t fixed() const noexcept { return body == Body::none ? most : least - 1u; }
};

/// The field of that name in a payload; a name that the packet lacks gives 0.
[[nodiscard]] constexpr std::uint64_t field_value(Span<const BitField> fields, std::string_view name,
                                                  Span<const std::uint32_t> payload) noexcept {
  for (const BitField& field : fields)
    if (field.name == name) return field.get(payload, 1);
  return 0;
}

}  // namespace zrt::inline ZRT_ABI::pm4
