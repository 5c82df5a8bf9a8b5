// SPDX-License-Identifier: Apache-2.0
// examples/zrt/packet_coverage.cpp: which packets a card has run, and with which values of their fields.
#include "packet_coverage.hpp"
#include <zrt/backend/pm4/decode.hpp>

#include <algorithm>
#include <array>

namespace program {
namespace {

namespace pm4 = zrt::pm4;

/// What a self-test does not run: a packet, or a value of a field of it, and why.
struct LeftOut {
  std::string_view packet;
  std::string_view field;  ///< empty: the packet itself
  std::string_view value;
  std::string_view why;
};
constexpr std::array kLeftOut{
    LeftOut{"PRED_EXEC", "", "", "for chips of several dies"},
    LeftOut{"WRITE_DATA", "DST_SEL", "REGISTER", "a queue of a user writes registers by SET_SH_REG"},
    LeftOut{"COPY_DATA", "DST_SEL", "REGISTER", "a queue of a user writes registers by SET_SH_REG"},
    LeftOut{"COPY_DATA", "SRC_SEL", "REGISTER", "none of the chip's that any user may read"},
    LeftOut{"COPY_DATA", "SRC_SEL", "PERF_COUNTER", "counters belong to the system"},
    LeftOut{"WAIT_REG_MEM64", "MEM_SPACE", "REGISTER", "registers have 32 bits"},
    LeftOut{"WAIT_REG_MEM64", "OPERATION", "WRITE_WAIT_WRITE", "registers have 32 bits"},
    LeftOut{"EVENT_WRITE", "EVENT_TYPE", "CACHE_FLUSH_AND_INV_TS_EVENT", "writes a value: of RELEASE_MEM"},
    LeftOut{"EVENT_WRITE", "EVENT_TYPE", "BOTTOM_OF_PIPE_TS", "writes a value: of RELEASE_MEM"},
    LeftOut{"EVENT_WRITE", "EVENT_TYPE", "CS_DONE", "writes a value: of RELEASE_MEM"},
    LeftOut{"RELEASE_MEM", "EVENT_TYPE", "CS_PARTIAL_FLUSH", "writes nothing: of EVENT_WRITE"},
    LeftOut{"RELEASE_MEM", "DATA_SEL", "CP_COUNTER", "a counter of no stated meaning"},
    LeftOut{"RELEASE_MEM", "INT_SEL", "CTXID_4", "no source states what it does"},
    LeftOut{"RELEASE_MEM", "INT_SEL", "CTXID_5", "no source states what it does"},
    LeftOut{"RELEASE_MEM", "INT_SEL", "CTXID_6", "no source states what it does"},
};

bool left_out(std::string_view packet, std::string_view field, std::string_view value) {
  return std::ranges::any_of(
      kLeftOut, [&](const LeftOut& l) { return l.packet == packet && l.field == field && l.value == value; });
}

std::string value_name(const pm4::Packet& packet, const pm4::BitField& field, std::string_view value) {
  return std::string(packet.name) + '.' + std::string(field.name) + '=' + std::string(value);
}

}  // namespace

zrt::Result<void> PacketCoverage::add(std::span<const std::uint32_t> stream, pm4::PacketPlace place) {
  pm4::PacketReader reader(stream, generation_, place);
  while (!reader.done()) {
    const auto packet = reader.next();
    if (!packet) return zrt::pass(packet);
    packets_.emplace(packet->kind->name);
    if (packet->words.size() == 1) continue;
    for (const pm4::BitField& field : packet->kind->fields)
      if (holds(field.defined, generation_) && !field.values.empty())
        values_.insert(value_name(*packet->kind, field, field.name_of(field.get(packet->payload(), 1))));
  }
  return {};
}

std::string PacketCoverage::missing(bool user_queue) const {
  for (const pm4::Packet* packet : pm4::kPackets) {
    if (packet->use == pm4::Use::graphics_only || packet->use == pm4::Use::fields_unstated) continue;
    if (left_out(packet->name, "", "") || (packet == &pm4::kProtectedFenceSignal && !user_queue)) continue;
    if (!packets_.contains(std::string(packet->name))) return std::string(packet->name);
    for (const pm4::BitField& field : packet->fields) {
      if (!holds(field.defined, generation_)) continue;
      for (const pm4::NamedValue& value : field.values)
        if (const std::string name = value_name(*packet, field, value.name);
            !values_.contains(name) && !left_out(packet->name, field.name, value.name))
          return name;
    }
  }
  return {};
}

}  // namespace program
