// SPDX-License-Identifier: Apache-2.0
// tests/unit/ptir_lower.cpp: programs as graphs: extents, literals, regions, what is refused, and what they compute.
#include <zrt/ir/ptir/builder.hpp>
#include <zrt/ir/ptir/lower.hpp>
#include <zrt/ir/ptir/text.hpp>
#include <zrt/ir/verify.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <support/random_program.hpp>
#include <support/run_plan.hpp>
#include <support/run_program.hpp>

namespace ptir_lower_test {
namespace {

using namespace zrt;
using namespace zrt::test;
namespace ptir = zrt::ir::ptir;

ptir::Program parsed(const std::string& regions) {
  auto program = ptir::parse("spec_version = ptir.v0.4\n" + regions);
  EXPECT_TRUE(program) << program.error().text();
  return program ? std::move(*program) : ptir::Program();
}

template <class T> HostValue value_of(DType dtype, const Shape& shape, std::vector<T> elements) {
  const auto bytes = std::as_bytes(std::span(elements));
  return {{dtype, shape}, {bytes.begin(), bytes.end()}};
}
HostValue floats(const Shape& shape, std::vector<float> elements) {
  return value_of(DType::f32, shape, std::move(elements));
}
HostValue ints(const Shape& shape, std::vector<std::int32_t> elements) {
  return value_of(DType::si32, shape, std::move(elements));
}
HostValue truth(bool value) { return value_of<std::uint8_t>(DType::i1, {}, {static_cast<std::uint8_t>(value)}); }

template <class T> std::vector<T> elements_of(const HostValue& value) {
  std::vector<T> elements(value.bytes.size() / sizeof(T));
  std::memcpy(elements.data(), value.bytes.data(), value.bytes.size());
  return elements;
}

/// The outputs of a program that is expected to run.
std::vector<HostValue> outputs(const ptir::Program& program, const std::vector<HostValue>& inputs) {
  ProgramRun run = run_program(program, inputs, 2);
  EXPECT_FALSE(run.refused) << run.refused->text();
  EXPECT_FALSE(run.failed) << run.failed->text();
  if (run.refused) run.outputs.resize(8);  // so that a test fails where it looks
  return std::move(run.outputs);
}

Error refused(const ptir::Program& program, std::vector<ptir::Shape> shapes) {
  const auto graph = ptir::lower(program, shapes, *catalog_ops().table);
  EXPECT_FALSE(graph);
  return graph ? Error() : graph.error();
}

void expect_text(const Error& error, Errc code, std::vector<std::string_view> pieces) {
  EXPECT_EQ(error.code(), code) << error.text();
  for (const std::string_view piece : pieces)
    EXPECT_NE(error.text().find(piece), std::string_view::npos) << error.text() << "\nlacks " << piece;
}

TEST(PtirLower, EveryOperationHasALowering) {
  for (std::size_t i = 0; i < ptir::kOps.size(); ++i) {
    const OpRow* row = (*catalog_ops().table)[number(ptir::kOps[i].opcode)];
    ASSERT_NE(row, nullptr) << ptir::kOps[i].name;
    EXPECT_EQ(row->name, ptir::kOps[i].name);
    EXPECT_NE(ptir::detail::kLowerings[i], nullptr) << ptir::kOps[i].name;
  }
}

TEST(PtirLower, ExtentsComeFromTheShapesOfTheInputs) {
  const auto program = parsed(R"(region @0 main(%0 x: f32[?N, ?], %1 y: f32[?N]) {
  %2 = broadcast_to(f32[] {2.0}) {result_shape = [?N]}: f32[?N]
  %3 = elementwise_binary(%1, %2) {op = mul}: f32[?N]
  %4 = reshape(%3) {new_shape = [?N, 1]}: f32[?N, 1]
  %5 = concat(%0, %4) {axis = -1}: f32[?N, ?M]
  %6 = iota() {shape = [?M], dtype = si32, axis = 0}: si32[?M]
  %7 = reshape(%0) {new_shape = [-1]}: f32[?]
  return %5: f32[?N, ?M], %6: si32[?M], %7: f32[?]
})");
  const auto out = outputs(program, {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({2}, {7, 8})});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].type, (TensorType{DType::f32, {2, 4}}));
  EXPECT_EQ(elements_of<float>(out[0]), (std::vector<float>{1, 2, 3, 14, 4, 5, 6, 16}));
  EXPECT_EQ(elements_of<std::int32_t>(out[1]), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(out[2].type.shape, Shape{6});

  expect_text(refused(program, {{2, 3}, {4}}), Errc::shape_mismatch,
              {"?N is 2", "axis 0 of %0 x", "axis 0 of %1 y is 4"});
  expect_text(refused(program, {{2, 3}, {-4}}), Errc::invalid_argument, {"input 1", "%1 y", "-4", "axis 0"});
  expect_text(refused(program, {{2, 3}}), Errc::invalid_argument, {"2 inputs", "1 shapes"});
  expect_text(refused(program, {{2, 3}, {2, 1}}), Errc::shape_mismatch, {"input 1", "1 axes", "2 was given"});
  expect_text(refused(program, {{2, std::int64_t{1} << 32}, {2}}), Errc::size_overflow, {"input 0", "4294967296"});
}

TEST(PtirLower, AnExtentThatNothingDeterminesIsRefused) {
  const auto loose = parsed(R"(region @0 main(%0: f32[1]) {
  %1 = broadcast_to(%0) {result_shape = [?K]}: f32[?K]
  return %1: f32[?K]
})");
  expect_text(refused(loose, {{1}}), Errc::invalid_argument, {"result_shape", "?K"});
  const auto own = parsed(R"(region @0 main(%0: f32[?]) {
  %1 = broadcast_to(%0) {result_shape = [2, ?]}: f32[2, ?]
  return %1: f32[2, ?]
})");
  EXPECT_EQ(outputs(own, {floats({3}, {1, 2, 3})})[0].type.shape, (Shape{2, 3}));
  const auto constant = parsed(R"(region @0 main(%0 x: f32[4]) {
  return %0: f32[4]
})");
  expect_text(refused(constant, {{3}}), Errc::shape_mismatch, {"axis 0 of %0 x is 3, expected 4"});
  const auto declared = parsed(R"(region @0 main(%0: f32[?]) {
  %1 = concat(%0, %0) {axis = 0}: f32[8]
  return %1: f32[8]
})");
  expect_text(refused(declared, {{3}}), Errc::shape_mismatch, {"axis 0 of %1 is 6, expected 8"});
  EXPECT_EQ(outputs(declared, {floats({4}, {1, 2, 3, 4})})[0].type.shape, Shape{8});
}

TEST(PtirLower, AnInferredExtentNeedsAMultipleOfTheOthers) {
  const auto program = parsed(R"(region @0 main(%0 x: f32[?N, 3]) {
  %1 = reshape(%0) {new_shape = [2, -1]}: f32[2, ?]
  return %1: f32[2, ?]
})");
  EXPECT_EQ(outputs(program, {floats({2, 3}, {1, 2, 3, 4, 5, 6})})[0].type.shape, (Shape{2, 3}));
  expect_text(refused(program, {{3, 3}}), Errc::shape_mismatch,
              {"reshape: operand x has 9 elements, expected a multiple of 2"});
}

TEST(PtirLower, TheShapesDecideWhatTheVerifierLeftOpen) {
  const auto program = parsed(R"(region @0 main(%0: f32[?, ?], %1: f32[?, ?]) {
  %2 = dot_general(%0, %1) {batch_lhs = [], batch_rhs = [], contract_lhs = [-1], contract_rhs = [0]}: f32[?, ?]
  return %2: f32[?, ?]
})");
  expect_text(refused(program, {{2, 3}, {4, 5}}), Errc::shape_mismatch,
              {"region @0, %2", "dot_general", "rhs", "as lhs on axis 1"});
  EXPECT_EQ(outputs(program, {floats({1, 2}, {1, 2}), floats({2, 1}, {3, 4})})[0].type.shape, (Shape{1, 1}));
}

TEST(PtirLower, LiteralsAreConstantsOfTheirType) {
  const auto program = parsed(R"(region @0 main(%0: si4[3]) {
  %1 = elementwise_binary(%0, si4[3] {1, -2, 3}) {op = add}: si4[3]
  %2 = constant() {value = f64[2] {1.5, -0.0}}: f64[2]
  %3 = elementwise_unary(f16[0] {}) {op = neg}: f16[0]
  %4 = cast(bf16[1, 1, 1, 1, 1, 1, 1, 2] {1.0, 2.0}) {dtype = f32}: f32[1, 1, 1, 1, 1, 1, 1, 2]
  return %1: si4[3], %2: f64[2], %3: f16[0], %4: f32[1, 1, 1, 1, 1, 1, 1, 2], ui8[] {7}: ui8[], ui8[] {7}: ui8[], %0: si4[3]
})");
  const auto out = outputs(program, {value_of<std::uint8_t>(DType::si4, {3}, {0x21, 0x03})});
  ASSERT_EQ(out.size(), 7u);
  // 1 + 1, 2 - 2, 3 + 3; the half without an element is zero.
  EXPECT_EQ(elements_of<std::uint8_t>(out[0]), (std::vector<std::uint8_t>{0x02, 0x06}));
  EXPECT_EQ(elements_of<double>(out[1]), (std::vector<double>{1.5, -0.0}));
  EXPECT_TRUE(out[2].bytes.empty());
  EXPECT_EQ(elements_of<float>(out[3]), (std::vector<float>{1, 2}));
  EXPECT_EQ(elements_of<std::uint8_t>(out[4]), (std::vector<std::uint8_t>{7}));
  EXPECT_EQ(elements_of<std::uint8_t>(out[5]), (std::vector<std::uint8_t>{7}));
  EXPECT_EQ(elements_of<std::uint8_t>(out[6]), (std::vector<std::uint8_t>{0x21, 0x03}));
}

TEST(PtirLower, OneLiteralIsOneConstantOfAGraph) {
  ptir::Builder b;
  const auto x = b.parameter({DType::f32, {}});
  const auto two = b.scalar(DType::f32, 2.0);
  b.result(b.add(b.mul(x, two), two));
  const auto program = b.finish();
  ASSERT_TRUE(program);
  const std::array shapes{ptir::Shape{}};
  const auto graph = ptir::lower(*program, shapes, *catalog_ops().table);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->nodes.size(), 3u);
  EXPECT_EQ(graph->weights.size(), 1u);
}

TEST(PtirLower, ConcatTakesMoreTensorsThanANodeHolds) {
  std::string operands;
  for (int i = 0; i < 200; ++i)
    operands += (i == 0 ? "" : ", ") + (i == 99 ? "%0" : "f32[1] {" + std::to_string(i) + ".0}");
  const auto program = parsed("region @0 main(%0: f32[1]) {\n  %1 = concat(" + operands +
                              ") {axis = 0}: f32[200]\n  return %1: f32[200]\n}");
  const auto out = outputs(program, {floats({1}, {-1})});
  std::vector<float> expected;
  for (int i = 0; i < 200; ++i) expected.push_back(i == 99 ? -1.0f : static_cast<float>(i));
  EXPECT_EQ(elements_of<float>(out[0]), expected);
}

TEST(PtirLower, TupleElementsAreTheOpsResults) {
  const auto program = parsed(R"(region @0 main(%0: f32[4]) {
  %1 pair = top_k(%0) {k = 2, axis = -1, largest = true, indices_dtype = si64}: tuple<f32[2], si64[2]>
  %2 = cast(%1[1]) {dtype = f32}: f32[2]
  %3 sum = elementwise_binary(%1[0], %2) {op = add}: f32[2]
  return %3: f32[2], %1[1]: si64[2]
})");
  const auto out = outputs(program, {floats({4}, {1, 9, 3, 7})});
  EXPECT_EQ(elements_of<float>(out[0]), (std::vector<float>{10, 10}));
  EXPECT_EQ(elements_of<std::int64_t>(out[1]), (std::vector<std::int64_t>{1, 3}));
  const std::array shapes{ptir::Shape{4}};
  const auto graph = ptir::lower(program, shapes, *catalog_ops().table);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->inputs[0].name.view(), "%0");
  EXPECT_EQ(graph->outputs[0].name.view(), "sum");
  EXPECT_EQ(graph->outputs[1].name.view(), "result.1");
}

/// Halves x until it is below 1, twice nested: the loop's body chooses by cond what to divide by.
constexpr const char* kNested = R"(region @0 main(%0 x: f32[], %1 fast: i1[]) {
  %2 = while_loop(si32[] {0}, %0, %1) {cond_region = @1, body_region = @2}: tuple<si32[], f32[], i1[]>
  return %2[0]: si32[], %2[1]: f32[]
}
region @1 proceed(%0: si32[], %1: f32[], %2: i1[]) {
  %3 = compare(%1, f32[] {1.0}) {op = ge}: i1[]
  return %3: i1[], %0: si32[], %1: f32[], %2: i1[]
}
region @2 body(%0: si32[], %1: f32[], %2: i1[]) {
  %3 = elementwise_binary(%0, si32[] {1}) {op = add}: si32[]
  %4 = cond(%2, %1) {true_region = @3, false_region = @4}: f32[]
  return %3: si32[], %4: f32[], %2: i1[]
}
region @3 quarter(%0: f32[]) {
  %1 = elementwise_binary(%0, f32[] {0.25}) {op = mul}: f32[]
  return %1: f32[]
}
region @4 half(%0: f32[]) {
  %1 = elementwise_binary(%0, f32[] {0.5}) {op = mul}: f32[]
  return %1: f32[]
})";

TEST(PtirLower, RegionsNest) {
  const auto program = parsed(kNested);
  const auto slow = outputs(program, {floats({}, {16}), truth(false)});
  EXPECT_EQ(elements_of<std::int32_t>(slow[0])[0], 5);
  EXPECT_EQ(elements_of<float>(slow[1])[0], 0.5f);
  const auto fast = outputs(program, {floats({}, {16}), truth(true)});
  EXPECT_EQ(elements_of<std::int32_t>(fast[0])[0], 3);
  EXPECT_EQ(elements_of<float>(fast[1])[0], 0.25f);
  const auto never = outputs(program, {floats({}, {0.75f}), truth(true)});
  EXPECT_EQ(elements_of<std::int32_t>(never[0])[0], 0);
}

TEST(PtirLower, ALoopPastItsTripLimitFails) {
  const auto program = parsed(kNested);
  const std::vector<HostValue> inputs{floats({}, {16}), truth(false)};
  const ProgramRun enough = run_program(program, inputs, 1, 5);
  EXPECT_FALSE(enough.failed);
  const ProgramRun run = run_program(program, inputs, 1, 4);
  ASSERT_TRUE(run.failed);
  EXPECT_EQ(run.failed->code(), Errc::limit_exceeded);
}

/// h' = tanh(x W + h U), stacked: a recurrent cell.
TEST(PtirLower, AScanRunsACell) {
  const auto program = parsed(R"(region @0 main(%0 xs: f32[?T, ?B, 2], %1 h: f32[?B, 3]) {
  %2 = scan(%1, %0) {body_region = @1, carry_count = 1, scan_output_count = 1}: tuple<f32[?B, 3], f32[?T, ?B, 3]>
  return %2[0]: f32[?B, 3], %2[1]: f32[?T, ?B, 3]
}
region @1 cell(%0 h: f32[?B, 3], %1 x: f32[?B, 2]) {
  %2 = constant() {value = f32[2, 3] {1.0, 0.5, -1.0, 0.25, -0.5, 2.0}}: f32[2, 3]
  %3 = dot_general(%1, %2) {batch_lhs = [], batch_rhs = [], contract_lhs = [1], contract_rhs = [0]}: f32[?B, 3]
  %4 = dot_general(%0, f32[3, 3] {0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0}) {batch_lhs = [], batch_rhs = [], contract_lhs = [1], contract_rhs = [0]}: f32[?B, 3]
  %5 = elementwise_binary(%3, %4) {op = add}: f32[?B, 3]
  %6 = elementwise_unary(%5) {op = tanh}: f32[?B, 3]
  return %6: f32[?B, 3], %6: f32[?B, 3]
})");
  const std::vector<float> x{1, 0, 0.5f, -1, 0.25f, 0.75f};
  const auto out = outputs(program, {floats({3, 1, 2}, x), floats({1, 3}, {0.1f, 0.2f, 0.3f})});
  const float w[2][3]{{1, 0.5f, -1}, {0.25f, -0.5f, 2}};
  float h[3]{0.1f, 0.2f, 0.3f};
  const auto states = elements_of<float>(out[1]);
  for (std::size_t t = 0; t < 3; ++t) {
    const float turned[3]{h[2], h[0], h[1]};
    for (std::size_t i = 0; i < 3; ++i) {
      h[i] = std::tanh(x[2 * t] * w[0][i] + x[2 * t + 1] * w[1][i] + turned[i]);
      EXPECT_NEAR(states[3 * t + i], h[i], 1e-6f) << t << ' ' << i;
    }
  }
  EXPECT_EQ(elements_of<float>(out[0]), std::vector<float>(states.end() - 3, states.end()));
  const auto empty = outputs(program, {floats({0, 1, 2}, {}), floats({1, 3}, {1, 2, 3})});
  EXPECT_EQ(elements_of<float>(empty[0]), (std::vector<float>{1, 2, 3}));
  EXPECT_TRUE(empty[1].bytes.empty());
}

TEST(PtirLower, ARegionSeesTheExtentsAroundItAndForgetsItsOwn) {
  const auto program = parsed(R"(region @0 main(%0 p: i1[], %1 a: f32[?], %2 b: f32[?]) {
  %3 = cond(%0, %1) {true_region = @1, false_region = @1}: f32[]
  %4 = cond(%0, %2) {true_region = @1, false_region = @1}: f32[]
  return %3: f32[], %4: f32[]
}
region @1 twice(%0: f32[?K]) {
  %1 = broadcast_to(f32[] {2.0}) {result_shape = [?K]}: f32[?K]
  %2 = elementwise_binary(%0, %1) {op = mul}: f32[?K]
  %3 = reduce(%2) {kind = sum, axes = [0], keepdims = false}: f32[]
  return %3: f32[]
})");
  const auto out = outputs(program, {truth(true), floats({2}, {1, 2}), floats({3}, {3, 4, 5})});
  EXPECT_EQ(elements_of<float>(out[0]), (std::vector<float>{6}));
  EXPECT_EQ(elements_of<float>(out[1]), (std::vector<float>{24}));
  // What leaves a region has the extents of what entered it, not its names.
  const auto sized = parsed(R"(region @0 main(%0 p: i1[], %1 a: f32[?N], %2 b: f32[3], %3 c: f32[?T, ?N]) {
  %4 = cond(%0, %1) {true_region = @1, false_region = @1}: f32[?N]
  %5 = cond(%0, %2) {true_region = @1, false_region = @1}: f32[3]
  %6 = while_loop(%2) {cond_region = @2, body_region = @1}: f32[3]
  %7 = scan(%1, %3) {body_region = @3, carry_count = 1, scan_output_count = 1}: tuple<f32[?N], f32[?T, ?N]>
  return %4: f32[?N], %5: f32[3], %6: f32[3], %7[0]: f32[?N], %7[1]: f32[?T, ?N]
}
region @1 twice(%0: f32[?K]) {
  %1 = elementwise_binary(%0, %0) {op = add}: f32[?K]
  return %1: f32[?K]
}
region @2 small(%0: f32[?K]) {
  %1 = reduce(%0) {kind = sum, axes = [0], keepdims = false}: f32[]
  %2 = compare(%1, f32[] {100}) {op = lt}: i1[]
  return %2: i1[], %0: f32[?K]
}
region @3 add(%0: f32[?K], %1: f32[?K]) {
  %2 = elementwise_binary(%0, %1) {op = add}: f32[?K]
  return %2: f32[?K], %0: f32[?K]
})");
  const auto all =
      outputs(sized, {truth(true), floats({2}, {1, 2}), floats({3}, {3, 4, 5}), floats({2, 2}, {10, 20, 30, 40})});
  EXPECT_EQ(elements_of<float>(all[0]), (std::vector<float>{2, 4}));
  EXPECT_EQ(elements_of<float>(all[1]), (std::vector<float>{6, 8, 10}));
  EXPECT_EQ(elements_of<float>(all[2]), (std::vector<float>{48, 64, 80}));
  EXPECT_EQ(elements_of<float>(all[3]), (std::vector<float>{41, 62}));
  EXPECT_EQ(elements_of<float>(all[4]), (std::vector<float>{1, 2, 11, 22}));
  const auto bound = parsed(R"(region @0 main(%0 p: i1[], %1 a: f32[?K], %2 b: f32[?]) {
  %3 = cond(%0, %2) {true_region = @1, false_region = @1}: f32[?K]
  return %3: f32[?K]
}
region @1 same(%0 x: f32[?K]) {
  return %0: f32[?K]
})");
  expect_text(refused(bound, {{}, {2}, {3}}), Errc::shape_mismatch,
              {"region @1", "?K is 2 (axis 0 of %1 a)", "axis 0 of %0 x in region @1 is 3"});
}

TEST(PtirLower, AProgramThatGrowsWithoutBoundIsRefused) {
  // Each region calls the next twice: 2^40 instructions in all.
  std::string text =
      "region @0 main(%0: i1[]) {\n  %1 = cond(%0) {true_region = @1, false_region = @1}: tuple<>\n  return\n}\n";
  for (int i = 1; i < 40; ++i)
    text += "region @" + std::to_string(i) + "() {\n  %1 = cond(i1[] {1}) {true_region = @" + std::to_string(i + 1) +
            ", false_region = @" + std::to_string(i + 1) + "}: tuple<>\n  return\n}\n";
  text += "region @40() {\n  return\n}\n";
  expect_text(refused(parsed(text), {{}}), Errc::limit_exceeded, {"65536 instructions"});
}

TEST(PtirLower, ComplexArithmeticVerifiesAndIsNotComputed) {
  for (const char* instruction :
       {"elementwise_unary(%0) {op = exp}: cf32[2]", "elementwise_binary(%0, %0) {op = mul}: cf32[2]",
        "compare(%0, %0) {op = eq}: i1[2]", "cast(%0) {dtype = cf64}: cf64[2]",
        "reduce(%0) {kind = sum, axes = [0], keepdims = false}: cf32[]",
        "dot_general(%0, %0) {batch_lhs = [], batch_rhs = [], contract_lhs = [0], contract_rhs = [0]}: cf32[]",
        "iota() {shape = [2], dtype = cf32, axis = 0}: cf32[2]"}) {
    const std::string type(std::string_view(instruction).substr(std::string_view(instruction).rfind(": ") + 2));
    const auto program =
        parsed("region @0 main(%0: cf32[2]) {\n  %1 = " + std::string(instruction) + "\n  return %1: " + type + "\n}");
    ASSERT_TRUE(ptir::verify(program)) << instruction;
    expect_text(refused(program, {{2}}), Errc::unimplemented, {"region @0, %1"});
  }
  // What only moves them is computed.
  const auto moved =
      parsed("region @0 main(%0: cf32[2]) {\n  %1 = tile(%0) {repeats = [2]}: cf32[4]\n  return %1: cf32[4]\n}");
  EXPECT_EQ(elements_of<float>(outputs(moved, {value_of<float>(DType::cf32, {2}, {1, 2, 3, 4})})[0]),
            (std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4}));
}

TEST(PtirLower, TheDefaultAccumulatorOfSmallFloatsIsF32) {
  for (const DType dtype : {DType::fp8_e4m3, DType::fp8_e5m2, DType::f16, DType::bf16}) {
    const std::string type(name(dtype));
    const auto program = parsed("region @0 main(%0: " + type + "[300]) {\n  %1 = reduce(%0) {kind = sum, axes = [0], " +
                                "keepdims = false, out_dtype = f32}: f32[]\n  return %1: f32[]\n}");
    HostValue ones{{dtype, {300}}, std::vector<std::byte>(bytes_of(dtype, 300))};
    const std::uint16_t one = dtype == DType::fp8_e4m3   ? 0x38
                              : dtype == DType::fp8_e5m2 ? 0x3c
                              : dtype == DType::f16      ? 0x3c00
                                                         : 0x3f80;
    for (std::size_t i = 0; i < 300; ++i)
      std::memcpy(ones.bytes.data() + bytes_of(dtype, i), &one, info(dtype).block_bytes);
    EXPECT_EQ(elements_of<float>(outputs(program, {ones})[0])[0], 300.0f) << type;
  }
}

TEST(PtirLower, DataThatBreaksAnOpsContractFailsTheRun) {
  const auto failed = [](const std::string& instruction, const std::string& parameters, std::vector<HostValue> in) {
    const std::string type = instruction.substr(instruction.rfind(": ") + 2);
    const std::size_t id = in.size();
    const auto program = parsed("region @0 main(" + parameters + ") {\n  %" + std::to_string(id) + " = " + instruction +
                                "\n  return %" + std::to_string(id) + ": " + type + "\n}");
    const ProgramRun run = run_program(program, in);
    EXPECT_FALSE(run.refused) << run.refused->text();
    EXPECT_TRUE(run.failed) << instruction;
    if (!run.failed) return;
    EXPECT_EQ(run.failed->code(), Errc::spec_violation);
    EXPECT_EQ(run.failed->phase(), Phase::step);
    EXPECT_EQ(run.failed->instruction(), 0u);
    for (const HostValue& value : run.outputs)
      for (const std::byte byte : value.bytes) EXPECT_EQ(byte, std::byte{0xa5}) << "outputs are left alone";
  };
  failed("take(%0, %1): f32[2]", "%0: f32[3], %1: si32[2]", {floats({3}, {1, 2, 3}), ints({2}, {0, 3})});
  failed("gather(%0, %1) {axis = 0}: f32[1]", "%0: f32[3], %1: si32[1]", {floats({3}, {1, 2, 3}), ints({1}, {-1})});
  failed("elementwise_binary(%0, %1) {op = div}: si32[1]", "%0: si32[1], %1: si32[1]",
         {ints({1}, {1}), ints({1}, {0})});
  failed("segment_reduce(%0, %1) {kind = sum, num_segments = 2, indices_are_sorted = false, unique = false}: f32[2]",
         "%0: f32[1], %1: si32[1]", {floats({1}, {1}), ints({1}, {2})});
  // Inside a region the violation counts for the instruction that runs it.
  const auto program = parsed(R"(region @0 main(%0: si32[]) {
  %1 = cond(i1[] {1}, %0) {true_region = @1, false_region = @1}: si32[]
  return %1: si32[]
}
region @1 divide(%0: si32[]) {
  %1 = elementwise_binary(si32[] {1}, %0) {op = div}: si32[]
  return %1: si32[]
})");
  const ProgramRun run = run_program(program, std::vector{ints({}, {0})});
  ASSERT_TRUE(run.failed);
  EXPECT_EQ(run.failed->code(), Errc::spec_violation);
  EXPECT_EQ(run.failed->opcode(), 90u);
}

/// A window that is too large shows when the shapes are known, a start that is too far is clamped.
TEST(PtirLower, DynamicSlicesFitOrAreRefused) {
  const auto program = parsed(R"(region @0 main(%0 x: f32[?N], %1 start: si32[1]) {
  %2 = dynamic_slice(%0, %1) {sizes = [3]}: f32[3]
  return %2: f32[3]
})");
  EXPECT_EQ(elements_of<float>(outputs(program, {floats({4}, {1, 2, 3, 4}), ints({1}, {9})})[0]),
            (std::vector<float>{2, 3, 4}));
  expect_text(refused(program, {{2}, {1}}), Errc::shape_mismatch, {"dynamic_slice", "expected at least 3 on axis 0"});
}

TEST(PtirLower, ALoweredProgramIsAWellFormedGraph) {
  std::size_t lowered = 0;
  std::map<Errc, int> codes;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const auto program = random_program(seed, 1 + seed % 12);
    ASSERT_TRUE(program) << program.error().text();
    std::mt19937 random(seed);
    std::vector<ptir::Shape> shapes;
    // Symbols agree by construction: each has one extent.
    for (const ptir::Parameter& p : program->regions[0].parameters) {
      ptir::Shape shape;
      for (const ptir::Dim dim : p.type.shape.view())
        shape.append(dim.is_constant() ? dim
                     : dim.is_symbol() ? ptir::Dim(static_cast<std::int64_t>(1 + (dim.symbol() + seed) % 4))
                                       : ptir::Dim(static_cast<std::int64_t>(random() % 5)));
      shapes.push_back(shape);
    }
    const auto graph = ptir::lower(*program, shapes, *catalog_ops().table);
    if (!graph) {
      ++codes[graph.error().code()];
      const Errc code = graph.error().code();
      // Extents that "?" stood for may not fit together, some nothing determines; complex numbers do not compute.
      EXPECT_TRUE(code == Errc::shape_mismatch || code == Errc::invalid_argument || code == Errc::unimplemented ||
                  code == Errc::invalid_params)
          << graph.error().text();
      continue;
    }
    const auto verified = ir::verify(*graph, *catalog_ops().table);
    EXPECT_TRUE(verified) << verified.error().text();
    std::vector<HostValue> inputs;
    for (const ir::Port& port : graph->inputs) {
      const TensorType& type = graph->values[port.value.index].type;
      HostValue value{type, std::vector<std::byte>(bytes_of(type.dtype, type.shape.elements({}).raw()))};
      for (std::byte& byte : value.bytes)
        byte = static_cast<std::byte>(type.dtype == DType::i1 ? random() % 2 : random() % 256);
      inputs.push_back(std::move(value));
    }
    const ProgramRun run = run_program(*program, inputs);
    if (run.refused) {
      // Whether a custom call has a target shows when the plan is bound.
      EXPECT_EQ(run.refused->code(), Errc::unimplemented) << run.refused->text();
      EXPECT_EQ(run.refused->opcode(), 95u);
      ++codes[run.refused->code()];
      continue;
    }
    if (run.failed) {
      EXPECT_EQ(run.failed->code(), Errc::spec_violation) << run.failed->text();
    }
    ++lowered;
  }
  for (const auto& [code, count] : codes) std::printf("%s: %d\n", std::string(name(code)).c_str(), count);
  std::printf("%zu of 400 random programs run\n", lowered);
  EXPECT_GT(lowered, 40u);
}

/// Memory that gives out after `left` more allocations.
struct Scarce {
  std::size_t left = ~std::size_t{0};
  std::size_t given = 0;
  std::size_t back = 0;

  [[nodiscard]] Allocator hook() noexcept {
    return {this,
            [](void* context, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              auto& self = *static_cast<Scarce*>(context);
              if (self.left == 0) return nullptr;
              --self.left;
              ++self.given;
              return system_allocator().allocate(nullptr, bytes, alignment);
            },
            [](void* context, void* memory, std::size_t bytes, std::size_t alignment) noexcept {
              ++static_cast<Scarce*>(context)->back;
              system_allocator().release(nullptr, memory, bytes, alignment);
            }};
  }
};

TEST(PtirLower, RunsOutOfMemoryInOrder) {
  Scarce memory;
  {
    const std::string text = std::string("spec_version = ptir.v0.4\n") + kNested;
    const auto program = ptir::parse(text, memory.hook());
    ASSERT_TRUE(program);
    const std::vector<ptir::Shape> shapes{{}, {}};
    std::size_t allocations = 0;
    for (;; ++allocations) {
      ASSERT_LT(allocations, 10'000u);
      memory.left = allocations;
      const auto graph = ptir::lower(*program, shapes, *catalog_ops().table);
      if (graph) break;
      ASSERT_EQ(graph.error().code(), Errc::out_of_memory) << graph.error().text();
    }
    EXPECT_GT(allocations, 50u);
    memory.left = ~std::size_t{0};
  }
  EXPECT_EQ(memory.given, memory.back);
}

}  // namespace
}  // namespace ptir_lower_test
