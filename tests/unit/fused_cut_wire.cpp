// SPDX-License-Identifier: Apache-2.0
// tests/unit/fused_cut_wire.cpp: what is told where a fused program breaks, word for word.
#include <zrt/ir/fused/instantiate.hpp>
#include <zrt/ir/fused/json.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fused_cut_wire_test {
namespace {

using namespace zrt;
namespace fused = zrt::ir::fused;
namespace ptir = zrt::ir::ptir;

// A dropout, a batch norm of its result, a sum with a constant that becomes a state, a product that leaves.
constexpr std::string_view kSample = R"({"version":1,"feeds":[0,1,2,3,4],"steps":[
{"step_id":0,"op_name":"dropout","input_ids":[0],"attrs":{"p":0.5,"seed":7},"result_id":5,"mode_sensitive":true},
{"step_id":3,"op_name":"constant","input_ids":[],"attrs":{"value":{"dtype":"f32","shape":[3],"data":"0000803f0000004000004040"}},"result_id":16,"mode_sensitive":false},
{"step_id":4,"op_name":"batch_norm","input_ids":[5,1,2,3,4],"attrs":{"axis":-1,"eps":1e-05,"momentum":0.1},"result_ids":[7,8,9],"mode_sensitive":true},
{"step_id":6,"op_name":"elementwise_binary","input_ids":[1,16],"attrs":{"op":"add"},"result_id":10,"mode_sensitive":false},
{"step_id":9,"op_name":"elementwise_binary","input_ids":[10,4],"attrs":{"op":"mul"},"result_id":11,"mode_sensitive":false}],
"outputs":{"pred":7,"sum":10},"state_in":[1,3,4],"state_out":[{"state":3,"value":8},{"state":1,"value":10}],
"meta":[{"id":0,"dtype":"f32","shape":["?N",3],"device":"cpu"},{"id":7,"dtype":"f32","shape":["?N",3],"device":"gpu:0"}]})";

std::string edited(std::string_view from, std::string_view to) {
  std::string text(kSample);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

const ptir::TensorType kVector{DType::f32, {3}};
std::vector<fused::FeedType> sample_types() {
  return {{0, {DType::f32, {4, 3}}}, {1, kVector}, {2, kVector}, {3, kVector}, {4, kVector}};
}

std::string told(const fused::FusedProgram& program, const fused::CutWire& cut, const Error& error) {
  String report;
  EXPECT_TRUE(fused::append_report(report, program, cut, error));
  return std::string(report.view());
}
/// The report about a text that `instantiate` refuses for feeds of these types.
std::string report(const std::string& text, const std::vector<fused::FeedType>& types = sample_types(),
                   bool training = true) {
  fused::BrokenProgram broken;
  const auto program = fused::parse_json(text, system_allocator(), &broken);
  if (!program) return told(broken.program, broken.cut, broken.cause);
  fused::CutWire cut;
  const auto made = fused::instantiate(*program, types, training, &cut);
  EXPECT_FALSE(made) << text;
  return made ? std::string() : told(*program, cut, made.error());
}
std::vector<fused::FeedType> without(std::vector<fused::FeedType> types, std::initializer_list<fused::ValueId> ids) {
  for (const fused::ValueId id : ids) std::erase_if(types, [id](const auto& type) { return type.id == id; });
  return types;
}

// Every feed that is not bound is told, and none that is not bound is told as bound.
TEST(FusedCutWire, TellsEveryFeedThatIsNotBound) {
  EXPECT_EQ(report(std::string(kSample), without(sample_types(), {1, 3})), R"(step 4 (batch_norm): feed 1 is not bound
  feed 1: not bound
  feed 3: not bound
  input 5: produced, f32[4, 3], from step 0 (dropout)
  input 1: missing, a feed that is not bound, of no known type
  input 2: bound, f32[3]
  input 3: missing, a feed that is not bound, of no known type
  input 4: bound, f32[3]
  result 7, of no known type, declared as f32[?N, 3] on gpu:0, to output pred
  result 8, of no known type, to state 3
  result 9, of no known type
  attribute feature_axis is also read as axis
  attribute epsilon is also read as eps
)");
  EXPECT_EQ(report(std::string(kSample), without(sample_types(), {0, 4})), R"(step 0 (dropout): feed 0 is not bound
  feed 0: not bound
  feed 4: not bound
  input 0: missing, a feed that is not bound, of no known type, declared as f32[?N, 3] on cpu
  result 5, f32[?N, 3], to step 4 (batch_norm)
  attribute rate is also read as p
)");
}

// What meta declares of a feed that is not bound tells what the steps after it give; a named extent is the one that
// another feed was bound with.
TEST(FusedCutWire, WhatStepsGiveFollowsFromTheDeclarationOfAFeedThatIsNotBound) {
  constexpr std::string_view kDeclared = R"({"version":1,"feeds":[0,1,2],"steps":[
{"step_id":0,"op_name":"elementwise_binary","input_ids":[0,1],"attrs":{"op":"add"},"result_id":3,"mode_sensitive":false},
{"step_id":1,"op_name":"cast","input_ids":[3],"attrs":{"dtype":"f64"},"result_id":4,"mode_sensitive":false},
{"step_id":2,"op_name":"stop_gradient","input_ids":[2],"attrs":{},"result_id":5,"mode_sensitive":false},
{"step_id":3,"op_name":"elementwise_binary","input_ids":[4,5],"attrs":{"op":"mul"},"result_id":6,"mode_sensitive":false}],
"outputs":{"y":6},"meta":[{"id":0,"dtype":"f32","shape":["?N",3]},{"id":1,"dtype":"f32","shape":["?N",3]}]})";
  const std::vector<fused::FeedType> types{{0, {DType::f32, {4, 3}}}, {2, {DType::f64, {4, 3}}}};
  EXPECT_EQ(report(std::string(kDeclared), without(types, {0})), R"(step 0 (elementwise_binary): feed 0 is not bound
  feed 0: not bound
  feed 1: not bound
  input 0: missing, a feed that is not bound, of no known type, declared as f32[?N, 3]
  input 1: missing, a feed that is not bound, of no known type, declared as f32[?N, 3]
  result 3, f32[?N, 3], to step 1 (cast)
)");
  EXPECT_EQ(report(std::string(kDeclared), types), R"(step 0 (elementwise_binary): feed 1 is not bound
  feed 1: not bound
  input 0: bound, f32[4, 3], declared as f32[?N, 3]
  input 1: missing, a feed that is not bound, of no known type, declared as f32[?N, 3]
  result 3, f32[4, 3], to step 1 (cast)
)");
  EXPECT_EQ(report(std::string(kDeclared), {{0, {DType::f32, {4, 3}}}, {1, {DType::f32, {4, 3}}}}),
            R"(step 2 (stop_gradient): feed 2 is not bound
  feed 2: not bound
  input 2: missing, a feed that is not bound, of no known type
  result 5, of no known type, to step 3 (elementwise_binary)
)");
  // Also past the step at which it is told: what it reads is known from declarations alone.
  const std::string text(kDeclared);
  const auto program = fused::parse_json(text);
  ASSERT_TRUE(program) << program.error().text();
  fused::CutWire cut;
  ASSERT_FALSE(fused::instantiate(*program, types, true, &cut));
  ASSERT_NE(cut.type_of(4), nullptr);
  EXPECT_TRUE((*cut.type_of(4) == ptir::TensorType{DType::f64, {4, 3}}));
  ASSERT_NE(cut.type_of(6), nullptr);
  EXPECT_TRUE((*cut.type_of(6) == ptir::TensorType{DType::f64, {4, 3}}));
}

// Nobody binds feeds for `verify`, so none of them is missing.
TEST(FusedCutWire, OfAProgramThatIsOnlyVerifiedNoFeedIsMissing) {
  const auto program = fused::parse_json(edited("[1,16]", "[1,60]"));
  ASSERT_TRUE(program) << program.error().text();
  fused::CutWire cut;
  const auto verified = fused::verify(*program, &cut);
  ASSERT_FALSE(verified);
  EXPECT_EQ(told(*program, cut, verified.error()), R"(step 6 (elementwise_binary): input 60 is given by nothing
  value 60, of no known type
  input 1: a feed, of no known type
  input 60: missing, nothing gives it, of no known type
  result 10, of no known type, to step 9 (elementwise_binary), to output sum, to state 1
)");
}

TEST(FusedCutWire, AShapeThatDoesNotFitIsToldByTheProgramsOwnIds) {
  EXPECT_EQ(report(edited("\"shape\":[3],\"data\":\"0000803f0000004000004040\"",
                          "\"shape\":[2],\"data\":\"0000803f00000040\"")),
            R"(step 6 (elementwise_binary): elementwise_binary: operand rhs is f32[2], expected f32[3]
  value 16, f32[2], from step 3 (constant)
  expected f32[3]
  actual f32[2]
  input 1: bound, f32[3]
  input 16: produced, f32[2], from step 3 (constant)
  result 10, of no known type, to step 9 (elementwise_binary), to output sum, to state 1
)");
  auto types = sample_types();
  types[2].type.shape = {5};
  EXPECT_EQ(report(std::string(kSample), types),
            R"(step 4 (batch_norm): batch_norm: operand 2 is not a vector of x's dtype over feature_axis
  value 2, f32[5]
  expected f32[3]
  actual f32[5]
  input 5: produced, f32[4, 3], from step 0 (dropout)
  input 1: bound, f32[3]
  input 2: bound, f32[5]
  input 3: bound, f32[3]
  input 4: bound, f32[3]
  result 7, of no known type, declared as f32[?N, 3] on gpu:0, to output pred
  result 8, of no known type, to state 3
  result 9, of no known type
  attribute feature_axis is also read as axis
  attribute epsilon is also read as eps
)");
}

TEST(FusedCutWire, ADtypeThatDoesNotFitIsToldWithWhatIsExpectedInItsPlace) {
  auto types = sample_types();
  types[4].type.dtype = DType::f64;
  EXPECT_EQ(report(edited("\"input_ids\":[5,1,2,3,4]", "\"input_ids\":[5,1,2,3,3]"), types),
            R"(step 9 (elementwise_binary): elementwise_binary: operand rhs is f64[3], expected f32[3]
  value 4, f64[3]
  expected f32[3]
  actual f64[3]
  input 10: produced, f32[3], from step 6 (elementwise_binary)
  input 4: bound, f64[3]
  result 11, of no known type
)");
  // Several types are right: words say which.
  EXPECT_EQ(report(edited("\"elementwise_binary\",\"input_ids\":[10,4],\"attrs\":{\"op\":\"mul\"}",
                          "\"take\",\"input_ids\":[10,4],\"attrs\":{}")),
            R"(step 9 (take): take: operand indices is f32[3], expected si32 or si64
  value 4, f32[3]
  expected si32 or si64
  actual f32[3]
  input 10: produced, f32[3], from step 6 (elementwise_binary)
  input 4: bound, f32[3]
  result 11, of no known type
)");
  types = sample_types();
  const std::string feed_of_integers = edited("{\"id\":0,\"dtype\":\"f32\",", "{\"id\":0,\"dtype\":\"si32\",");
  types[0].type.dtype = DType::si32;
  EXPECT_EQ(report(feed_of_integers, types, false), R"(step 0 (dropout): dropout: x is si32, expected a float
  value 0, si32[4, 3], declared as si32[?N, 3] on cpu
  expected a float
  actual si32[4, 3]
  input 0: bound, si32[4, 3], declared as si32[?N, 3] on cpu
  result 5, of no known type, to step 4 (batch_norm)
  attribute rate is also read as p
)");
}

TEST(FusedCutWire, MetaThatDoesNotHoldIsToldWithBothTypes) {
  auto types = sample_types();
  types[0].type.shape = {4, 2};
  EXPECT_EQ(report(std::string(kSample), types), R"(step 0 (dropout): feed 0 is bound to another type than its meta
  value 0, f32[4, 2], declared as f32[?N, 3] on cpu
  expected f32[?N, 3]
  actual f32[4, 2]
  input 0: bound, f32[4, 2], declared as f32[?N, 3] on cpu
  result 5, f32[4, 2], to step 4 (batch_norm)
  attribute rate is also read as p
)");
  EXPECT_EQ(
      report(edited("{\"id\":7,\"dtype\":\"f32\",\"shape\":[\"?N\",3]", "{\"id\":7,\"dtype\":\"f32\",\"shape\":[9,3]")),
      R"(step 4 (batch_norm): value 7 is of another type than its meta
  value 7, f32[4, 3], declared as f32[9, 3] on gpu:0, from step 4 (batch_norm)
  expected f32[9, 3]
  actual f32[4, 3]
  input 5: produced, f32[4, 3], from step 0 (dropout)
  input 1: bound, f32[3]
  input 2: bound, f32[3]
  input 3: bound, f32[3]
  input 4: bound, f32[3]
  result 7, f32[4, 3], declared as f32[9, 3] on gpu:0, to output pred
  result 8, f32[3], to state 3
  result 9, f32[3]
  attribute feature_axis is also read as axis
  attribute epsilon is also read as eps
)");
  EXPECT_EQ(
      report(edited("{\"state\":3,\"value\":8}", "{\"state\":3,\"value\":7}")),
      R"(step 4 (batch_norm): state 3 is f32[3], read by step 4 (batch_norm); its next, value 7, from step 4 (batch_norm), is f32[4, 3]
  value 7, f32[4, 3], declared as f32[?N, 3] on gpu:0, from step 4 (batch_norm)
  expected f32[3]
  actual f32[4, 3]
  input 5: produced, f32[4, 3], from step 0 (dropout)
  input 1: bound, f32[3]
  input 2: bound, f32[3]
  input 3: bound, f32[3]
  input 4: bound, f32[3]
  result 7, f32[4, 3], declared as f32[?N, 3] on gpu:0, to output pred, to state 3
  result 8, f32[3]
  result 9, f32[3]
  attribute feature_axis is also read as axis
  attribute epsilon is also read as eps
)");
}

// A state that no step reads is told by the step that gives its next value, one whose next is a feed by its reader.
TEST(FusedCutWire, AStateOfAnotherDtypeThanItsNextNamesTheStepsAround) {
  auto types = sample_types();
  types[3].type.dtype = DType::f64;
  const std::string unread = edited("\"input_ids\":[5,1,2,3,4]", "\"input_ids\":[5,1,2,1,4]");
  EXPECT_TRUE(report(unread, types)
                  .starts_with("step 4 (batch_norm): state 3 is f64[3]; its next, value 8, from step 4 (batch_norm), "
                               "is f32[3]\n  value 8"))
      << report(unread, types);
  const std::string given = edited("{\"state\":1,\"value\":10}", "{\"state\":1,\"value\":0}");
  EXPECT_TRUE(report(given).starts_with(
      "step 4 (batch_norm): state 1 is f32[3], read by step 4 (batch_norm); its next, value 0, is f32[4, 3]\n"))
      << report(given);
}

TEST(FusedCutWire, AttributesOutsideTheFormAreToldWithTheWires) {
  EXPECT_EQ(report(edited("\"op\":\"mul\"", "\"op\":\"pow\"")),
            R"(step 9 (elementwise_binary): attribute op: expected one of the names of op, found "pow"
  input 10: produced, of no known type, from step 6 (elementwise_binary)
  input 4: a feed, of no known type
  result 11, of no known type
)");
  EXPECT_EQ(report(edited("\"p\":0.5", "\"prob\":0.5")), R"(step 0 (dropout): dropout has no attribute prob
  input 0: a feed, of no known type, declared as f32[?N, 3] on cpu
  result 5, of no known type, to step 4 (batch_norm)
  attribute rate is also read as p
)");
  // Without room for what was read, the error names the step.
  const auto program = fused::parse_json(edited("\"op\":\"mul\"", "\"op\":\"pow\""));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().text(),
            "step 9 (elementwise_binary): attribute op: expected one of the names of op, found \"pow\"");
}

TEST(FusedCutWire, StepsWhoseOpOrNumberOfOperandsIsWrongAreToldWithTheWires) {
  EXPECT_EQ(report(edited("\"dropout\"", "\"drop\"")), R"(step 0 (drop): drop is no operation
  input 0: bound, f32[4, 3], declared as f32[?N, 3] on cpu
  result 5, of no known type, to step 4 (batch_norm)
)");
  EXPECT_EQ(report(edited("[1,16]", "[1]"), without(sample_types(), {1})),
            R"(step 6 (elementwise_binary): elementwise_binary has 1 inputs, expected 2
  feed 1: not bound
  input 1: missing, a feed that is not bound, of no known type
  result 10, of no known type, to step 9 (elementwise_binary), to output sum, to state 1
)");
  EXPECT_EQ(report(edited("[1,16]", "[1,11]")), R"(step 6 (elementwise_binary): input 11 is read before it is given
  value 11, of no known type, from step 9 (elementwise_binary)
  input 1: bound, f32[3]
  input 11: produced too late, of no known type, from step 9 (elementwise_binary)
  result 10, of no known type, to step 9 (elementwise_binary), to output sum, to state 1
)");
}

// The ids of a region are those that the program has.
TEST(FusedCutWire, ARegionIsToldByTheStepThatNamesIt) {
  constexpr std::string_view kLoop = R"({"version":1,"feeds":[0,1],"steps":[
{"step_id":2,"op_name":"stop_gradient","input_ids":[1],"attrs":{},"result_id":2,"mode_sensitive":false},
{"step_id":5,"op_name":"cond","input_ids":[0,2],"attrs":{"true_region":1,"false_region":1},"result_id":3,"mode_sensitive":false}],
"outputs":{"y":3},"regions":[{"parameters":[{"id":4,"type":{"dtype":"f32","shape":[]}}],
"instructions":[{"id":7,"op":"elementwise_unary","operands":[{"value":4}],"attributes":{"op":"exp"},
"output":{"dtype":"f64","shape":[]}}],"results":[{"operand":{"value":4},"type":{"dtype":"f32","shape":[]}}]}]})";
  EXPECT_EQ(report(std::string(kLoop), {{0, {DType::i1, {}}}, {1, {DType::f32, {}}}}),
            R"(step 5 (cond): region @1, %7: the output is declared as f64[], expected f32[]
  input 0: bound, i1[]
  input 2: produced, of no known type, from step 2 (stop_gradient)
  result 3, of no known type, to output y
)");
}

}  // namespace
}  // namespace fused_cut_wire_test
