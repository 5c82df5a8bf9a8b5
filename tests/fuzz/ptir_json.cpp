// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/ptir_json.cpp: JSON of programs, any text and edited ones; what is read is written back, or spoilt and written.
// covers: zrt/ir/ptir/json.hpp 90
// covers: zrt/ir/ptir/json_reader.hpp 90
// covers: zrt/ir/ptir/json_text.hpp 90
// covers: zrt/ir/ptir/json_values.hpp 90
// covers: zrt/ir/ptir/json_writer.hpp 90
// max-len: 96
#include <zrt/ir/ptir/json.hpp>

#include <array>
#include <cstdlib>
#include <fuzz/edit_text.hpp>
#include <fuzz/support/byte_program.hpp>
#include <vector>

namespace {

using namespace zrt;

constexpr std::array<std::string_view, 33> kTokens{"null",
                                                   "true",
                                                   "-1",
                                                   "0",
                                                   "1e999",
                                                   "18446744073709551615",
                                                   "0.5",
                                                   "[]",
                                                   "{}",
                                                   "\"\"",
                                                   "\"inf\"",
                                                   "\"0x7ff8\"",
                                                   "\"?N\"",
                                                   "\"?\"",
                                                   "\"f32\"",
                                                   "\"i1\"",
                                                   "\"si4\"",
                                                   ",",
                                                   "\"literal\":",
                                                   "\"tuple\":",
                                                   "\"element\":",
                                                   "\"value\":",
                                                   "\"real\":",
                                                   "\"cond\"",
                                                   "\"cf64\"",
                                                   "]",
                                                   "}",
                                                   "\"00\"",
                                                   "\"name\":",
                                                   "\"\\u00e9\"",
                                                   "65536",
                                                   "-9223372036854775808",
                                                   "4294967296"};

// Every kind of a custom call's attributes.
constexpr std::string_view kCustom =
    R"({"spec_version":"ptir.v0.4","regions":[{"parameters":[{"id":0,"type":{"dtype":"f32","shape":[]}}],"instructions":[{"id":1,"op":"custom_call","operands":[{"value":0}],"attributes":{"target":"a.b.v1","attrs":{"i":1,"r":0.5,"b":true,"s":"x","n":{"real":"inf"},"is":[1],"rs":[0.5,{"real":"-inf"}],"bs":[true],"ss":["","y"],"e":[]}},"output":{"dtype":"f32","shape":[]}}],"results":[]}]})";

// Regions.
constexpr std::string_view kCond =
    R"({"spec_version":"ptir.v0.4","regions":[{"parameters":[{"id":0,"type":{"dtype":"i1","shape":[]}}],"instructions":[{"id":1,"op":"cond","operands":[{"value":0}],"attributes":{"true_region":1,"false_region":1},"output":{"tuple":[]}}],"results":[]},{"parameters":[],"instructions":[],"results":[]}]})";

/// Short ones, since the JSON library takes most of the time of long ones.
std::vector<std::string> good_texts() {
  std::vector<std::string> texts(16, std::string(kCustom));
  for (std::size_t i = 0; i < 4; ++i) texts[i] = kCond;
  for (std::uint32_t seed = 0; texts.size() < 64; ++seed) {
    const auto program = test::program_of_seed(seed, 1 + seed % 2);
    if (!program) continue;
    const auto json = ir::ptir::to_json(*program);
    if (json && json->dump().size() < 500) texts.push_back(json->dump());
  }
  return texts;
}

void demand(bool condition) {
  if (!condition) std::abort();
}

/// Puts in one place of a program what `verify` would refuse, or a name of any bytes.
void spoil(ir::ptir::Program& p, std::uint8_t what, std::uint8_t where, std::string_view bytes) {
  const auto one_of = [&](auto& list) -> auto& { return list[where % list.size()]; };
  if (p.regions.empty()) return;
  ir::ptir::Region& region = one_of(p.regions);
  switch (what % 8) {
    case 0:
      region.name = Name(bytes);
      break;
    case 1:
      if (!region.parameters.empty()) one_of(region.parameters).type.dtype = static_cast<DType>(what);
      break;
    case 2:
      if (!region.instructions.empty()) one_of(region.instructions).opcode = Opcode{what};
      break;
    case 3:
      if (!region.instructions.empty()) one_of(region.instructions).output.elements.count = what / 8u;
      break;
    case 4:
      if (!region.instructions.empty()) one_of(region.instructions).output.tuple ^= true;
      break;
    case 5:
      // Another kind of attribute, whose range lies where it may.
      if (!p.attributes.empty()) one_of(p.attributes).kind = static_cast<ir::ptir::AttributeKind>(what / 8 % 16);
      break;
    case 6:
      if (!p.attributes.empty()) one_of(p.attributes).bits = what;
      break;
    default:
      if (!p.entries.empty()) one_of(p.entries).value.kind = ir::ptir::AttributeKind::map;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::string> kGood = good_texts();
  if (size == 0) return 0;
  const std::string text = test::edited_text(kGood, kTokens, {data, size});
  auto program = ir::ptir::parse_json(text);
  if (!program) {
    demand(program.error().code() != Errc::ok && !program.error().text().empty());
    return 0;
  }
  if (data[0] / 64 % 2 == 0) {
    const auto json = ir::ptir::to_json(*program);
    // What was read can be written, and means the same.
    demand(json.has_value());
    const auto again = ir::ptir::from_json(*json);
    demand(again && *again == *program);
    return 0;
  }
  // What no reader gives can be written, or an error tells why not.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (std::size_t i = 0; i + 1 < size; i += 2) spoil(*program, data[size - 1 - i], data[size - 2 - i], bytes);
  const auto spoilt = ir::ptir::to_json(*program);
  demand(spoilt || (spoilt.error().code() != Errc::ok && !spoilt.error().text().empty()));
  if (spoilt) (void)ir::ptir::from_json(*spoilt);
  return 0;
}
