// SPDX-License-Identifier: Apache-2.0
// tests/unit/onnx_faults.cpp: a fault of data names the ONNX node, the index, its place and its input.
#include <zrt/ir/onnx.hpp>
#include <zrt/ir/ptir/text.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <programs.hpp>
#include <string>
#include <support/onnx_file.hpp>
#include <support/run_program.hpp>
#include <vector>

namespace onnx_faults_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using namespace zrt::test::onnx_file;
using zrt::test::onnx_file::model;
using zrt::test::onnx_file::text;

HostValue indices(std::vector<std::int64_t> values, std::initializer_list<std::uint32_t> extents) {
  HostValue x{{DType::si64, {}}, std::vector<std::byte>(values.size() * 8)};
  for (const std::uint32_t extent : extents) x.type.shape = x.type.shape.appended(extent);
  std::memcpy(x.bytes.data(), values.data(), x.bytes.size());
  return x;
}
HostValue floats(std::initializer_list<std::uint32_t> extents) {
  HostValue x{{DType::f32, {}}, {}};
  std::size_t count = 1;
  for (const std::uint32_t extent : extents) {
    x.type.shape = x.type.shape.appended(extent);
    count *= extent;
  }
  x.bytes.resize(4 * count);
  return x;
}
/// A node with a name.
std::string named(std::string_view name, std::string_view op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs, const std::vector<std::string>& attributes = {}) {
  std::string bytes = field(3, name);
  for (const std::string& input : inputs) bytes += field(1, input);
  for (const std::string& output : outputs) bytes += field(2, output);
  bytes += field(4, op);
  for (const std::string& attribute : attributes) bytes += field(5, attribute);
  return field(1, bytes);
}

/// What a run of a model says, which is the same on CpuBackend and ReferenceBackend.
std::string fault(const std::string& graph, const std::vector<HostValue>& inputs, std::int64_t opset = 17) {
  const std::string file = onnx_file::model(graph, opset);
  const auto program = ir::onnx::read(std::as_bytes(std::span(file)));
  if (!program) return "not read: " + std::string(program.error().text());
  const ProgramRun reference = run_program(*program, inputs), cpu = run_program_on_cpu(*program, inputs);
  if (reference.refused) return "refused: " + std::string(reference.refused->text());
  if (!reference.failed) return "no fault";
  EXPECT_TRUE(cpu.failed && cpu.failed->text() == reference.failed->text())
      << (cpu.failed ? cpu.failed->text() : "no fault on the CPU");
  return std::string(reference.failed->text());
}

TEST(OnnxFaults, NameNodeIndexPlaceAndInput) {
  const auto gather = [](std::int64_t at) {
    std::vector<std::int64_t> ids(16, 3);
    ids[7] = at;
    return fault(input("table", kFloat, {30522, 4}) + input("ids", kInt64, {2, 8}) +
                     named("/embeddings/Gather", "Gather", {"table", "ids"}, {"rows"}) +
                     named("/relu", "Relu", {"rows"}, {"z"}) + output("z"),
                 {floats({30522, 4}), indices(ids, {2, 8})});
  };
  EXPECT_EQ(gather(31000), "/embeddings/Gather: index 31000 at [0, 7], extent 30522, in input 1 (ids)");
  EXPECT_EQ(gather(-30523), "/embeddings/Gather: index -30523 at [0, 7], extent 30522, in input 1 (ids)");
  EXPECT_EQ(gather(-30522), "no fault");
}

// A later instruction has written over the indices by the time that the fault is known.
TEST(OnnxFaults, AreFoundWhereOperandsAreGone) {
  std::string graph = input("table", kFloat, {8}) + input("raw", kInt64, {4}) + numbers("one", {1}, {1}) +
                      named("shift", "Add", {"raw", "one"}, {"ids"}) +
                      named("pick", "Gather", {"table", "ids"}, {"v0"});
  for (int i = 0; i < 6; ++i) graph += node("Sin", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
  EXPECT_EQ(fault(graph + output("v6"), {floats({8}), indices({1, 2, 7, 0}, {4})}),
            "pick: index 8 at [2], extent 8, in input 1 (ids)");
}

TEST(OnnxFaults, AreToldWithoutTheirPlaceWhereTheCallerStopsTheSearch) {
  std::string graph = input("table", kFloat, {8}) + input("raw", kInt64, {4}) + numbers("one", {1}, {1}) +
                      named("shift", "Add", {"raw", "one"}, {"ids"}) + named("pick", "Gather", {"table", "ids"}, {"z"});
  const std::string file = onnx_file::model(graph + output("z"));
  const auto program = ir::onnx::read(std::as_bytes(std::span(file)));
  ASSERT_TRUE(program) << program.error().text();
  engines::ReferencePrograms::Device device;
  const ir::ptir::Shape shapes[]{{8}, {4}};
  auto runner = ProgramRunner<engines::ReferencePrograms>::make(*program, shapes, device, {});
  ASSERT_TRUE(runner) << runner.error().text();
  const HostValue table = floats({8}), raw = indices({1, 2, 7, 0}, {4});
  std::vector<float> z(4);
  const ConstTensorView in[]{{DType::f32, table.type.shape, table.bytes}, {DType::si64, raw.type.shape, raw.bytes}};
  const TensorView out[]{{DType::f32, {4}, std::as_writable_bytes(std::span(z))}};
  struct Patience {
    mutable int asked = 0;
    int asks = 0;
  };
  const auto after = [&](int asks) {
    const Patience patience{0, asks};
    const auto over = [](const void* p) noexcept {
      const auto& left = *static_cast<const Patience*>(p);
      return ++left.asked > left.asks;
    };
    const auto done = runner->run(in, out, {&patience, over});
    return std::string(done ? "no fault" : done.error().text());
  };
  const std::string whole = "pick: index 8 at [2], extent 8, in input 1 (ids)";
  EXPECT_EQ(after(1000), whole);
  std::vector<std::string> said;
  for (int asks = 0; asks < 20; ++asks)
    if (const std::string words = after(asks); said.empty() || said.back() != words) said.push_back(words);
  EXPECT_EQ(said, (std::vector<std::string>{"the program was stopped", "pick: met data outside its contract", whole}));
}

TEST(OnnxFaults, NameNodesWithoutANameByTheirPlace) {
  EXPECT_EQ(fault(input("x", kInt64, {2, 2}) + input("y", kInt64, {2, 2}) + node("Neg", {"x"}, {"n"}) +
                      node("Div", {"n", "y"}, {"z"}) + output("z"),
                  {indices({1, 2, 3, 4}, {2, 2}), indices({1, 2, 0, 4}, {2, 2})}),
            "node 1 (Div): division by zero at [1, 0], in input 1 (y)");
}

// An index outside its axis is no place of another row.
TEST(OnnxFaults, HoldForEachAxisOfSeveral) {
  const auto nd = [](std::int64_t row, std::int64_t column) {
    return fault(input("x", kFloat, {3, 4}) + input("at", kInt64, {2, 2}) +
                     named("nd", "GatherND", {"x", "at"}, {"z"}) + output("z"),
                 {floats({3, 4}), indices({2, -4, row, column}, {2, 2})});
  };
  EXPECT_EQ(nd(0, 5), "nd: index 5 at [1], outside its axis, in input 1 (at)");
  EXPECT_EQ(nd(-4, 0), "nd: index -4 at [1], outside its axis, in input 1 (at)");
  EXPECT_EQ(nd(-3, 3), "no fault");
  const auto scatter = [](std::int64_t at) {
    return fault(input("x", kFloat, {3, 4}) + input("at", kInt64, {2, 2}) + input("u", kFloat, {2, 2}) +
                     named("put", "ScatterElements", {"x", "at", "u"}, {"z"}, {integer("axis", 1)}) + output("z"),
                 {floats({3, 4}), indices({0, 1, 2, at}, {2, 2}), floats({2, 2})});
  };
  EXPECT_EQ(scatter(4), "put: index 4 at [1, 1], outside its axis, in input 1 (at)");
  EXPECT_EQ(scatter(-5), "put: index -5 at [1, 1], outside its axis, in input 1 (at)");
  EXPECT_EQ(scatter(-4), "no fault");
  EXPECT_EQ(fault(input("x", kFloat, {3, 4}) + input("at", kInt64, {2, 1}) + input("u", kFloat, {2, 4}) +
                      named("rows", "ScatterND", {"x", "at", "u"}, {"z"}) + output("z"),
                  {floats({3, 4}), indices({2, 3}, {2, 1}), floats({2, 4})}),
            "rows: index 3 at [1], outside its axis, in input 1 (at)");
}

// So far from 0, an index would come back among the places.
TEST(OnnxFaults, HoldForIndicesBeyondAllAxes) {
  const auto elements = [](std::int64_t at) {
    return fault(input("x", kFloat, {3, 4}) + input("at", kInt64, {2, 2}) +
                     named("pick", "GatherElements", {"x", "at"}, {"z"}, {integer("axis", 1)}) + output("z"),
                 {floats({3, 4}), indices({0, 1, 2, at}, {2, 2})});
  };
  constexpr std::int64_t kTwo62 = std::int64_t{1} << 62;
  const std::string_view above =
      "pick: index 2305843009213693952 or beyond at [1, 1], outside its axis, in input 1 (at)";
  const std::string_view below =
      "pick: index -2305843009213693952 or beyond at [1, 1], outside its axis, in input 1 (at)";
  EXPECT_EQ(elements(kTwo62), above);
  EXPECT_EQ(elements(kTwo62 + 3), above);
  EXPECT_EQ(elements(std::numeric_limits<std::int64_t>::max()), above);
  EXPECT_EQ(elements(-kTwo62 - 1), below);
  EXPECT_EQ(elements(std::numeric_limits<std::int64_t>::min()), below);
  EXPECT_EQ(elements(kTwo62 / 2 - 1), "pick: index 2305843009213693951 at [1, 1], outside its axis, in input 1 (at)");
}

TEST(OnnxFaults, OfAnEmptyAxisAreIndices) {
  EXPECT_EQ(fault(input("x", kFloat, {0, 4}) + input("at", kInt64, {1}) + named("pick", "Gather", {"x", "at"}, {"z"}) +
                      output("z"),
                  {floats({0, 4}), indices({0}, {1})}),
            "pick: index 0 at [0], extent 0, in input 1 (at)");
}

// A window that does not end on its line writes nothing, on the next one least of all.
TEST(OnnxFaults, HoldForWindowsOfACache) {
  const auto write = [](std::int64_t first, std::int64_t second, std::string_view mode) {
    return fault(input("past", kFloat, {2, 4, 3}) + input("update", kFloat, {2, 2, 3}) + input("at", kInt64, {2}) +
                     named("cache", "TensorScatter", {"past", "update", "at"}, {"z"}, {text("mode", mode)}) +
                     output("z"),
                 {floats({2, 4, 3}), floats({2, 2, 3}), indices({first, second}, {2})}, 24);
  };
  EXPECT_EQ(write(2, 0, "linear"), "no fault");
  EXPECT_EQ(write(3, 0, "linear"), "cache: index 4 at [0, 0, 1], outside its axis");
  EXPECT_EQ(write(0, -1, "linear"), "cache: index -1 at [1, 0, 0], outside its axis");
  EXPECT_EQ(write(3, 2, "circular"), "no fault");
  EXPECT_EQ(write(8, 0, "circular"), "cache: index 4 at [0, 0, 0], outside its axis");
}

TEST(OnnxFaults, OfProgramsFromTextNameTheInstruction) {
  const auto program = ir::ptir::parse(R"(spec_version = ptir.v0.4
region @0 main(%0 x: f32[3], %1 i: si64[2]) {
  %2 y = take(%0, %1): f32[2]
  return %2: f32[2]
}
)");
  ASSERT_TRUE(program) << program.error().text();
  const ProgramRun run = run_program(*program, std::vector<HostValue>{floats({3}), indices({1, -1}, {2})});
  ASSERT_TRUE(run.failed);
  EXPECT_EQ(run.failed->text(), "instruction 0 (take): index -1 at [1], extent 3, in input 1 (indices)");
  EXPECT_EQ(run.failed->code(), Errc::spec_violation);
  EXPECT_EQ(run.failed->phase(), Phase::step);
}

// The node is named where the extents of a run do not fit it, too.
TEST(OnnxFaults, OfShapesNameTheNode) {
  const auto open = [](std::string_view name, std::string_view symbol) {
    const std::string shape = field(1, field(2, symbol));
    return field(11, field(1, name) + field(2, field(1, field(1, kFloat) + field(2, shape))));
  };
  EXPECT_EQ(fault(open("x", "N") + open("y", "M") + named("/sum", "Add", {"x", "y"}, {"z"}) + output("z"),
                  {floats({3}), floats({4})}),
            "refused: /sum: elementwise_binary: operand rhs is f32[4], expected f32[3]");
}

}  // namespace
}  // namespace onnx_faults_test
