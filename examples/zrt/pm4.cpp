// SPDX-License-Identifier: Apache-2.0
// examples/zrt/pm4.cpp: a packet stream of an AMD compute queue, packet by packet; kernels as .zrt files.
#include "commands.hpp"
#include "output.hpp"
#include <zrt/backend/pm4/code_object/convert.hpp>
#include <zrt/backend/pm4/disassemble.hpp>

#include <nlohmann/json.hpp>

#include <charconv>

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

/// NAME=0xcafe0001; false for anything else.
bool read_placeholder(std::string_view text, pm4::Placeholder& placeholder) {
  const std::size_t end = text.find('=');
  if (end == text.npos || end == 0 || !text.substr(end + 1).starts_with("0x")) return false;
  placeholder.constant = text.substr(0, end);
  const std::string_view digits = text.substr(end + 3);
  const auto [stopped, code] = std::from_chars(digits.data(), digits.data() + digits.size(), placeholder.value, 16);
  return code == std::errc() && stopped == digits.data() + digits.size();
}

/// The .zrt file of the kernel called `name`, or of the only one.
zrt::Result<zrt::Vector<std::byte>> pack_kernel(std::span<const std::byte> bytes, std::string_view name,
                                                std::span<const pm4::Placeholder> placeholders) {
  const auto object = pm4::CodeObject::open(bytes);
  if (!object) return zrt::pass(object);
  zrt::Result<zrt::Vector<std::byte>> packed = zrt::fail(zrt::Errc::not_found, "the code object has no kernel ", name);
  std::size_t taken = 0;
  const auto all = pm4::for_each_kernel(*object, [&](const pm4::KernelMetadata& metadata) -> zrt::Result<void> {
    if (!name.empty() && metadata.name != name) return {};
    if (++taken > 1)
      return zrt::fail(zrt::Errc::invalid_argument, "the code object has several kernels, ", metadata.name,
                       " among them: name one");
    packed = pm4::convert_kernel(*object, metadata, placeholders, zrt::system_allocator());
    return {};
  });
  if (!all) return zrt::pass(all);
  return packed;
}

}  // namespace

int pm4_pack(const Pm4PackOptions& o) {
  std::vector<pm4::Placeholder> placeholders(o.constants.size());
  for (std::size_t i = 0; i < placeholders.size(); ++i)
    if (!read_placeholder(o.constants[i], placeholders[i]))
      return usage("'" + o.constants[i] + "' is no constant with its placeholder: NAME=0xcafe0001");
  const auto bytes = read_file(o.file);
  if (!bytes) return failed(bytes.error());
  const auto packed = pack_kernel(std::as_bytes(std::span(bytes->data(), bytes->size())), o.kernel, placeholders);
  if (!packed) return failed(of_file(packed.error(), o.file));
  if (auto r = write_file(o.out, {reinterpret_cast<const char*>(packed->data()), packed->size()}); !r)
    return failed(r.error());
  return kOk;
}

int pm4_decode(const Pm4DecodeOptions& o) {
  const pm4::Generation generation = pm4::find_target(o.target)->generation;
  const auto words = read_words(o.file);
  if (!words) return failed(words.error());
  std::string text;
  Json listed{{"target", o.target}, {"packets", Json::array()}};
  zrt::Result<void> status;
  pm4::PacketReader reader(*words, generation, o.indirect ? pm4::PacketPlace::indirect_buffer : pm4::PacketPlace::ring);
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
  return status ? kOk : failed(of_file(status.error(), o.file));
}

}  // namespace program
