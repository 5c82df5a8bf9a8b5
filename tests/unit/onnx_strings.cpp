// SPDX-License-Identifier: Apache-2.0
// tests/unit/onnx_strings.cpp: strings of ONNX files: labels that a program gives, strings that it is fed, and what is
// refused.
#include <zrt/ir/onnx.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <support/onnx_file.hpp>
#include <support/run_program.hpp>
#include <vector>

namespace onnx_strings_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using namespace zrt::test::onnx_file;
using zrt::test::onnx_file::model;
using zrt::test::onnx_file::text;

constexpr std::int64_t kStrings = 8;
using Texts = std::vector<std::string>;

/// An initialiser of strings.
std::string labels(std::string_view name, const Texts& values) {
  std::string bytes = field(1, static_cast<std::int64_t>(values.size())) + field(2, kStrings) + field(8, name);
  for (const std::string& value : values) bytes += field(6, value);
  return field(5, bytes);
}
template <class T> HostValue host(DType dtype, const std::vector<T>& values) {
  HostValue x{{dtype, {static_cast<std::uint32_t>(values.size())}}, std::vector<std::byte>(values.size() * sizeof(T))};
  std::memcpy(x.bytes.data(), values.data(), x.bytes.size());
  return x;
}
HostValue fed(ir::onnx::ModelStrings& strings, const Texts& values) {
  std::vector<std::int64_t> numbers;
  for (const std::string& value : values) numbers.push_back(*strings.table.number_of(value));
  return host(DType::si64, numbers);
}
Texts texts_of(const ir::onnx::ModelStrings& strings, const HostValue& x) {
  Texts values;
  for (std::size_t i = 0; i < x.bytes.size() / sizeof(std::int64_t); ++i) {
    std::int64_t number = 0;
    std::memcpy(&number, x.bytes.data() + i * sizeof number, sizeof number);
    values.emplace_back(strings.table[number]);
  }
  return values;
}
Result<ir::ptir::Program> read(const std::string& file, ir::onnx::ModelStrings* strings,
                               std::span<const ir::onnx::BoundInput> values = {}) {
  ir::onnx::ReadOptions options;
  options.strings = strings;
  options.values = values;
  return ir::onnx::read(std::as_bytes(std::span(file)), options);
}
std::string refusal(const std::string& file) {
  ir::onnx::ModelStrings strings;
  const auto program = read(file, &strings);
  return program ? "read" : std::string(program.error().text());
}
/// What a program gives, on ReferenceBackend and CpuBackend.
std::vector<std::vector<HostValue>> given(const ir::ptir::Program& program, const std::vector<HostValue>& inputs) {
  std::vector<std::vector<HostValue>> all;
  for (const ProgramRun& run : {run_program(program, inputs), run_program_on_cpu(program, inputs)}) {
    EXPECT_FALSE(run.refused) << run.refused->text();
    EXPECT_FALSE(run.failed) << run.failed->text();
    all.push_back(run.outputs);
  }
  return all;
}

TEST(OnnxStrings, ATableNumbersEachStringOnce) {
  ir::onnx::StringTable table;
  EXPECT_FALSE(table.find("a"));
  EXPECT_EQ(table[0], "");
  for (int round = 0; round < 2; ++round)
    for (std::int64_t i = 0; i < 1000; ++i) EXPECT_EQ(table.number_of("entry " + std::to_string(i)), i);
  EXPECT_EQ(table.number_of(""), 1000);
  EXPECT_EQ(table.number_of(std::string_view("\0\xff", 2)), 1001);
  EXPECT_EQ(table.size(), 1002u);
  EXPECT_EQ(table[999], "entry 999");
  EXPECT_EQ(table[1000], "");
  EXPECT_EQ(table[1001], std::string_view("\0\xff", 2));
  EXPECT_EQ(table.find("entry 512"), 512);
  EXPECT_EQ(table[1002], "");
  EXPECT_EQ(table[-1], "");
}

TEST(OnnxStrings, AClassifierGivesLabels) {
  const std::string file = model(input("scores", kFloat, {2, 3}) + labels("labels", {"cat", "dog", "bird"}) +
                                 node("ArgMax", {"scores"}, {"best"}, {integer("axis", 1), integer("keepdims", 0)}) +
                                 node("Gather", {"labels", "best"}, {"label"}) + output("label", kStrings, {2}));
  ir::onnx::ModelStrings strings;
  const auto program = read(file, &strings);
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_TRUE(strings.inputs.empty());
  ASSERT_EQ(strings.outputs.size(), 1u);
  EXPECT_EQ(strings.outputs[0], 0u);
  HostValue scores = host<float>(DType::f32, {0, 1, 3, 2, 0, 1});
  scores.type.shape = {2, 3};
  for (const auto& outputs : given(*program, {scores}))
    EXPECT_EQ(texts_of(strings, outputs[0]), (Texts{"bird", "cat"}));
}

TEST(OnnxStrings, StringsThatAreFedAreComparedAndMoved) {
  // "unseen" is a string that the model does not hold.
  const std::string file = model(
      input("x", kStrings, {3}) + input("flag", kBool, {1}) + labels("known", {"b"}) +
          node("Equal", {"x", "known"}, {"same"}) + node("Where", {"flag", "x", "known"}, {"moved"}) +
          node("Concat", {"moved", "known"}, {"y"}, {integer("axis", 0)}) + output("same") + output("y", kStrings, {4}),
      19);
  ir::onnx::ModelStrings strings;
  const auto program = read(file, &strings);
  ASSERT_TRUE(program) << program.error().text();
  ASSERT_EQ(strings.inputs.size(), 1u);
  EXPECT_EQ(strings.inputs[0], 0u);
  ASSERT_EQ(strings.outputs.size(), 1u);
  EXPECT_EQ(strings.outputs[0], 1u);
  const HostValue x = fed(strings, {"unseen", "b", "unseen too"});
  for (const auto& outputs : given(*program, {x, host<std::uint8_t>(DType::i1, {1})})) {
    EXPECT_EQ(outputs[0].bytes, (std::vector<std::byte>{std::byte{0}, std::byte{1}, std::byte{0}}));
    EXPECT_EQ(texts_of(strings, outputs[1]), (Texts{"unseen", "b", "unseen too", "b"}));
  }
}

TEST(OnnxStrings, BranchesGiveLabels) {
  const auto branch = [](std::string_view value) {
    return node("Constant", {}, {"label"}, {text("value_string", value)}) + output("label");
  };
  const std::string file = model(
      input("flag", kBool, {}) +
      node("If", {"flag"}, {"y"}, {graph_in("then_branch", branch("yes")), graph_in("else_branch", branch("no"))}) +
      output("y", kStrings, {}));
  ir::onnx::ModelStrings strings;
  const auto program = read(file, &strings);
  ASSERT_TRUE(program) << program.error().text();
  HostValue flag = host<std::uint8_t>(DType::i1, {1});
  flag.type.shape = {};
  for (const auto& outputs : given(*program, {flag})) EXPECT_EQ(texts_of(strings, outputs[0]), (Texts{"yes"}));
}

TEST(OnnxStrings, WhatMakesStringsTakesKnownOnes) {
  const std::string file =
      model(input("x", kStrings, {2}) + node("StringNormalizer", {"x"}, {"y"}, {text("case_change_action", "UPPER")}) +
            output("y", kStrings, {2}));
  ir::onnx::ModelStrings strings;
  Name needed;
  ir::onnx::ReadOptions options;
  options.strings = &strings;
  options.needed = &needed;
  EXPECT_EQ(ir::onnx::read(std::as_bytes(std::span(file)), options).error().text(),
            "node 0 (StringNormalizer): x (input 0, x) must be known when the program is made");
  EXPECT_EQ(needed.view(), "x");
  const HostValue x = fed(strings, {"abc", "d-e"});
  const ir::onnx::BoundInput values[]{{"x", {DType::si64, {ir::ptir::Dim(2)}}, x.bytes}};
  const auto program = read(file, &strings, values);
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_TRUE(strings.inputs.empty());
  for (const auto& outputs : given(*program, {})) EXPECT_EQ(texts_of(strings, outputs[0]), (Texts{"ABC", "D-E"}));
}

TEST(OnnxStrings, ValuesThatAreFedAreNumbersOfTheTable) {
  const std::string file =
      model(input("x", kStrings, {1}) + node("Identity", {"x"}, {"y"}) + output("y", kStrings, {1}));
  ir::onnx::ModelStrings strings;
  const HostValue beyond = host<std::int64_t>(DType::si64, {0});
  const ir::onnx::BoundInput number[]{{"x", {DType::si64, {ir::ptir::Dim(1)}}, beyond.bytes}};
  EXPECT_EQ(read(file, &strings, number).error().text(), "the value of input x has the number 0 of 0 strings");
  const HostValue real = host<float>(DType::f32, {0});
  const ir::onnx::BoundInput other[]{{"x", {DType::f32, {ir::ptir::Dim(1)}}, real.bytes}};
  EXPECT_EQ(read(file, &strings, other).error().text(),
            "the value of input x is of f32, the model declares strings, whose numbers are si64");
  const ir::onnx::InputType types[]{{"x", {DType::f32, {ir::ptir::Dim(1)}}}};
  ir::onnx::ReadOptions options;
  options.strings = &strings;
  options.types = types;
  EXPECT_EQ(ir::onnx::read(std::as_bytes(std::span(file)), options).error().text(),
            "input x is of strings, whose numbers are si64, its type in ReadOptions::types is of f32");
}

TEST(OnnxStrings, AModelWithStringsIsRefusedWhereTheCallerTakesNone) {
  const std::string fed_strings =
      model(input("x", kStrings, {1}) + node("Identity", {"x"}, {"y"}) + output("y", kStrings, {1}));
  EXPECT_EQ(read(fed_strings, nullptr).error().text(), "input x: tensors of strings need ReadOptions::strings");
  EXPECT_EQ(read(fed_strings, nullptr).error().code(), Errc::unimplemented);
  EXPECT_EQ(read(model(labels("x", {"a"}) + node("Identity", {"x"}, {"y"}) + output("y")), nullptr).error().text(),
            "tensor x: tensors of strings need ReadOptions::strings");
  EXPECT_EQ(read(model(input("x", kFloat, {1}) + node("Cast", {"x"}, {"y"}, {integer("to", kStrings)}) + output("y")),
                 nullptr)
                .error()
                .text(),
            "node 0 (Cast): tensors of strings need ReadOptions::strings");
}

TEST(OnnxStrings, NoOperatorComputesWithNumbersOfStrings) {
  const std::string strings = labels("s", {"1", "2"}) + numbers("n", {2}, {1, 2});
  const auto with = [&](const std::string& nodes, std::int64_t opset = 17) {
    return refusal(model(strings + nodes + output("y"), opset));
  };
  constexpr const char* kNotComputed = " is of strings, of which the operator is not computed";
  EXPECT_EQ(with(node("Add", {"s", "s"}, {"y"})), "node 0 (Add): input 0 (s)" + std::string(kNotComputed));
  EXPECT_EQ(with(node("Gather", {"n", "s"}, {"y"})), "node 0 (Gather): input 1 (s)" + std::string(kNotComputed));
  EXPECT_EQ(with(node("Less", {"n", "s"}, {"y"})), "node 0 (Less): input 1 (s)" + std::string(kNotComputed));
  EXPECT_EQ(with(node("Identity", {"s"}, {"t"}) + node("Unique", {"t"}, {"y"})),
            "node 1 (Unique): input 0 (t)" + std::string(kNotComputed));
  EXPECT_EQ(with(node("Concat", {"s", "n"}, {"y"}, {integer("axis", 0)})),
            "node 0 (Concat): some operands are of strings and others are not");
  EXPECT_EQ(with(node("Equal", {"n", "s"}, {"y"}), 19),
            "node 0 (Equal): some operands are of strings and others are not");
  EXPECT_EQ(with(node("SequenceConstruct", {"s", "n"}, {"y"})),
            "node 0 (SequenceConstruct): a sequence holds strings and numbers");
  // A result of strings stays one through what moves it.
  EXPECT_EQ(with(node("Transpose", {"s"}, {"t"}) + node("Neg", {"t"}, {"y"})),
            "node 1 (Neg): input 0 (t)" + std::string(kNotComputed));
  EXPECT_EQ(with(node("SequenceConstruct", {"s"}, {"q"}) + node("SequenceAt", {"q", "zero"}, {"t"}) +
                 numbers("zero", {}, {0}) + node("Abs", {"t"}, {"y"})),
            "node 2 (Abs): input 0 (t)" + std::string(kNotComputed));
  EXPECT_EQ(with(node("Shape", {"s"}, {"t"}) + node("Neg", {"t"}, {"y"})), "read");
  EXPECT_EQ(with(node("StringNormalizer", {"n"}, {"y"})), "node 0 (StringNormalizer): x is of si64, expected strings");
  EXPECT_EQ(refusal(model(strings + output("s", kInt64, {2}))), "output s is of strings, the model declares si64");
  EXPECT_EQ(refusal(model(strings + output("n", kStrings, {2}))), "output n is of si64, the model declares strings");
}

TEST(OnnxStrings, LoopsGiveNoStrings) {
  const std::string body = input("trip", kInt64, {}) + input("going", kBool, {}) +
                           node("Gather", {"s", "trip"}, {"one"}) + node("Identity", {"going"}, {"on"}) + output("on") +
                           output("one");
  const auto with = [&](std::int64_t trips) {
    return refusal(model(labels("s", {"a", "b"}) + numbers("m", {}, {trips}) +
                         node("Loop", {"m", ""}, {"y"}, {graph_in("body", body)}) + output("y")));
  };
  EXPECT_EQ(with(2), "node 0 (Loop): strings that a loop or a scan gives");
  EXPECT_EQ(with(1000), "node 0 (Loop): strings that a loop or a scan gives");
}

TEST(OnnxStrings, TextsThatAreNoNumbersAreRefused) {
  const auto as = [](const char* value, std::int64_t type) {
    return refusal(model(labels("s", {"1", value}) + node("Cast", {"s"}, {"y"}, {integer("to", type)}) + output("y")));
  };
  constexpr std::int64_t kUint8 = 2, kString = kStrings;
  EXPECT_EQ(as("1e3", kFloat), "read");
  EXPECT_EQ(as("anything", kString), "read");
  EXPECT_EQ(as("one", kFloat), "node 0 (Cast): string 1 is 'one', expected a number of f32");
  for (const char* none : {"", " 1", "1 ", "0x10", "--1", "+-1", "1e", "infinity", "1e39"})
    EXPECT_EQ(as(none, kFloat), "node 0 (Cast): string 1 is '" + std::string(none) + "', expected a number of f32");
  for (const char* none : {"256", "-1", "++1", "nan", "inf", "0x1", "255.9e1"})
    EXPECT_EQ(as(none, kUint8), "node 0 (Cast): string 1 is '" + std::string(none) + "', expected a number of ui8");
  EXPECT_EQ(as("255.9", kUint8), "read");
  EXPECT_EQ(as("9223372036854775808", kInt64),
            "node 0 (Cast): string 1 is '9223372036854775808', expected a number of si64");
  EXPECT_EQ(as("1", kBool), "node 0 (Cast): strings as i1");
}

TEST(OnnxStrings, CaseBeyondAsciiIsRefused) {
  const auto with = [](const std::vector<std::string>& attributes) {
    return refusal(model(labels("s", {"Gr\xc3\xbc\xc3\x9f"
                                      "e"}) +
                         node("StringNormalizer", {"s"}, {"y"}, attributes) + output("y")));
  };
  const std::string upper = text("case_change_action", "UPPER");
  EXPECT_EQ(with({upper}), "node 0 (StringNormalizer): the case of letters beyond ASCII");
  EXPECT_EQ(with({texts("stopwords", {"\xc3\xbc"})}),
            "node 0 (StringNormalizer): stopwords without their case beyond ASCII");
  EXPECT_EQ(with({texts("stopwords", {"\xc3\xbc"}), integer("is_case_sensitive", 1)}), "read");
  EXPECT_EQ(with({upper, text("locale", "tr_TR")}), "node 0 (StringNormalizer): the case of letters in locale tr_TR");
  EXPECT_EQ(with({text("case_change_action", "TITLE")}),
            "node 0 (StringNormalizer): case_change_action is TITLE, expected LOWER, UPPER or NONE");
}

TEST(OnnxStrings, ASmallFileMakesNoMoreStringsThanItsShare) {
  // Each node doubles the string.
  std::string nodes = labels("s0", {std::string(1024, 'a')});
  for (int i = 0; i < 40; ++i)
    nodes += node("StringConcat", {"s" + std::to_string(i), "s" + std::to_string(i)}, {"s" + std::to_string(i + 1)});
  const std::string said = refusal(model(nodes + output("s40"), 20));
  EXPECT_NE(said.find("(StringConcat): known values take more than four times the file"), std::string::npos) << said;
}

}  // namespace
}  // namespace onnx_strings_test
