// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/ptir_json.cpp: JSON of programs, any text and edited ones; what is read is written back.
// covers: zrt/ir/ptir/json.hpp 90
// covers: zrt/ir/ptir/json_reader.hpp 90
// covers: zrt/ir/ptir/json_text.hpp 90
// covers: zrt/ir/ptir/json_values.hpp 90
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

std::vector<std::string> good_texts() {
  std::vector<std::string> texts;
  for (std::uint32_t seed = 0; texts.size() < 64; ++seed) {
    const auto program = test::program_of_seed(seed, 1 + seed % 2);
    if (!program) continue;
    const auto json = ir::ptir::to_json(*program);
    if (json && json->dump().size() < 900) texts.push_back(json->dump());
  }
  return texts;
}

void demand(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::string> kGood = good_texts();
  const std::string text = test::edited_text(kGood, kTokens, {data, size});
  const auto program = ir::ptir::parse_json(text);
  if (!program) {
    demand(program.error().code() != Errc::ok && !program.error().text().empty());
    return 0;
  }
  const auto json = ir::ptir::to_json(*program);
  // What was read can be written, and means the same.
  demand(json.has_value());
  const auto again = ir::ptir::from_json(*json);
  demand(again && *again == *program);
  return 0;
}
