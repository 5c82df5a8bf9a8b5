// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/fused_json.cpp: JSON of fused programs, any text and edited ones; what is read is written back and made.
// covers: zrt/ir/fused/cut_wire.hpp 90
// covers: zrt/ir/fused/json.hpp 90
// covers: zrt/ir/fused/verify.hpp 90
// max-len: 96
#include <zrt/ir/fused/from_ptir.hpp>
#include <zrt/ir/fused/instantiate.hpp>
#include <zrt/ir/fused/json.hpp>

#include <array>
#include <cstdlib>
#include <fuzz/edit_text.hpp>
#include <fuzz/support/byte_program.hpp>
#include <vector>

namespace {

using namespace zrt;
namespace fused = zrt::ir::fused;

constexpr std::array<std::string_view, 36> kTokens{"null",
                                                   "true",
                                                   "-1",
                                                   "0",
                                                   "1",
                                                   "2",
                                                   "4",
                                                   "7",
                                                   "10",
                                                   "1e999",
                                                   "4294967296",
                                                   "0.5",
                                                   "[]",
                                                   "{}",
                                                   "\"\"",
                                                   "\"inf\"",
                                                   "\"?N\"",
                                                   "\"f32\"",
                                                   "\"i1\"",
                                                   "\"dropout\"",
                                                   "\"batch_norm\"",
                                                   "\"constant\"",
                                                   "\"while_loop\"",
                                                   "[0,1]",
                                                   ",",
                                                   "\"result_id\":",
                                                   "\"state\":",
                                                   "\"attrs\":",
                                                   "\"device\":",
                                                   "\"feeds\":",
                                                   "\"version\":",
                                                   "]",
                                                   "}",
                                                   "[5,5]",
                                                   "\"x\":1",
                                                   "\"mode_sensitive\":"};

// A dropout, and its sum with a constant that becomes a state.
constexpr std::string_view kDropout =
    R"({"version":1,"feeds":[0,1],"steps":[{"step_id":0,"op_name":"dropout","input_ids":[0],"attrs":{"rate":0.5,"seed":7},"result_id":5,"mode_sensitive":true},{"step_id":1,"op_name":"constant","input_ids":[],"attrs":{"value":{"dtype":"f32","shape":[2],"data":"0000803f00000040"}},"result_id":6,"mode_sensitive":false},{"step_id":5,"op_name":"elementwise_binary","input_ids":[5,6],"attrs":{"op":"add"},"result_id":10,"mode_sensitive":false}],"outputs":{"sum":10},"state_in":[1],"state_out":[{"state":1,"value":10}]})";

// A batch norm whose running mean and variance are states.
constexpr std::string_view kBatchNorm =
    R"({"version":1,"feeds":[0,1,2,3,4],"steps":[{"step_id":4,"op_name":"batch_norm","input_ids":[0,1,2,3,4],"attrs":{"feature_axis":-1,"epsilon":1e-05,"momentum":0.1},"result_ids":[7,8,9],"mode_sensitive":true}],"outputs":{"pred":7},"state_in":[3,4],"state_out":[{"state":3,"value":8},{"state":4,"value":9}],"meta":[{"id":0,"dtype":"f32","shape":["?N",3],"device":"cpu"},{"id":7,"dtype":"f32","shape":["?N",3]}]})";

// Sets in any order, null, and types by id.
constexpr std::string_view kById =
    R"({"version":1,"feeds":[3,0],"steps":[],"outputs":{"y":0},"state_in":null,"state_out":null,"meta":{"3":{"dtype":"f32","shape":[3]},"0":{"dtype":"f32","shape":[],"device":null}},"regions":null})";

// A region that another one names, and one whose instruction is declared wrong.
constexpr std::string_view kNested =
    R"({"version":1,"feeds":[0,1],"steps":[{"step_id":5,"op_name":"cond","input_ids":[0,1],"attrs":{"true_region":2,"false_region":2},"result_id":3,"mode_sensitive":false}],"outputs":{"y":3},"meta":[{"id":0,"dtype":"i1","shape":[]}],"regions":[{"parameters":[{"id":4,"type":{"dtype":"f32","shape":[3]}}],"instructions":[],"results":[{"operand":{"value":4},"type":{"dtype":"f32","shape":[3]}}]},{"parameters":[{"id":4,"type":{"dtype":"f32","shape":[3]}}],"instructions":[{"id":7,"op":"elementwise_unary","operands":[{"value":4}],"attributes":{"op":"exp"},"output":{"dtype":"f32","shape":[3]}}],"results":[{"operand":{"value":7},"type":{"dtype":"f32","shape":[3]}}]}]})";
constexpr std::string_view kWrongRegion =
    R"({"version":1,"feeds":[0,1],"steps":[{"step_id":5,"op_name":"while_loop","input_ids":[1],"attrs":{"cond_region":1,"body_region":2},"result_ids":[3,6],"mode_sensitive":false}],"outputs":{"y":3},"regions":[{"parameters":[],"instructions":[{"id":7,"op":"cond","operands":[{"literal":{"dtype":"i1","shape":[],"data":"01"}}],"attributes":{"true_region":3,"false_region":3},"output":{"tuple":[]}}],"results":[]},{"parameters":[],"instructions":[],"results":[]},{"parameters":[],"instructions":[{"id":7,"op":"iota","operands":[],"attributes":{"shape":[2],"dtype":"f32","axis":0},"output":{"dtype":"f64","shape":[2]}}],"results":[]}]})";

/// Short ones, since the JSON library takes most of the time of long ones.
std::vector<std::string> good_texts() {
  std::vector<std::string> texts(32, std::string(kBatchNorm));
  for (std::size_t i = 0; i < 16; ++i) texts[i] = i < 2 ? kById : i == 2 ? kNested : i == 3 ? kWrongRegion : kDropout;
  for (std::uint32_t seed = 0; texts.size() < 64; ++seed) {
    const auto program = test::program_of_seed(seed, 1 + seed % 2);
    if (!program) continue;
    const auto made = fused::from_ptir(*program);
    if (!made) continue;
    const auto json = fused::to_json(*made);
    if (json && json->dump().size() < 500) texts.push_back(json->dump());
  }
  return texts;
}

void demand(bool condition) {
  if (!condition) std::abort();
}

/// What is told of a break: at least the error.
void tell(const fused::FusedProgram& program, const fused::CutWire& cut, const Error& error) {
  String report;
  demand(fused::append_report(report, program, cut, error) &&
         report.view().find(error.text()) != std::string_view::npos && report.view().ends_with('\n'));
}

/// What a feed is bound to: its declared type with every open extent 2, else three numbers.
ir::ptir::TensorType type_of(const fused::FusedProgram& program, ir::ptir::ValueId id) {
  const fused::Meta* meta = program.meta_of(id);
  if (meta == nullptr) return {DType::f32, {3}};
  ir::ptir::Shape shape;
  for (const ir::ptir::Dim dim : meta->type.shape.view()) shape.append(dim.is_constant() ? dim : ir::ptir::Dim(2));
  return {meta->type.dtype, shape};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::string> kGood = good_texts();
  if (size == 0) return 0;
  const std::string text = test::edited_text(kGood, kTokens, {data, size});
  fused::BrokenProgram broken;
  const auto program = fused::parse_json(text, system_allocator(), &broken);
  if (!program) {
    demand(program.error().code() != Errc::ok && !program.error().text().empty());
    tell(broken.program, broken.cut, broken.cut.step == fused::CutWire::kNone ? program.error() : broken.cause);
    return 0;
  }
  // One text is written back, instantiated for inference, or for training.
  if (data[0] / 64 % 2 == 0) {
    const auto json = fused::to_json(*program);
    // What was read can be written, but for unknown ops, and means the same.
    if (!json) {
      demand(json.error().code() == Errc::unsupported_opcode && !fused::verify(*program));
      return 0;
    }
    const auto again = fused::from_json(*json);
    demand(again && *again == *program);
    return 0;
  }
  std::vector<fused::FeedType> feeds;
  for (const ir::ptir::ValueId id : program->feeds)
    if (feeds.size() < 32) feeds.push_back({id, type_of(*program, id)});
  // Now and then a feed is forgotten.
  if (!feeds.empty() && data[size - 1] % 8 == 0) feeds.pop_back();
  fused::CutWire cut;
  const auto made = fused::instantiate(*program, feeds, data[0] >= 128, &cut);
  // A fused program that verifies and instantiates is a program.
  if (made)
    demand(ir::ptir::verify(*made).has_value());
  else
    tell(*program, cut, made.error());
  return 0;
}
