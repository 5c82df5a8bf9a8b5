// SPDX-License-Identifier: Apache-2.0
// tests/unit/onnx_reader.cpp: ONNX files that ask for too much, say what is not so, or hold large whole numbers.
#include <zrt/ir/onnx.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <string>
#include <support/onnx_file.hpp>
#include <vector>

namespace onnx_reader_test {
namespace {

using namespace zrt;
using namespace zrt::test::onnx_file;
using zrt::test::onnx_file::model;
using zrt::test::onnx_file::text;

constexpr std::int64_t kMost = INT64_MAX;
constexpr std::int64_t kExtent = 0x7fffffff;

Result<ir::ptir::Program> read(const std::string& file, const ir::onnx::ReadOptions& options = {}) {
  return ir::onnx::read(std::as_bytes(std::span(file)), options);
}
/// The error of a file.
Error error_of(const std::string& file) {
  const auto program = read(file);
  return program ? Error() : program.error();
}

struct Hostile {
  const char* what;
  std::string graph;
  Errc code;
};

const std::string kX4 = input("x", kFloat, {1, 1, 4, 4});

TEST(OnnxReader, WhatAFileAsksForIsBounded) {
  const std::vector<Hostile> cases{
      {"an extent", input("x", kFloat, {kExtent + 1}) + node("Relu", {"x"}, {"y"}) + node("Shape", {"y"}, {"z"}),
       Errc::limit_exceeded},
      {"a transposed convolution that grows",
       input("x", kFloat, {1, 1, kExtent, 1}) + input("w", kFloat, {1, 1, 2, 1}) +
           node("ConvTranspose", {"x", "w"}, {"z"}, {integers("strides", {kExtent, 1})}),
       Errc::limit_exceeded},
      {"a transposed convolution's output_shape",
       kX4 + input("w", kFloat, {1, 1, 2, 2}) +
           node("ConvTranspose", {"x", "w"}, {"z"}, {integers("output_shape", {INT64_MIN, 8})}),
       Errc::limit_exceeded},
      {"a transposed convolution's groups",
       input("x", kFloat, {1, 0, 4}) + input("w", kFloat, {0, 5, 2}) +
           node("ConvTranspose", {"x", "w"}, {"z"}, {integer("group", kMost)}),
       Errc::shape_mismatch},
      {"a window that is turned around",
       kX4 + input("w", kFloat, {1, 1, kExtent, 1}) + node("ConvTranspose", {"x", "w"}, {"z"}), Errc::limit_exceeded},
      {"pads that are the same",
       kX4 + input("w", kFloat, {1, 1, 3, 3}) +
           node("Conv", {"x", "w"}, {"z"}, {text("auto_pad", "SAME_UPPER"), integers("dilations", {kExtent, 1})}),
       Errc::limit_exceeded},
      {"a window's counts",
       input("x", kFloat, {1, 1, 1 << 23}) + node("AveragePool", {"x"}, {"z"}, {integers("kernel_shape", {1 << 22})}),
       Errc::limit_exceeded},
      {"an unpooled plane",
       kX4 + input("i", kInt64, {1, 1, 4, 4}) +
           node("MaxUnpool", {"x", "i"}, {"z"},
                {integers("kernel_shape", {kExtent, 2}), integers("strides", {kExtent, 2})}),
       Errc::limit_exceeded},
      {"an unpooled plane of nothing",
       kX4 + input("i", kInt64, {1, 1, 4, 4}) +
           node("MaxUnpool", {"x", "i"}, {"z"}, {integers("kernel_shape", {2, 2}), integers("pads", {9, 9, 9, 9})}),
       Errc::limit_exceeded},
      {"an unpooled plane's window",
       kX4 + input("i", kInt64, {1, 1, 4, 4}) +
           node("MaxUnpool", {"x", "i"}, {"z"}, {integers("kernel_shape", {kMost, kMost})}),
       Errc::invalid_params},
      {"an unpooled plane's room",
       kX4 + input("i", kInt64, {1, 1, 4, 4}) + numbers("s", {4}, {1, 1, kMost, 8}) +
           node("MaxUnpool", {"x", "i", "s"}, {"z"}, {integers("kernel_shape", {2, 2})}),
       Errc::limit_exceeded},
      {"a resize by places", kX4 + numbers("s", {4}, {1, 1, kExtent, 4}) + node("Resize", {"x", "", "", "s"}, {"z"}),
       Errc::limit_exceeded},
      {"a resize by weights",
       kX4 + numbers("s", {4}, {1, 1, 1 << 21, 4}) +
           node("Resize", {"x", "", "", "s"}, {"z"}, {text("mode", "linear")}),
       Errc::limit_exceeded},
      {"a range",
       numbers("a", {}, {INT64_MIN}) + numbers("b", {}, {kMost}) + numbers("c", {}, {1}) +
           node("Range", {"a", "b", "c"}, {"z"}),
       Errc::limit_exceeded},
      {"parts of an axis",
       kX4 + numbers("s", {2}, {4, kMost}) + node("Split", {"x", "s"}, {"z", "y"}, {integer("axis", 3)}),
       Errc::shape_mismatch},
      {"pads at an edge",
       kX4 + numbers("p", {8}, {0, 0, 0, 0, 0, 0, 0, kExtent}) + node("Pad", {"x", "p"}, {"z"}, {text("mode", "edge")}),
       Errc::limit_exceeded},
      {"a shape of many elements",
       input("x", kFloat, {1}) + numbers("s", {3}, {1 << 20, 1 << 20, 1 << 20}) + node("Expand", {"x", "s"}, {"y"}) +
           node("Flatten", {"y"}, {"z"}),
       Errc::limit_exceeded},
      {"an extent below nothing", kX4 + numbers("s", {1}, {-7}) + node("ConstantOfShape", {"s"}, {"z"}),
       Errc::limit_exceeded},
  };
  for (const Hostile& c : cases) {
    const Error error = error_of(model(c.graph + output("z")));
    EXPECT_EQ(error.code(), c.code) << c.what << ": " << error.text();
  }
}

/// A loop of 200 trips around `inner`, with a scan output, so that it is read trip by trip.
std::string loop_around(const std::string& inner, int depth) {
  const std::string d = std::to_string(depth);
  const std::string body = inner + node("Identity", {"c" + d}, {"d" + d}) + node("Identity", {"i" + d}, {"s" + d}) +
                           input("i" + d, kInt64, {}) + input("c" + d, kBool, {}) + output("d" + d) + output("s" + d);
  return node("Loop", {"n", "yes"}, {"out" + d}, {graph_in("body", body)});
}
TEST(OnnxReader, LoopsWithinLoopsEnd) {
  const std::string once = numbers("n", {}, {200}) + node("Cast", {"n"}, {"yes"}, {integer("to", kBool)});
  const auto flat = read(model(once + loop_around("", 0) + output("out0")));
  EXPECT_TRUE(flat) << flat.error().text();
  const Error error = error_of(model(once + loop_around(loop_around(loop_around("", 2), 1), 0) + output("out0")));
  EXPECT_EQ(error.code(), Errc::limit_exceeded) << error.text();
}

TEST(OnnxReader, TheCallerSaysHowManyTripsAreReadOneAfterTheOther) {
  // A sequence is known trip by trip alone.
  const auto trips = [](std::int64_t count) {
    const std::string body = node("SequenceInsert", {"s", "i"}, {"t"}) + node("Identity", {"c"}, {"d"}) +
                             input("i", kInt64, {}) + input("c", kBool, {}) + field(11, field(1, "s")) + output("d") +
                             output("t");
    return model(numbers("n", {}, {count}) + node("SequenceEmpty", {}, {"none"}) +
                     node("Loop", {"n", "", "none"}, {"all"}, {graph_in("body", body)}) +
                     node("SequenceLength", {"all"}, {"out0"}) + output("out0"),
                 18);
  };
  EXPECT_TRUE(read(trips(256)));
  EXPECT_EQ(error_of(trips(257)).text(),
            "node 1 (Loop): 257 trips that must be unrolled, at most 256 by ReadOptions::unrolled_trips");
  ir::onnx::ReadOptions options;
  options.unrolled_trips = 1000;
  EXPECT_TRUE(read(trips(1000), options));
  EXPECT_FALSE(read(trips(1001), options));
  // However many are asked for, what is read stays bounded.
  options.unrolled_trips = kMost;
  const auto endless = read(trips(kMost), options);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code(), Errc::limit_exceeded) << endless.error().text();
}

TEST(OnnxReader, AnInputOrAnOutputBeyondAllBoundsIsNamed) {
  const Error error =
      error_of(model(input("wide", kFloat, {kExtent, kExtent, kExtent}) + node("Relu", {"wide"}, {"z"}) + output("z")));
  EXPECT_EQ(error.text(), "input wide: the size of a parameter does not fit 63 bits");
  const std::string far =
      field(5, field(1, std::int64_t{1} << 40) + field(1, std::int64_t{0}) + field(2, kFloat) + field(8, "far"));
  EXPECT_EQ(error_of(model(far + output("far"))).text(),
            "output far: the model: a tensor is f32[1099511627776, 0], more than a graph holds");
}

TEST(OnnxReader, WhatEachTripReadsIsInTheProgramOnce) {
  std::string table = field(1, std::int64_t{1} << 14) + field(2, kInt64) + field(8, "table");
  table += field(9, std::string(std::size_t{8} << 14, '\1'));
  const std::string body = node("Add", {"x", "table"}, {"s"}) + node("Identity", {"c"}, {"d"}) +
                           input("i", kInt64, {}) + input("c", kBool, {}) + output("d") + output("s");
  const auto program = read(model(field(5, table) + input("x", kInt64, {1 << 14}) + numbers("n", {}, {200}) +
                                  node("Cast", {"n"}, {"yes"}, {integer("to", kBool)}) +
                                  node("Loop", {"n", "yes"}, {"z"}, {graph_in("body", body)}) + output("z")));
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_LT(program->literal_bytes.size(), std::size_t{9} << 14);
}

TEST(OnnxReader, OperatorsOfAnotherFormAreRefused) {
  const std::string one = input("y", kFloat, {4}) + kX4 + output("z");
  // Add of opset 6 has `broadcast` and `axis`; the batch norm before 9 may have statistics for each element.
  const std::string add = node("Add", {"x", "y"}, {"z"}, {integer("broadcast", 1), integer("axis", 1)});
  const Error old = error_of(model(one + add, 6));
  EXPECT_EQ(old.code(), Errc::unsupported_version) << old.text();
  EXPECT_NE(old.text().find("node 0 (Add)"), std::string_view::npos) << old.text();
  EXPECT_EQ(error_of(model(one + node("BatchNormalization", {"x"}, {"z"}), 8)).code(), Errc::unsupported_version);
  EXPECT_EQ(error_of(model(one + node("Upsample", {"x"}, {"z"}), 13)).code(), Errc::unsupported_version);
  EXPECT_EQ(error_of(model(one + node("Trilu", {"x"}, {"z"}), 13)).code(), Errc::unsupported_version);
  EXPECT_EQ(error_of(model(one + node("Add", {"x", "y"}, {"z"}), ir::onnx::kNewestOpset + 1)).code(),
            Errc::unsupported_version);
  EXPECT_TRUE(read(model(one + node("Add", {"x", "y"}, {"z"}), 7)));

  const Error unknown = error_of(model(one + add, 13));
  EXPECT_EQ(unknown.code(), Errc::invalid_file);
  EXPECT_NE(unknown.text().find("(Add): attribute broadcast"), std::string_view::npos) << unknown.text();
  EXPECT_EQ(error_of(model(one + node("Shape", {"x"}, {"z"}, {integer("start", 1)}), 13)).code(), Errc::invalid_file);
  const std::string typed = node("Softmax", {"x"}, {"z"}, {text("axis", "1")});
  EXPECT_EQ(error_of(model(one + typed)).code(), Errc::invalid_file);
}

/// The last literal of a program, as whole numbers.
std::vector<std::int64_t> last_literal(const ir::ptir::Program& program) {
  const auto bytes = program.bytes_of(program.literals.back());
  std::vector<std::int64_t> values(bytes.size() / sizeof(std::int64_t));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}
// A caller learns from a name which input to give a type, whatever words it uses for that.
TEST(OnnxReader, AnExtentThatMustBeKnownNamesTheInputThatLeavesItOpen) {
  const auto open = [](std::string_view name) {
    const std::string shape = field(1, field(1, std::int64_t{2})) + field(1, field(2, "N"));
    return field(11, field(1, name) + field(2, field(1, field(1, kFloat) + field(2, shape))));
  };
  const std::string file = model(input("w", kFloat, {2, 3}) + open("x") + open("y") + node("Relu", {"x"}, {"r"}) +
                                 node("Shape", {"r"}, {"z"}) + output("z"));
  Name needed, found;
  ir::onnx::ReadOptions options;
  options.needed = &needed;
  options.open_input = &found;
  const auto program = read(file, options);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code(), Errc::unimplemented);
  EXPECT_EQ(program.error().text(),
            "node 1 (Shape): an extent must be known when the program is made, and input x leaves extents open");
  EXPECT_EQ(found.view(), "x");
  EXPECT_EQ(needed.view(), "");
  const std::vector<ir::onnx::InputType> types{{"x", {DType::f32, {2, 5}}}};
  options.types = types;
  EXPECT_TRUE(read(file, options));
}

TEST(OnnxReader, InitialisersMayStayInputs) {
  const std::string file = model(input("x", kInt64, {2}) + numbers("w", {2}, {1, 2}) + numbers("v", {2}, {3, 4}) +
                                 node("Mul", {"x", "v"}, {"y"}) + node("Add", {"y", "w"}, {"z"}));
  const std::string_view wanted[]{"w"};
  const auto program = read(file, {.variables = wanted});
  ASSERT_TRUE(program) << program.error().text();
  const auto inputs = program->regions[0].parameters.span();
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].name.view(), "w");
  EXPECT_EQ(inputs[1].name.view(), "x");
  const std::string_view unknown[]{"u"};
  const auto refused = read(file, {.variables = unknown});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("no initializer is called u"), std::string_view::npos);
}

TEST(OnnxReader, AValueOfTheCallersMustFitItsInput) {
  const std::string file = model(input("x", kFloat, {4}) + input("shape", kInt64, {2}) +
                                 node("Reshape", {"x", "shape"}, {"z"}) + output("z"));
  const std::vector<std::int64_t> shape{2, 2};
  const auto bytes = std::as_bytes(std::span(shape));
  const auto with = [&](std::string_view name, ir::ptir::TensorType type, std::span<const std::byte> data) {
    const ir::onnx::BoundInput values[]{{name, type, data}};
    ir::onnx::ReadOptions options;
    options.values = values;
    const auto program = read(file, options);
    return program ? Errc{} : program.error().code();
  };
  EXPECT_EQ(with("shape", {DType::si64, {2}}, bytes), Errc{});
  EXPECT_EQ(with("shape", {DType::si64, {2}}, bytes.first(8)), Errc::shape_mismatch);
  EXPECT_EQ(with("shape", {DType::si64, {3}}, bytes), Errc::shape_mismatch);
  EXPECT_EQ(with("shape", {DType::si64, {ir::ptir::Dim::any()}}, bytes), Errc::shape_mismatch);
  EXPECT_EQ(with("shape", {DType::si32, {4}}, bytes), Errc::dtype_mismatch);
  EXPECT_EQ(with("shapes", {DType::si64, {2}}, bytes), Errc::invalid_argument);
}

TEST(OnnxReader, RecurrentNodesSayWhichFunctionTheyLack) {
  const std::string graph =
      input("x", kFloat, {2, 1, 3}) + input("w", kFloat, {1, 8, 3}) + input("r", kFloat, {1, 8, 2}) + output("y");
  const auto lstm = [&](const std::vector<std::string>& attributes) {
    return error_of(model(graph + node("LSTM", {"x", "w", "r"}, {"y"}, attributes)));
  };
  EXPECT_EQ(lstm({texts("activations", {"Softsign", "Relu", "Softplus"})}).code(), Errc{});
  const Error odd = lstm({texts("activations", {"Sigmoid", "ScaledTanh", "Tanh"})});
  EXPECT_EQ(odd.code(), Errc::unimplemented);
  EXPECT_NE(odd.text().find("(LSTM): activation ScaledTanh: only Relu"), std::string_view::npos) << odd.text();
  EXPECT_EQ(lstm({texts("activations", {"Sigmoid", "Tanh"})}).code(), Errc::invalid_params);
  EXPECT_NE(lstm({integer("input_forget", 1)}).text().find("(LSTM): attribute input_forget"), std::string_view::npos);
}

TEST(OnnxReader, WholeNumbersStayWhole) {
  constexpr std::int64_t kLarge = (std::int64_t{1} << 53) + 1;
  const auto range = read(model(numbers("a", {}, {kLarge}) + numbers("b", {}, {kLarge + 5}) + numbers("c", {}, {2}) +
                                node("Range", {"a", "b", "c"}, {"z"}) + output("z", kInt64, {3})));
  ASSERT_TRUE(range) << range.error().text();
  EXPECT_EQ(last_literal(*range), (std::vector<std::int64_t>{kLarge, kLarge + 2, kLarge + 4}));
  const auto down = read(model(numbers("a", {}, {kMost}) + numbers("b", {}, {kMost - 5}) + numbers("c", {}, {-3}) +
                               node("Range", {"a", "b", "c"}, {"z"}) + output("z", kInt64, {2})));
  ASSERT_TRUE(down) << down.error().text();
  EXPECT_EQ(last_literal(*down), (std::vector<std::int64_t>{kMost, kMost - 3}));
  const auto padded = read(model(input("x", kInt64, {2}) + numbers("p", {2}, {0, 1}) + numbers("v", {}, {kLarge}) +
                                 node("Pad", {"x", "p", "v"}, {"z"}) + output("z", kInt64, {3})));
  ASSERT_TRUE(padded) << padded.error().text();
  EXPECT_EQ(last_literal(*padded), std::vector<std::int64_t>{kLarge});
}

/// The extents of the first result of the graph; empty where it was not read.
std::vector<std::int64_t> extents_of(const std::string& graph) {
  const auto program = read(model(graph + output("z")));
  EXPECT_TRUE(program) << program.error().text();
  std::vector<std::int64_t> extents;
  if (!program) return extents;
  for (const ir::ptir::Dim dim : program->regions[0].results[0].type.shape.view())
    extents.push_back(static_cast<std::int64_t>(dim.constant()));
  return extents;
}

// PyTorch's own lists lie the other way round: its exporter turns the pads of the last axis first into ONNX's.
const std::string kPadded =
    input("x", kFloat, {3, 7}) + numbers("p", {4}, {1, 2, 3, 5}) + numbers("pairs", {2}, {-1, 2}) +
    numbers("last", {1}, {-1}) + numbers("before", {1}, {INT64_MIN}) + numbers("zero", {1}, {0}) +
    node("Reshape", {"p", "pairs"}, {"q"}) + node("Slice", {"q", "last", "before", "zero", "last"}, {"r"}) +
    node("Transpose", {"r"}, {"s"}, {integers("perm", {1, 0})}) + node("Reshape", {"s", "last"}, {"t"}) +
    node("Pad", {"x", "t"}, {"z"});
// -1 in a list of extents keeps what is there.
const std::string kExpanded = input("x", kFloat, {3, 1}) + numbers("e", {2}, {-1, 4}) + numbers("keep", {}, {-1}) +
                              numbers("ones", {2}, {1, 1}) + node("Mul", {"ones", "keep"}, {"k"}) +
                              node("Equal", {"e", "k"}, {"kept"}) + node("Where", {"kept", "ones", "e"}, {"s"}) +
                              node("Expand", {"x", "s"}, {"z"});

TEST(OnnxReader, ListsThatExportersComputeAreKnown) {
  EXPECT_EQ(extents_of(kPadded), (std::vector<std::int64_t>{3 + 3 + 5, 7 + 1 + 2}));
  EXPECT_EQ(extents_of(kExpanded), (std::vector<std::int64_t>{3, 4}));
  // Columns of a known matrix; axes of a known cube in another order.
  const std::string known = input("x", kFloat, {2}) + numbers("c", {2, 1, 3}, {5, 2, 3, 7, 4, 6}) +
                            numbers("one", {1}, {1}) + numbers("two", {1}, {2}) + numbers("axis", {1}, {-1}) +
                            numbers("flat", {1}, {-1}) + node("Slice", {"c", "one", "two", "axis"}, {"column"}) +
                            node("Reshape", {"column", "flat"}, {"s"}) + node("ConstantOfShape", {"s"}, {"z"});
  EXPECT_EQ(extents_of(known), (std::vector<std::int64_t>{2, 4}));
  const std::string turned = input("x", kFloat, {2}) + numbers("c", {2, 1, 3}, {5, 2, 3, 7, 4, 6}) +
                             numbers("flat", {1}, {-1}) +
                             node("Transpose", {"c"}, {"t"}, {integers("perm", {2, 0, 1})}) +
                             node("Reshape", {"t", "flat"}, {"s"}) + node("ConstantOfShape", {"s"}, {"z"});
  EXPECT_EQ(extents_of(turned), (std::vector<std::int64_t>{5, 7, 2, 4, 3, 6}));
  // repeat_interleave: counts that are spread, then split.
  const std::string counts =
      input("x", kFloat, {3, 1}) + numbers("two", {}, {2}) + numbers("n", {1}, {3}) + numbers("parts", {2}, {1, 2}) +
      numbers("rows", {1}, {3}) + node("Expand", {"two", "n"}, {"spread"}) +
      node("Split", {"spread", "parts"}, {"first", "others"}) +
      node("Concat", {"others", "rows", "first"}, {"s"}, {integer("axis", 0)}) + node("Expand", {"x", "s"}, {"z"});
  EXPECT_EQ(extents_of(counts), (std::vector<std::int64_t>{2, 2, 3, 2}));
  // Lists that do not meet.
  const auto unequal = read(model(input("x", kFloat, {2}) + numbers("a", {2}, {1, 2}) + numbers("b", {3}, {1, 2, 3}) +
                                  node("Equal", {"a", "b"}, {"z"}) + output("z")));
  EXPECT_FALSE(unequal);
}

TEST(OnnxReader, EveryOutputHasItsOwnName) {
  const std::string graph = input("x", kFloat, {4}) + input("past", kFloat, {4}) + numbers("k", {1}, {2}) +
                            node("Neg", {"x"}, {"t"}) + node("Identity", {"t"}, {"y"}) +
                            node("Identity", {"t"}, {"z"}) + node("Identity", {"past"}, {"present"}) +
                            node("TopK", {"x", "k"}, {"values", "indices"});
  const std::vector<std::string> outputs{"t", "y", "z", "present", "past", "values", "indices", "k"};
  std::string all = graph;
  for (const std::string& name : outputs) all += output(name);
  const auto program = read(model(all));
  ASSERT_TRUE(program) << program.error().text();
  const ir::ptir::Region& main = program->regions[0];
  ASSERT_EQ(main.results.size(), outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ir::ptir::Operand& operand = main.results[i].operand;
    ASSERT_TRUE(operand.kind == ir::ptir::Operand::Kind::value) << outputs[i];
    std::string_view found;
    for (const auto& p : main.parameters)
      if (p.id == operand.id) found = p.name.view();
    for (const auto& made : main.instructions)
      if (made.id == operand.id) found = made.name.view();
    EXPECT_EQ(found, outputs[i]);
  }
}

TEST(OnnxReader, AGraphGivesEachNameOnce) {
  const std::string x = input("x", kFloat, {4}) + output("y");
  const std::string neg = node("Neg", {"x"}, {"y"});
  const std::string expected = " already, expected each name once in a graph";
  const std::vector<std::pair<std::string, std::string>> cases{
      {x + neg + node("Abs", {"x"}, {"y"}), "node 1 (Abs): value y is given by node 0" + expected},
      {x + node("Split", {"x"}, {"y", "y"}), "node 0 (Split): value y is given by node 0" + expected},
      {x + node("Neg", {"x"}, {"x"}) + node("Abs", {"x"}, {"y"}),
       "node 0 (Neg): value x is given by input 0" + expected},
      {x + neg + numbers("y", {1}, {1}), "node 0 (Neg): value y is given by initializer 0" + expected},
      {x + neg + numbers("k", {1}, {1}) + numbers("k", {1}, {2}),
       "initializer 1: value k is given by initializer 0" + expected},
      {x + neg + input("x", kFloat, {4}), "input 1: value x is given by input 0" + expected},
  };
  for (const auto& [graph, error] : cases) {
    const Error found = error_of(model(graph));
    EXPECT_EQ(found.code(), Errc::invalid_file);
    EXPECT_EQ(found.text(), error);
  }
  // A graph within a node may use the names of the graph around it, each once of its own.
  const auto branch = [](const std::string& nodes) { return nodes + output("y"); };
  const auto either = [&](const std::string& nodes) {
    return model(
        x + input("p", kBool, {}) +
        node("If", {"p"}, {"y"}, {graph_in("then_branch", branch(nodes)), graph_in("else_branch", branch(neg))}));
  };
  EXPECT_TRUE(read(either(node("Abs", {"x"}, {"y"}))));
  EXPECT_EQ(error_of(either(neg + neg)).text(), "node 0 (If): node 1 (Neg): value y is given by node 0" + expected);
  // An input with an initializer has a value where the caller gives none; results without a name are none.
  EXPECT_TRUE(read(model(input("k", kInt64, {1}) + numbers("k", {1}, {2}) + input("x", kFloat, {4}) + output("v") +
                         node("TopK", {"x", "k"}, {"v", ""}) + node("TopK", {"x", "k"}, {"w", ""}))));
}

TEST(OnnxReader, ResultsAreWhatTheModelDeclares) {
  const std::string relu = input("x", kFloat, {2, 3}) + node("Relu", {"x"}, {"y"});
  EXPECT_TRUE(read(model(relu + output("y", kFloat, {2, 3}))));
  EXPECT_TRUE(read(model(relu + output("y"))));
  const Error type = error_of(model(relu + output("y", kInt64, {2, 3})));
  EXPECT_EQ(type.code(), Errc::dtype_mismatch);
  EXPECT_NE(type.text().find("output y"), std::string_view::npos) << type.text();
  EXPECT_EQ(error_of(model(relu + output("y", kFloat, {2}))).code(), Errc::shape_mismatch);
  const Error extent = error_of(model(relu + output("y", kFloat, {2, 4})));
  EXPECT_EQ(extent.code(), Errc::shape_mismatch);
  EXPECT_NE(extent.text().find("output y"), std::string_view::npos) << extent.text();
  // Read for other extents, results have others too.
  const ir::onnx::InputType wider[]{{"x", {DType::f32, {5, 3}}}};
  ir::onnx::ReadOptions options;
  options.types = wider;
  EXPECT_TRUE(read(model(relu + output("y", kFloat, {2, 3})), options));
}

/// A chain of as many nodes, each of which reads the one before and the input.
std::string chain(std::size_t nodes) {
  std::string graph = input("x", kFloat, {16}), last = "x";
  for (std::size_t i = 0; i < nodes; ++i) {
    std::string next = "v" + std::to_string(i);
    graph += node(i % 2 == 0 ? "Mul" : "Add", {last, "x"}, {next});
    last = std::move(next);
  }
  return model(graph + output(last));
}
/// Processor time of reading a file, the least of five.
double seconds(const std::string& file) {
  double least = 1e9;
  for (int round = 0; round < 5; ++round) {
    const std::clock_t before = std::clock();
    const auto program = read(file);
    EXPECT_TRUE(program) << program.error().text();
    least = std::min(least, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
  }
  return least;
}

TEST(OnnxReader, TransposedConvolutionsHaveUpToSixAxes) {
  const std::vector<std::string> operands{
      input("x", kFloat, {1, 1, 2}) + input("w", kFloat, {1, 1, 3}),
      input("x", kFloat, {1, 1, 2, 2}) + input("w", kFloat, {1, 1, 3, 3}),
      input("x", kFloat, {1, 1, 2, 2, 2}) + input("w", kFloat, {1, 1, 3, 3, 3}),
      input("x", kFloat, {1, 1, 2, 2, 2, 2}) + input("w", kFloat, {1, 1, 3, 3, 3, 3}),
      input("x", kFloat, {1, 1, 2, 2, 2, 2, 2}) + input("w", kFloat, {1, 1, 3, 3, 3, 3, 3}),
      input("x", kFloat, {1, 1, 2, 2, 2, 2, 2, 2}) + input("w", kFloat, {1, 1, 3, 3, 3, 3, 3, 3}),
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto program = read(model(operands[i] + node("ConvTranspose", {"x", "w"}, {"z"}) + output("z")));
    EXPECT_TRUE(program) << i + 1 << " axes: " << program.error().text();
  }
}

TEST(OnnxReader, TakesTimeInProportionToTheNodes) {
  const double few = seconds(chain(4000));
  const double many = seconds(chain(16000));
  EXPECT_LT(many, 6 * few) << few << " s and " << many << " s";
}

}  // namespace
}  // namespace onnx_reader_test
