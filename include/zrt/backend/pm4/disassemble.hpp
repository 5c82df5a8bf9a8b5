// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/disassemble.hpp: packets as fields and registers by name, as text or for whoever lists them.
#pragma once

#include <zrt/backend/pm4/decode.hpp>
#include <zrt/core/name.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// A field with its value.
struct FieldValue {
  std::string_view field;
  std::uint64_t value = 0;
  std::string_view value_name{};  ///< empty where values have no names
  std::uint8_t bits = 1;
};

/// A register with its value.
struct RegisterValue {
  Name name{};
  std::uint32_t offset = 0;
  std::uint32_t value = 0;
  Span<const BitField> fields{};
};

namespace detail {

template <class Visit>
constexpr void visit_fields(Span<const BitField> fields, Generation generation, Span<const std::uint32_t> words,
                            std::size_t first, Visit&& visit) noexcept {
  for (const BitField& field : fields) {
    if (!holds(field.defined, generation)) continue;
    const std::uint64_t value = field.get(words, first);
    visit(FieldValue{field.name, value, field.name_of(value), field.bits});
  }
}

}  // namespace detail

/// Calls `visit(FieldValue)` for each field of a packet that a PacketReader gave.
template <class Visit>
constexpr void for_each_field(const PacketView& packet, Generation generation, Visit&& visit) noexcept {
  if (packet.words.size() > 1)
    detail::visit_fields(packet.kind->fields, generation, packet.payload(), 1, static_cast<Visit&&>(visit));
}
/// Calls `visit(FieldValue)` for each field of a register.
template <class Visit>
constexpr void for_each_field(const RegisterValue& entry, Generation generation, Visit&& visit) noexcept {
  const std::uint32_t word[1] = {entry.value};
  detail::visit_fields(entry.fields, generation, word, 0, static_cast<Visit&&>(visit));
}

/// Calls `visit(RegisterValue)` for each register that the packet writes.
template <class Visit>
constexpr void for_each_register(const PacketView& packet, Generation generation, Visit&& visit) noexcept {
  const Body body = packet.kind->body;
  if (body != Body::sh_registers && body != Body::uconfig_registers) return;
  auto offset = static_cast<std::uint32_t>(packet.get("OFFSET"));
  for (const std::uint32_t value : packet.body()) {
    RegisterValue written{.offset = offset, .value = value};
    const Register* entry = body == Body::sh_registers ? find_register(offset, generation) : nullptr;
    if (entry == nullptr) {
      written.name = Name::of(std::string_view(Hex((body == Body::sh_registers ? kShBase : kUconfigBase) + offset)));
    } else {
      written.fields = entry->fields;
      written.name = entry->count == 1 ? Name::of(entry->name) : Name::of(entry->name, offset - entry->offset);
    }
    visit(written);
    ++offset;
  }
}

namespace detail {

/// ` NAME` of a flag that is set, ` NAME=value` of what is not 0 or has a name; `write(std::string_view)` takes the
/// pieces.
template <class Write> constexpr void write_field(const FieldValue& f, Write&& write) noexcept {
  if (f.value == 0 && (f.bits == 1 || f.value_name.empty() || f.value_name == "0")) return;
  write(" ");
  write(f.field);
  if (f.bits == 1) return;
  write("=");
  if (!f.value_name.empty())
    write(f.value_name);
  else if (f.value >= 0x10000)
    write(std::string_view(Hex(f.value)));
  else
    write(Name::of(static_cast<unsigned>(f.value)).view());
}

}  // namespace detail

/// Writes a packet as text, a line for it and one for each register: `write(std::string_view)` takes the pieces.
///
/// Flags stand by their name where they are set, other fields where they are not 0.
template <class Write>
constexpr void disassemble(const PacketView& packet, Generation generation, Write&& write) noexcept {
  write(std::string_view(Hex(packet.offset * 4)));
  write("  ");
  write(packet.kind->name);
  if (packet.words.front() == kFiller) write(" (type 2)");
  for_each_field(packet, generation, [&](const FieldValue& f) { detail::write_field(f, write); });
  if (packet.kind->body == Body::data)
    for (const std::uint32_t word : packet.body()) {
      write(" ");
      write(std::string_view(Hex(word)));
    }
  write("\n");
  for_each_register(packet, generation, [&](const RegisterValue& entry) {
    write("              ");
    write(entry.name.view());
    write(" = ");
    write(std::string_view(Hex(entry.value)));
    for_each_field(entry, generation, [&](const FieldValue& f) { detail::write_field(f, write); });
    write("\n");
  });
}

}  // namespace zrt::inline ZRT_ABI::pm4
