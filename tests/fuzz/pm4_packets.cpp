// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/pm4_packets.cpp: any dwords read as a packet stream of either generation, in a ring and in an indirect
// buffer; what is taken is printed and, with its reserved bits, written again.
// covers: zrt/backend/pm4/decode.hpp 90
// covers: zrt/backend/pm4/disassemble.hpp 90
// covers: zrt/backend/pm4/packet_rules.hpp 90
// max-len: 512
#include <zrt/backend/pm4/disassemble.hpp>
#include <zrt/backend/pm4/packets.hpp>

#include <cstring>
#include <pm4/stream_cases.hpp>

using namespace zrt::pm4;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

void demand(bool condition) {
  if (!condition) __builtin_trap();
}

std::size_t sink = 0;

/// Writes the fields of a packet that was read into a new one of the same kind: what no field holds is lost.
void write_again(const PacketView& packet, Generation generation) {
  zrt::test::Words again(packet.words.size());
  again[0] = packet.words[0];
  for (const BitField& field : packet.kind->fields)
    if (holds(field.defined, generation)) field.set(std::span(again).subspan(1), 1, field.get(packet.payload(), 1));
  for (std::size_t i = packet.kind->fixed() + 1; i < again.size(); ++i) again[i] = packet.words[i];
  demand(again.size() == 1 || std::memcmp(again.data(), packet.words.data(), again.size() * 4) == 0);
}

/// One packet of each kind, and what no queue takes.
const std::vector<zrt::test::Words>& seeds() {
  static const std::vector<zrt::test::Words> all = [] {
    auto made = zrt::test::one_of_each<Gfx12>();
    made.push_back({kFiller, kNopWord});
    made.push_back({0xc0002300, 0x01000001});
    made.push_back({0xc0016900, 0, 0});
    made.push_back({0xc0009500, 0});
    made.push_back({0xc0017600, 0x214, 0});
    made.push_back({0xc0017600, 0x221, 0});
    made.push_back({0xc0017600, 0x3ff, 0});
    made.push_back({0xc0017600, 0x20d, 0xff});
    made.push_back({0xc0017900, 0x4000, 0});
    return made;
  }();
  return all;
}

void read_all(const zrt::test::Words& words, Generation generation, PacketPlace place) {
  PacketReader reader(words, generation, place);
  std::size_t end = 0;
  bool good = true;
  while (!reader.done()) {
    const auto packet = reader.next();
    if (!packet) {
      demand(packet.error().code() == zrt::Errc::invalid_packet && packet.error().offset() <= words.size() * 4);
      demand(reader.done());
      good = false;
      break;
    }
    demand(packet->offset == end && packet->words.data() == words.data() + end);
    end += packet->words.size();
    write_again(*packet, generation);
    disassemble(*packet, generation, [](std::string_view piece) { sink += piece.size(); });
  }
  demand(!good || end == words.size());
  demand(check_stream(words, generation, place).has_value() == good);
  demand(!reader.next());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Each seed, then each with one dword that breaks it.
  for (auto words : seeds())
    for (std::size_t at = 0; at <= words.size(); ++at)
      for (const std::uint32_t change : {0x80400006u, 0x00000600u}) {
        if (at < words.size()) words[at] ^= change;
        (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * 4);
        if (at < words.size()) words[at] ^= change;
      }
  return 0;
}

/// Starts now and then with a seed, and puts one behind what is there.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  const auto& chosen = seeds()[seed / 8 % seeds().size()];
  const std::size_t bytes = chosen.size() * 4;
  size = seed % 8 == 0 ? 0 : size / 4 * 4;
  if (seed % 8 < 3 && size + bytes <= max_size) {
    std::memcpy(data + size, chosen.data(), bytes);
    size += bytes;
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zrt::test::Words words(size / 4);
  if (!words.empty()) std::memcpy(words.data(), data, words.size() * 4);
  for (const Generation generation : {Generation::gfx11, Generation::gfx12})
    for (const PacketPlace place : {PacketPlace::ring, PacketPlace::indirect_buffer})
      read_all(words, generation, place);
  return 0;
}
