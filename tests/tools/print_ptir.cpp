// SPDX-License-Identifier: Apache-2.0
// tests/tools/print_ptir.cpp: prints docs/ptir.md from the operations of the portable tensor IR.
#include <zrt/ir/ptir/builder.hpp>
#include <zrt/ir/ptir/text.hpp>

#include <array>
#include <cstdio>
#include <string>

namespace {

namespace ptir = zrt::ir::ptir;

std::string_view kind(ptir::AttributeKind kind) {
  using enum ptir::AttributeKind;
  switch (kind) {
    case none:
      return "nothing";
    case integer:
      return "integer";
    case real:
      return "real";
    case boolean:
      return "boolean";
    case dtype:
      return "dtype";
    case choice:
      return "choice";
    case string:
      return "string";
    case integers:
      return "[integer]";
    case reals:
      return "[real]";
    case booleans:
      return "[boolean]";
    case strings:
      return "[string]";
    case shape:
      return "shape";
    case literal:
      return "literal";
    case region:
      return "region";
    case map:
      return "map";
  }
  return "?";
}

std::string operands(const ptir::OpInfo& op) {
  std::string text;
  for (std::size_t i = 0; i < op.operand_names; ++i)
    text.append(i == 0 ? "" : ", ").append(op.operands[i]).append(!op.repeats && i >= op.least ? "?" : "");
  if (op.repeats) text += "...";
  return text.empty() ? "–" : text;
}

std::string attributes(const ptir::OpInfo& op) {
  std::string text;
  for (const ptir::AttributeField& field : op.fields()) {
    text.append(text.empty() ? "" : ", ").append(field.name).append(field.optional ? "?" : "").append(": ");
    if (field.choices.empty()) text += kind(field.kind);
    for (std::size_t i = 0; i < field.choices.size(); ++i) text.append(i == 0 ? "" : " ").append(field.choices[i]);
  }
  return text.empty() ? "–" : text;
}

/// What the specification leaves open: a subject, and what holds here.
struct Convention {
  std::string_view subject, rule;
};
constexpr auto kConventions = std::to_array<Convention>({
    {"cast",
     "A type to itself keeps every bit.\n"
     "  - float to float: rounds once, to nearest, ties to even; overflow gives infinity, in fp8_e4m3 NaN.\n"
     "  - float to integer: truncates toward zero; what lies beyond the range becomes its end, NaN 0.\n"
     "  - integer to float: rounds once. Integer to integer: takes the end of the range.\n"
     "  - to i1: `x != 0`, so NaN gives 1."},
    {"sums of floats",
     "reduce, reduce_window and dot_general add in 16 lanes and then halves of them (dot16 of the\n"
     "  [numerics](numerics.md)), and round once to accum_dtype, then to out_dtype. segment_reduce adds row by row.\n"
     "  - products: dot_general leaves them unrounded.\n"
     "  - elements: reduce, reduce_window and segment_reduce cast them to accum_dtype first; an integer beyond its "
     "range becomes its end.\n"
     "  - defaults: accum_dtype is f32 for narrower floats and the type itself for others; out_dtype is the "
     "operand's.\n"
     "  - sums of integers wrap.\n"
     "  - max and min ignore NaN; of NaN alone they give the end of the range that no element passes."},
    {"quantize",
     "`q = saturate(round_to_even(x / scale) + zero_point)`. The quotient is rounded to f32 (f64 for f64), then to a\n"
     "  whole number; NaN counts as 0. Scales are f32 and zero points si32; both are scalars, or both vectors over "
     "`axis`.\n"
     "  - dequantize: `(q - zero_point) * scale`, the difference exact, both rounded to f32 (f64 for an f64 result).\n"
     "  - requantize: quantize of dequantize, in f32."},
    {"rng_uniform, rng_normal",
     "Philox4x32-10. Element i draws four words under the key seed: words 0 and 1 of the counter are i, 2 and\n"
     "  3 the stream. Its value depends on nothing else, on no backend. Of two words drawn the first is the upper "
     "half.\n"
     "  - uniform: k / 2^p. p is the precision of the type, k the upper p bits of the first word (f64: of the first "
     "two).\n"
     "  - normal: sqrt(-2 log u) cos(2 pi v) with u = (k + 1) / 2^24 and v = m / 2^24, computed in f32 and rounded to "
     "the\n"
     "    type. k is the upper 24 bits of the first word, m those of the second.\n"
     "  - normal in f64: 53 bits and 2^53, u from the first two words and v from the last two."},
    {"scatter_add, scatter_reduce",
     "Updates apply in row-major order of `updates`, from x: of several replacements the last one stays.\n"
     "  A window or an index that leaves x ends the run with `spec_violation`.\n"
     "  - sums of floats are rounded to the type once; max and min give NaN where either is NaN.\n"
     "  - scatter_add has XLA's dimension numbers: axis index_vector_dim of the indices holds a place. Left out, each "
     "index\n"
     "    is a place of one number."},
    {"windows",
     "Padding and holes hold the identity of the fold: 0, or the end of the range that no element passes.\n"
     "  - an axis of e elements with base dilation b has b - 1 holes between its elements, so (e - 1) b + 1 places, "
     "then\n"
     "    padding before and after.\n"
     "  - a window of w elements with dilation d spans (w - 1) d + 1 places.\n"
     "  - extract_patches slides over the axes between the first and the last one. It gives the elements of the "
     "window\n"
     "    first, the channel last; its padding is pad_value, by default 0."},
    {"segment_reduce",
     "segment_ids count from 0 to num_segments; another id ends the run with `spec_violation`. A segment without\n"
     "  rows holds the identity. Sums add up in the order of the rows; max and min ignore NaN. indices_are_sorted and\n"
     "  unique are promises: they change no result while they hold."},
    {"take, gather", "An index outside the axis ends the run with `spec_violation`; none is clamped or wrapped."},
    {"dynamic_slice, dynamic_update_slice", "The start is clamped so that the window lies in x."},
    {"maximum, minimum, clamp", "NaN where an operand is NaN. clamp gives hi where the bounds cross."},
    {"iota", "Numbers that an integer type does not have wrap: si4 counts ..., 7, -8, -7, ..."},
    {"arg_max, top_k",
     "The smaller index stands first among equals. For arg_max NaN never wins; for top_k NaN is larger than every\n"
     "  number, as torch.topk has it."},
});

/// The example of the page, built and printed.
bool print_example() {
  ptir::Builder b;
  const auto x = b.parameter({zrt::DType::f32, {b.dim("N"), 4}}, "x");
  const auto w = b.parameter({zrt::DType::f32, {4, 3}}, "w");
  const auto y = b.dot(x, w) * 0.5;
  b.result(b.maximum(y, b.constant(0.0f)));
  const auto program = b.finish();
  if (!program) return false;
  const auto text = ptir::print(*program);
  if (!text) return false;
  std::printf(
      "```cpp\n"
      "zrt::ir::ptir::Builder b;\n"
      "const auto x = b.parameter({zrt::DType::f32, {b.dim(\"N\"), 4}}, \"x\");\n"
      "const auto w = b.parameter({zrt::DType::f32, {4, 3}}, \"w\");\n"
      "const auto y = b.dot(x, w) * 0.5;\n"
      "b.result(b.maximum(y, b.constant(0.0f)));\n"
      "zrt::Result<zrt::ir::ptir::Program> program = b.finish();\n"
      "```\n\n"
      "`print` gives this, and `parse` reads it back as the same program:\n\n"
      "```\n%.*s```\n",
      static_cast<int>(text->size()), text->view().data());
  return true;
}

}  // namespace

int main() {
  std::printf(
      "<!-- Generated by tests/tools/print_ptir.cpp from zrt::ir::ptir::kOps; ./dev docs writes it anew. -->\n"
      "# Portable tensor IR\n\n"
      "Programs of %.*s: regions of instructions over SSA values, dynamic extents, tuples, literals. A program is\n"
      "built, or read from text or JSON, then verified. Headers under `zrt/ir/ptir/`:\n\n"
      "| header | what it has |\n|---|---|\n"
      "| program.hpp, types.hpp | `Program` and what stands in it |\n"
      "| builder.hpp | `Builder`: expressions, types inferred, broadcasts inserted |\n"
      "| text.hpp | `print`, `parse`, and the grammar |\n"
      "| json.hpp | `to_json`, `parse_json`; needs nlohmann-json |\n"
      "| dot.hpp | `to_dot`, for Graphviz |\n"
      "| infer.hpp, verify.hpp | type rules; `verify` |\n"
      "| lower.hpp, lowering_*.hpp | `lower`: the graph of a program for one set of input shapes |\n"
      "| walk.hpp | `walk_program`: what a program reaches, in one order |\n"
      "| attributes.hpp | the table below, and what attributes mean where the specification leaves it open |\n\n",
      static_cast<int>(ptir::kSpecVersion.size()), ptir::kSpecVersion.data());
  if (!print_example()) return 1;
  std::printf(
      "\n## Running\n\n"
      "<!-- needs: programs -->\n"
      "```cpp\n"
      "const zrt::ir::ptir::Shape shapes[]{{2, 4}, {4, 3}};\n"
      "auto runner = zrt::ProgramRunner<zrt::ReferenceBackend>::make(*program, shapes);\n"
      "const zrt::ConstTensorView inputs[]{{zrt::DType::f32, {2, 4}, x_bytes}, {zrt::DType::f32, {4, 3}, w_bytes}};\n"
      "const zrt::TensorView outputs[]{{zrt::DType::f32, {2, 3}, y_bytes}};\n"
      "zrt::Result<void> done = runner->run(inputs, outputs);\n"
      "```\n\n"
      "`make` (`zrt/exec/program_runner.hpp`) does everything that can fail: it verifies the program, lowers it, runs\n"
      "the [passes](passes.md) unless `ProgramOptions::optimise` is false, compiles it for the backend's claims, "
      "plans\n"
      "memory and records it. `run` allocates nothing. `zrt ptir run` ([the program](program.md)) does this with "
      "files.\n"
      "\n"
      "**Shapes.** The input shapes fix every dynamic extent, so a runner serves one set of shapes; make one runner "
      "per\n"
      "set. A symbol is one extent: inputs that disagree are refused by name, and so is an extent that nothing\n"
      "determines. A region sees the symbols of the region around it and forgets its own at its end.\n"
      "\n"
      "**Lowering** makes each instruction the op of its number in the catalog: axes counted from 0, defaults filled\n"
      "in, literals as constants of their stored type (one per literal that a region reads), each call of a region a\n"
      "graph of its own.\n"
      "\n"
      "| limit | |\n"
      "|---|---|\n"
      "| arithmetic on complex numbers | verifies, then `unimplemented` |\n"
      "| an op that the backend does not run | `unsupported_opcode` |\n"
      "| instructions of a program, a region's once per call | 65536 |\n"
      "| values of its plan | 65535 |\n"
      "| operands and results of an instruction (concat: any number), parameters and results of a region | 64 |\n"
      "| nesting of regions | 64 |\n"
      "\n"
      "**Faults of data.** An index out of range, a division of integers by zero and the like end a run with\n"
      "`spec_violation`, which names the plan's instruction (for an instruction in a region, the call of the region). "
      "A\n"
      "while_loop past its trip limit (2^32, or `LowerOptions::trip_limit`) ends it with `limit_exceeded`. Outputs "
      "are\n"
      "then left alone. On the host the error of an index or a divisor also names value, place and operand: "
      "`instruction "
      "0\n"
      "(take): index -1 at [1], extent 3, in input 1 (indices)`. To find it, what is before the instruction runs "
      "again.\n"
      "\n## Custom calls\n\n"
      "A target of a custom_call is a type of the host's, in a list that the backend takes ([how](adding-an-op.md)). "
      "It\n"
      "is found by name: namespaced and versioned like acme.scale.v1, versions counting from 1. The declared output "
      "is\n"
      "authoritative: at most four results, whose extents the input shapes must determine. Attributes are bytes of "
      "the\n"
      "plan.\n"
      "\n"
      "- A target that the backend lacks gives `unimplemented` at bind, even if nothing reads its results. Nothing\n"
      "  takes its place.\n"
      "- A target that lists its attributes, as those of zrt.onnx do, refuses any others, attributes of another kind,\n"
      "  and calls without one that it needs: `invalid_params` at bind, for calls that something reads.\n"
      "- A target that lists none takes any, and its own check judges them.\n"
      "\n## Conversion\n\n"
      "`plan::kConversionTargets` (`zrt/plan/conversion.hpp`) lists the formats that programs convert to: `plan`, "
      "`dot`\n"
      "and `c` ([codegen.md](codegen.md)). `check_program_legality` returns every obstacle with region, value and\n"
      "opcode. `entry_point_name` returns a name that follows from the program alone. `plan_buffers`\n"
      "(`zrt/plan/plan_buffers.hpp`) returns the bytes of inputs, outputs, constants and arena before a backend is\n"
      "chosen.\n"
      "\n## Operations\n\n"
      "`name?` may be left out; `name...` stands for any number of operands. Axes may be negative.\n\n"
      "| no. | operation | operands | attributes |\n|---|---|---|---|\n");
  for (const ptir::OpInfo& op : ptir::kOps)
    std::printf("| %u | %.*s | %s | %s |\n", unsigned{number(op.opcode)}, static_cast<int>(op.name.size()),
                op.name.data(), operands(op).c_str(), attributes(op).c_str());
  std::printf("\n## Conventions\n\nWhat the specification leaves to the backend, the same on all of ours.\n\n");
  for (const auto& [what, rule] : kConventions)
    std::printf("- **%.*s.** %.*s\n", static_cast<int>(what.size()), what.data(), static_cast<int>(rule.size()),
                rule.data());
  return 0;
}
