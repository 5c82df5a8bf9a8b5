// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/json.hpp: the JSON form of the portable tensor IR; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
//
//   {"spec_version": "ptir.v0.4",
//    "regions": [{"name": "main",
//      "parameters":   [{"id": 0, "name": "x", "type": TENSOR}],
//      "instructions": [{"id": 1, "name": "y", "op": "reduce", "operands": [OPERAND],
//                        "attributes": {"kind": "sum", "axes": [-1], ...}, "output": TENSOR | {"tuple": [TENSOR]}}],
//      "results":      [{"operand": OPERAND, "type": TENSOR}]}]}
//
//   TENSOR   {"dtype": "f32", "shape": [4, "?N", "?"]}
//   OPERAND  {"value": 1} | {"tuple": 1, "element": 0} | {"literal": LITERAL}
//   LITERAL  {"dtype": "f32", "shape": [2], "data": "0000803f00000040"}       little-endian bytes
//
// A name may be left out. Reals are numbers, or "inf", "-inf" and "0x…" (the bits of a NaN) as strings;
// a region is its number; -1 is the inferred extent. A custom call's attrs are an object of integers,
// reals (written with a point or an exponent; the strings above are strings there, so a real that is not
// finite is {"real": "inf"}), booleans, strings, and lists of one of these.
#pragma once

#include <zrt/ir/ptir/json_reader.hpp>
#include <zrt/ir/ptir/json_writer.hpp>

#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// Turns a program into JSON that `from_json` reads as an equal one.
///
/// Errors: Errc::invalid_argument for a name or string that is not UTF-8; what no form can hold (an
/// opcode or dtype outside the IR, a missing literal).
[[nodiscard]] inline Result<Json> to_json(const Program& program) { return detail::ProgramJsonWriter(program).run(); }

/// Reads a program from JSON. What it means is `verify`'s business.
///
/// Errors: Errc::unsupported_version for any spec_version but kSpecVersion; otherwise region and
/// instruction, what was expected and what was found.
[[nodiscard]] inline Result<Program> from_json(const Json& json, Allocator allocator = system_allocator()) {
  return detail::ProgramJsonReader(allocator).run(json);
}

/// Reads a program from the text of its JSON form, as parse_json_text and from_json do.
[[nodiscard]] inline Result<Program> parse_json(std::string_view text, Allocator allocator = system_allocator()) {
  const auto json = parse_json_text(text);
  if (!json) return pass(json);
  return from_json(*json, allocator);
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
