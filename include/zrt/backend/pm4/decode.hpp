// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/decode.hpp: reads a packet stream as strictly as the catalog describes it.
#pragma once

#include <zrt/backend/pm4/catalog.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// What a stream may have wrong; the text of the Error begins with the name.
enum class PacketFault : std::uint8_t {
  unknown_type,          ///< a header of type 0 or 1, or a filler that is not 0x80000000
  unknown_opcode,        ///< an opcode that the catalog lacks
  fields_unstated,       ///< a packet that the catalog knows by name alone
  not_on_compute_queue,  ///< a packet of the graphics queue
  not_in_a_ring,         ///< a packet that works inside an indirect buffer only
  wrong_length,          ///< a count that the packet cannot have
  truncated,             ///< the stream ends inside the packet
  reserved_bits,         ///< bits that no field of the generation holds are set
  bad_value,             ///< a field has a value that it cannot have, alone or beside the others
  misaligned,            ///< an address is no multiple of what it must be
  outside_aperture,      ///< registers beyond the end of the aperture
  unknown_register,      ///< a register that the list lacks
  unwritable_register,   ///< a register that a stream leaves alone
};

[[nodiscard]] constexpr std::string_view name(PacketFault fault) noexcept {
  constexpr std::array<std::string_view, 13> names{
      "unknown_type",       "unknown_opcode", "fields_unstated",  "not_on_compute_queue",
      "not_in_a_ring",      "wrong_length",   "truncated",        "reserved_bits",
      "bad_value",          "misaligned",     "outside_aperture", "unknown_register",
      "unwritable_register"};
  return names[static_cast<std::size_t>(fault)];
}

/// One packet of a stream.
struct PacketView {
  const Packet* kind = nullptr;  ///< a filler is a NOP
  std::size_t offset = 0;        ///< dwords from the start of the stream
  Span<const std::uint32_t> words{};

  [[nodiscard]] constexpr Span<const std::uint32_t> payload() const noexcept { return words.subspan(1); }
  /// What follows the fields.
  [[nodiscard]] constexpr Span<const std::uint32_t> body() const noexcept {
    return words.size() > kind->fixed() + 1 ? words.subspan(kind->fixed() + 1) : Span<const std::uint32_t>();
  }
  /// The value of the field of that name; 0 where the packet has none.
  [[nodiscard]] constexpr std::uint64_t get(std::string_view field) const noexcept {
    return words.size() > 1 ? field_value(kind->fields, field, payload()) : 0;
  }
};

/// Walks a stream packet by packet and refuses the first that breaks the catalog.
///
/// Errors: Errc::invalid_packet, with the fault's name, the dword, the packet and field, what was found and what was
/// expected; the error's offset is in bytes. Reads nothing outside the stream.
class PacketReader {
 public:
  constexpr PacketReader(Span<const std::uint32_t> stream, Generation generation,
                         PacketPlace place = PacketPlace::ring) noexcept
      : stream_(stream), generation_(generation), place_(place) {}

  /// True at the end of the stream, and behind a packet that was refused.
  [[nodiscard]] constexpr bool done() const noexcept { return at_ >= stream_.size(); }
  [[nodiscard]] constexpr std::size_t offset() const noexcept { return at_; }

  /// The next packet. Call it while not done().
  [[nodiscard]] constexpr Result<PacketView> next() noexcept {
    auto packet = read();
    if (packet)
      at_ += packet->words.size();
    else
      at_ = stream_.size();
    return packet;
  }

 private:
  template <class... Pieces>
  [[nodiscard]] constexpr std::unexpected<Error> refuse(PacketFault fault, std::size_t dword,
                                                        const Pieces&... pieces) const noexcept {
    Error error = Error::of(Errc::invalid_packet, name(fault), ": dword ", dword, ", ");
    (error.append(pieces), ...);
    error.at_offset(std::uint64_t{dword} * 4);
    return std::unexpected<Error>(error);
  }

  constexpr Result<PacketView> read() const noexcept {
    if (done()) return refuse(PacketFault::truncated, at_, "the stream has ended");
    const std::uint32_t header = stream_[at_];
    if (header == kFiller || header == kNopWord) return PacketView{&kNop, at_, stream_.subspan(at_, 1)};
    const std::uint32_t type = header >> 30;
    if (type != 3)
      return refuse(PacketFault::unknown_type, at_, "header ", Hex(header), " has type ", type,
                    ", 3 or the filler 0x80000000 expected");
    const auto opcode = static_cast<std::uint8_t>(header >> 8);
    const Packet* kind = find_packet(opcode);
    if (kind == nullptr)
      return refuse(PacketFault::unknown_opcode, at_, "header ", Hex(header), " has opcode ", Hex(opcode));
    if (auto r = check_use(*kind); !r) return pass(r);
    if ((header & 0xfdu) != 0)
      return refuse(PacketFault::reserved_bits, at_, kind->name, "'s header ", Hex(header), " has ",
                    Hex(header & 0xfdu), " set, 0 expected");
    const std::size_t payload = (header >> 16 & 0x3fffu) + 1;
    if (payload < kind->least || payload > kind->most)
      return refuse(PacketFault::wrong_length, at_, kind->name, " has ", payload, " dwords after its header, ",
                    kind->least, " to ", kind->most, " expected");
    if (payload > stream_.size() - at_ - 1)
      return refuse(PacketFault::truncated, at_, kind->name, " has ", payload, " dwords after its header, ",
                    stream_.size() - at_ - 1, " are left");
    const PacketView packet{kind, at_, stream_.subspan(at_, payload + 1)};
    if (auto r = check_fields(packet); !r) return pass(r);
    if (auto r = check_body(packet); !r) return pass(r);
    return packet;
  }

  constexpr Result<void> check_use(const Packet& kind) const noexcept {
    switch (kind.use) {
      case Use::compute:
        return {};
      case Use::indirect_only:
        if (place_ == PacketPlace::indirect_buffer) return {};
        return refuse(PacketFault::not_in_a_ring, at_, kind.name, " stands in a ring, an indirect buffer expected");
      case Use::graphics_only:
        return refuse(PacketFault::not_on_compute_queue, at_, kind.name, " belongs to the graphics queue");
      case Use::fields_unstated:
        break;
    }
    return refuse(PacketFault::fields_unstated, at_, "the fields of ", kind.name, " are not known");
  }

  constexpr Result<void> check_fields(const PacketView& packet) const noexcept {
    const Packet& kind = *packet.kind;
    for (std::size_t dword = 1; dword <= kind.fixed(); ++dword) {
      const std::uint32_t reserved = packet.words[dword] & reserved_bits(kind.fields, dword, generation_);
      if (reserved != 0)
        return refuse(PacketFault::reserved_bits, at_ + dword, kind.name, " has ", Hex(reserved), " set in ",
                      Hex(packet.words[dword]), ", 0 expected on ", name(generation_));
    }
    for (const BitField& field : kind.fields) {
      if (!holds(field.defined, generation_)) continue;
      const std::uint64_t value = field.get(packet.payload(), 1);
      if (value % field.alignment != 0)
        return refuse(PacketFault::misaligned, at_ + field.dword, kind.name, '.', field.name, " is ", Hex(value),
                      ", a multiple of ", field.alignment, " expected");
      if (!field.values.empty() && field.name_of(value).empty()) return refuse_value(packet, field, value);
    }
    if (kind.rule == nullptr) return {};
    const Objection objection = kind.rule(packet.payload(), place_);
    if (!objection.raised()) return {};
    std::size_t dword = 0;
    for (const BitField& field : kind.fields)
      if (field.name == objection.field) dword = field.dword;
    return refuse(PacketFault::bad_value, at_ + dword, kind.name, '.', objection.field, " is ",
                  Hex(packet.get(objection.field)), ", ", objection.expected, " expected");
  }

  constexpr std::unexpected<Error> refuse_value(const PacketView& packet, const BitField& field,
                                                std::uint64_t value) const noexcept {
    auto refused =
        refuse(PacketFault::bad_value, at_ + field.dword, packet.kind->name, '.', field.name, " is ", value, ',');
    Error error = refused.error();
    for (const NamedValue& named : field.values) error.append(' ').append(named.value);
    error.append(" expected");
    return std::unexpected<Error>(error);
  }

  constexpr Result<void> check_body(const PacketView& packet) const noexcept {
    const Body body = packet.kind->body;
    if (body != Body::sh_registers && body != Body::uconfig_registers) return {};
    const std::uint32_t count = body == Body::sh_registers ? kShCount : kUconfigCount;
    const auto first = static_cast<std::uint32_t>(packet.get("OFFSET"));
    const auto values = packet.body();
    if (first >= count || values.size() > count - first)
      return refuse(PacketFault::outside_aperture, at_ + 1, packet.kind->name, " writes ", values.size(),
                    " registers from offset ", Hex(first), ", the aperture ends at ", Hex(count));
    if (body == Body::uconfig_registers) return {};
    for (std::size_t i = 0; i < values.size(); ++i)
      if (auto r = check_register(at_ + 2 + i, first + static_cast<std::uint32_t>(i), values[i]); !r) return r;
    return {};
  }

  constexpr Result<void> check_register(std::size_t dword, std::uint32_t offset, std::uint32_t value) const noexcept {
    const Register* entry = find_register(offset, generation_);
    if (entry == nullptr)
      return refuse(PacketFault::unknown_register, dword, "SET_SH_REG writes offset ", Hex(offset),
                    ", where a compute dispatch has no register on ", name(generation_));
    if (!entry->written)
      return refuse(PacketFault::unwritable_register, dword, "SET_SH_REG writes ", entry->name,
                    ", which a stream leaves alone");
    if (entry->fields.empty()) return {};
    const std::uint32_t reserved = value & reserved_bits(entry->fields, 0, generation_);
    if (reserved != 0)
      return refuse(PacketFault::reserved_bits, dword, entry->name, " has ", Hex(reserved), " set in ", Hex(value),
                    ", 0 expected on ", name(generation_));
    return {};
  }

  Span<const std::uint32_t> stream_;
  std::size_t at_ = 0;
  Generation generation_;
  PacketPlace place_;
};

/// Checks a whole stream. Errors as PacketReader.
[[nodiscard]] constexpr Result<void> check_stream(Span<const std::uint32_t> stream, Generation generation,
                                                  PacketPlace place = PacketPlace::ring) noexcept {
  PacketReader reader(stream, generation, place);
  while (!reader.done())
    if (auto packet = reader.next(); !packet) return pass(packet);
  return {};
}

}  // namespace zrt::inline ZRT_ABI::pm4
