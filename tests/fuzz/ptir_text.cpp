// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/ptir_text.cpp: text of programs, any and edited ones; what is read is written back.
// covers: zrt/ir/ptir/lexer.hpp 90
// covers: zrt/ir/ptir/parse.hpp 90
// covers: zrt/ir/ptir/parse_values.hpp 90
// covers: zrt/ir/ptir/print.hpp 90
// covers: zrt/ir/ptir/numbers.hpp 90
// max-len: 160
#include <zrt/ir/ptir/text.hpp>

#include <array>
#include <cstdlib>
#include <fuzz/edit_text.hpp>
#include <fuzz/support/byte_program.hpp>
#include <vector>

namespace {

using namespace zrt;

constexpr std::array<std::string_view, 33> kTokens{"%0",
                                                   "%1.0",
                                                   "@1",
                                                   "?N",
                                                   "?",
                                                   "-1",
                                                   "0x7ff8000000000000",
                                                   "1e999",
                                                   "inf",
                                                   "nan",
                                                   "()",
                                                   "{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   "->",
                                                   ":",
                                                   "=",
                                                   "tuple",
                                                   "f32",
                                                   "si4",
                                                   "i1",
                                                   "cf64",
                                                   "literal",
                                                   "true",
                                                   "\"\\x00\"",
                                                   "return ",
                                                   "region",
                                                   "18446744073709551616",
                                                   "0.1",
                                                   "#c\n",
                                                   "cond",
                                                   "\""};

std::vector<std::string> good_texts() {
  std::vector<std::string> texts;
  for (std::uint32_t seed = 0; texts.size() < 64; ++seed) {
    const auto program = test::program_of_seed(seed, 1 + seed % 2);
    if (!program) continue;
    const auto text = ir::ptir::print(*program);
    if (text && text->view().size() < 900) texts.emplace_back(text->view());
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
  const auto program = ir::ptir::parse(text);
  if (!program) {
    demand(program.error().code() != Errc::ok && !program.error().text().empty());
    return 0;
  }
  const auto printed = ir::ptir::print(*program);
  // What was read can be written, and means the same.
  demand(printed.has_value());
  const auto again = ir::ptir::parse(printed->view());
  demand(again && *again == *program);
  return 0;
}
