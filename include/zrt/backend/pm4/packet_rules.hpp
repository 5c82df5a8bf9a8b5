// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/packet_rules.hpp: what binds several fields of a packet together.
#pragma once

#include <zrt/backend/pm4/packet.hpp>
#include <zrt/backend/pm4/packet_fields.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// What each event must be sent with.
struct EventIndex {
  std::uint8_t type;
  std::uint8_t index;
};
inline constexpr auto kEventIndices = std::to_array<EventIndex>({{0x07, 4}, {0x14, 5}, {0x28, 5}, {0x2f, 6}});

/// The index that an event of that type is sent with; 0 for an event that is not listed.
[[nodiscard]] constexpr std::uint8_t event_index(std::uint64_t type) noexcept {
  for (const EventIndex& known : kEventIndices)
    if (known.type == type) return known.index;
  return 0;
}

namespace rules {

[[nodiscard]] constexpr bool fits_event(std::uint64_t type, std::uint64_t index) noexcept {
  return index != 0 && event_index(type) == index;
}

constexpr Objection event_write(Span<const std::uint32_t> payload, PacketPlace) noexcept {
  const std::uint64_t type = field_value(fields::kEventWrite, "EVENT_TYPE", payload);
  // The other events end a pipe or a shader and tell an address of it, which this packet has not.
  if (type != 0x07) return {"EVENT_TYPE", "CS_PARTIAL_FLUSH"};
  if (!fits_event(type, field_value(fields::kEventWrite, "EVENT_INDEX", payload)))
    return {"EVENT_INDEX", "the index of the event: 4 with CS_PARTIAL_FLUSH"};
  return {};
}

constexpr Objection release_mem(Span<const std::uint32_t> payload, PacketPlace) noexcept {
  const auto value = [&](std::string_view name) { return field_value(fields::kReleaseMem, name, payload); };
  if (value("EVENT_TYPE") == 0x07) return {"EVENT_TYPE", "an event at the end of the pipe or of a shader"};
  if (!fits_event(value("EVENT_TYPE"), value("EVENT_INDEX")))
    return {"EVENT_INDEX", "the index of the event: 5 at the end of the pipe, 6 with CS_DONE"};
  if (value("DATA_SEL") > 1 && value("ADDRESS") % 8 != 0) return {"ADDRESS", "a multiple of 8 for 64 bits"};
  return {};
}

constexpr Objection wait(Span<const BitField> list, Span<const std::uint32_t> payload,
                         std::uint64_t alignment) noexcept {
  const auto value = [&](std::string_view name) { return field_value(list, name, payload); };
  if (value("MEM_SPACE") == 1) {
    if (value("OPERATION") == 1) return {"OPERATION", "WAIT or WAIT_PREEMPTABLE in memory"};
    if (value("ADDRESS_LO") % alignment != 0) return {"ADDRESS_LO", "a multiple of the size that is compared"};
    if (value("ADDRESS_HI") > 0xffff) return {"ADDRESS_HI", "an address of 48 bits"};
    return {};
  }
  if (value("OPERATION") == 3) return {"OPERATION", "WAIT or WRITE_WAIT_WRITE of a register"};
  if (value("OPERATION") == 0 && value("ADDRESS_HI") != 0) return {"ADDRESS_HI", "0 where one register is polled"};
  return {};
}
constexpr Objection wait_reg_mem(Span<const std::uint32_t> payload, PacketPlace) noexcept {
  return wait(fields::kWaitRegMem, payload, 4);
}
constexpr Objection wait_reg_mem64(Span<const std::uint32_t> payload, PacketPlace) noexcept {
  return wait(fields::kWaitRegMem64, payload, 8);
}

constexpr Objection indirect_buffer(Span<const std::uint32_t> payload, PacketPlace place) noexcept {
  if (field_value(fields::kIndirectBuffer, "SIZE", payload) == 0) return {"SIZE", "at least 1"};
  if (place == PacketPlace::ring && field_value(fields::kIndirectBuffer, "CHAIN", payload) != 0)
    return {"CHAIN", "0 in a ring: a chain leaves an indirect buffer"};
  return {};
}

constexpr Objection acquire_mem(Span<const std::uint32_t> payload, PacketPlace) noexcept {
  const std::uint64_t high = field_value(fields::kAcquireMem, "COHER_SIZE", payload) >> 32;
  if (high > 0xff && high != 0x01ffffff && high != 0xffffffff)
    return {"COHER_SIZE", "a high half of 8 bits, or all of memory: 0x01ffffff or 0xffffffff"};
  return {};
}

constexpr Objection copy_data(Span<const std::uint32_t> payload, PacketPlace) noexcept {
  const auto value = [&](std::string_view name) { return field_value(fields::kCopyData, name, payload); };
  const std::uint64_t alignment = value("COUNT_SEL") != 0 ? 8 : 4;
  const std::uint64_t from = value("SRC_SEL");
  if ((from == 1 || from == 2) && (value("SRC") % alignment != 0 || value("SRC") >> 48 != 0))
    return {"SRC", "an address of 48 bits, a multiple of the size that is copied"};
  if (value("DST_SEL") != 0 && value("DST") % alignment != 0) return {"DST", "a multiple of the size that is copied"};
  return {};
}

}  // namespace rules

}  // namespace zrt::inline ZRT_ABI::pm4
