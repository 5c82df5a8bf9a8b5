// SPDX-License-Identifier: Apache-2.0
// examples/zrt/pm4.cpp: a packet stream of an AMD compute queue, packet by packet.
#include "commands.hpp"
#include "output.hpp"
#include <zrt/backend/pm4/disassemble.hpp>

#include <nlohmann/json.hpp>

namespace program {
namespace {

using Json = nlohmann::ordered_json;
namespace pm4 = zrt::pm4;

/// The dwords of a file, which are little-endian.
zrt::Result<std::vector<std::uint32_t>> read_words(const std::string& path) {
  const auto bytes = read_file(path);
  if (!bytes) return zrt::pass(bytes);
  if (bytes->size() % 4 != 0) {
    zrt::Error error =
        zrt::Error::of(zrt::Errc::truncated_file, "a stream of ", bytes->size(), " bytes ends inside a dword");
    return std::unexpected(error.at_offset(bytes->size() / 4 * 4));
  }
  std::vector<std::uint32_t> words(bytes->size() / 4);
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = zrt::read_little<std::uint32_t>(reinterpret_cast<const std::byte*>(bytes->data()) + 4 * i);
  return words;
}

Json fields_json(const auto& of, pm4::Generation generation) {
  Json out = Json::object();
  pm4::for_each_field(of, generation, [&](const pm4::FieldValue& f) {
    if (f.value_name.empty() || f.bits == 1)
      out[std::string(f.field)] = f.value;
    else
      out[std::string(f.field)] = f.value_name;
  });
  return out;
}

Json packet_json(const pm4::PacketView& packet, pm4::Generation generation) {
  Json out{{"offset", packet.offset * 4},
           {"packet", std::string(packet.kind->name)},
           {"dwords", packet.words.size()},
           {"fields", fields_json(packet, generation)}};
  pm4::for_each_register(packet, generation, [&](const pm4::RegisterValue& entry) {
    out["registers"].push_back({{"name", std::string(entry.name.view())},
                                {"offset", entry.offset},
                                {"value", entry.value},
                                {"fields", fields_json(entry, generation)}});
  });
  if (packet.kind->body == pm4::Body::data && !packet.body().empty()) out["data"] = packet.body();
  return out;
}

}  // namespace

int pm4_decode(const Pm4DecodeOptions& o) {
  const pm4::Generation generation = pm4::find_target(o.target)->generation;
  const auto words = read_words(o.file);
  if (!words) return failed(words.error());
  std::string text;
  Json listed{{"target", o.target}, {"packets", Json::array()}};
  zrt::Result<void> status;
  pm4::PacketReader reader(*words, generation, o.indirect ? pm4::Place::indirect_buffer : pm4::Place::ring);
  while (!reader.done()) {
    const auto packet = reader.next();
    if (!packet) {
      status = zrt::pass(packet);
      listed["finding"] = {{"offset", status.error().offset()}, {"text", std::string(status.error().text())}};
    } else if (o.json) {
      listed["packets"].push_back(packet_json(*packet, generation));
    } else {
      pm4::disassemble(*packet, generation, [&](std::string_view piece) { text += piece; });
    }
  }
  if (o.json) text = listed.dump(2) + "\n";
  if (!print(text)) return cannot_write("stdout");
  return status ? kOk : failed(status.error());
}

}  // namespace program
