// SPDX-License-Identifier: Apache-2.0
// tests/unit/onnx_models.cpp: models as exporters write them: functions of their own, weights in other files, sequences,
// long loops, operators in the forms of late opsets.
#include <zrt/core/cast.hpp>
#include <zrt/ir/onnx.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <support/onnx_file.hpp>
#include <support/run_program.hpp>
#include <unistd.h>
#include <vector>

namespace onnx_models_test {
namespace {

namespace fs = std::filesystem;
using namespace zrt;
using namespace zrt::test;
using namespace zrt::test::onnx_file;
using zrt::test::onnx_file::model;
using zrt::test::onnx_file::text;

Result<ir::ptir::Program> read(const std::string& file, const ir::onnx::ReadOptions& options = {}) {
  return ir::onnx::read(std::as_bytes(std::span(file)), options);
}
HostValue host(const std::vector<float>& values, std::initializer_list<std::uint32_t> extents) {
  HostValue x{{DType::f32, {}}, std::vector<std::byte>(values.size() * sizeof(float))};
  for (const std::uint32_t extent : extents) x.type.shape = x.type.shape.appended(extent);
  std::memcpy(x.bytes.data(), values.data(), x.bytes.size());
  return x;
}
template <class T = float> std::vector<T> elements(const HostValue& x) {
  std::vector<T> values(x.bytes.size() / sizeof(T));
  std::memcpy(values.data(), x.bytes.data(), x.bytes.size());
  return values;
}
/// The first output of a program on both backends, which must agree; nothing where it is refused or fails.
template <class T = float>
std::vector<T> first_output(const Result<ir::ptir::Program>& program, const std::vector<HostValue>& inputs) {
  EXPECT_TRUE(program) << program.error().text();
  if (!program) return {};
  const ProgramRun reference = run_program(*program, inputs);
  const ProgramRun cpu = run_program_on_cpu(*program, inputs);
  for (const ProgramRun* run : {&reference, &cpu}) {
    EXPECT_FALSE(run->refused) << run->refused->text();
    EXPECT_FALSE(run->failed) << run->failed->text();
    if (run->refused || run->failed) return {};
  }
  EXPECT_EQ(elements<T>(reference.outputs[0]), elements<T>(cpu.outputs[0]));
  return elements<T>(reference.outputs[0]);
}

/// A node of the domain of the model's own functions.
std::string own_node(std::string_view op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::vector<std::string>& attributes = {}) {
  return node(op, inputs, outputs, attributes, "mine");
}
std::string reference(std::string_view name, std::string_view to, std::int64_t type) {
  return field(1, name) + field(21, to) + field(20, type);
}
/// FunctionProto, as field 25 of a model. Nodes of a graph are field 1, of a function field 7.
std::string function(std::string_view name, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::vector<std::string>& nodes,
                     const std::string& more = {}) {
  std::string bytes = field(1, name);
  for (const std::string& input : inputs) bytes += field(4, input);
  for (const std::string& output : outputs) bytes += field(5, output);
  for (std::string node : nodes) bytes += (node[0] = static_cast<char>(7 << 3 | 2), node);
  return field(25, bytes + field(9, field(1, std::string_view()) + field(2, std::int64_t{18})) +
                       field(10, std::string_view("mine")) + more);
}

TEST(OnnxModels, AFunctionOfTheModelIsReadInPlaceOfItsNode) {
  // leak(x) = LeakyRelu(x, alpha = slope), with a default; twice(x) = leak(leak(x, slope), slope).
  const std::string leak =
      function("leak", {"a"}, {"b"}, {node("LeakyRelu", {"a"}, {"b"}, {reference("alpha", "slope", 1)})},
               field(11, field(1, std::string_view("slope")) + varint(2 << 3 | 5) + std::string("\0\0\0\x3f", 4) +
                             field(20, std::int64_t{1})));
  const std::string twice = function("twice", {"p"}, {"r"},
                                     {own_node("leak", {"p"}, {"q"}, {reference("slope", "steep", 1)}),
                                      own_node("leak", {"q"}, {"r"}, {reference("slope", "steep", 1)})},
                                     field(6, std::string_view("steep")));
  const auto file = [&](const std::vector<std::string>& attributes) {
    return model(input("x", kFloat, {3}) + own_node("twice", {"x"}, {"y"}, attributes) + output("y"), 18) +
           import("mine", 1) + leak + twice;
  };
  const std::vector<HostValue> inputs{host({-4, 0, 2}, {3})};
  EXPECT_EQ(first_output(read(file({})), inputs), (std::vector<float>{-1, 0, 2}));
  const std::string steep = field(1, std::string_view("steep")) + varint(2 << 3 | 5) + std::string("\0\0\x80\x3e", 4) +
                            field(20, std::int64_t{1});
  EXPECT_EQ(first_output(read(file({steep})), inputs), (std::vector<float>{-0.25f, 0, 2}));
}

TEST(OnnxModels, AFunctionMayNotCallItself) {
  const std::string again = function("again", {"a"}, {"b"}, {own_node("again", {"a"}, {"b"})});
  const auto program = read(model(input("x", kFloat, {3}) + own_node("again", {"x"}, {"y"}) + output("y"), 18) + again);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code(), Errc::limit_exceeded) << program.error().text();
}

TEST(OnnxModels, AFunctionIsCalledAsItIsDeclared) {
  const std::string same =
      function("same", {"a"}, {"b"}, {node("Identity", {"a"}, {"b"})}) +
      function("same", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"})}, field(13, std::string_view("turned")));
  const auto refused = [&](const std::string& graph) {
    const auto program = read(model(input("x", kFloat, {3}) + graph + output("y"), 18) + same);
    return program ? std::string() : std::string(program.error().text());
  };
  EXPECT_EQ(refused(own_node("same", {"x", "x"}, {"y"})),
            "node 0 (same): function same has 1 inputs and 1 outputs, the node gives 2 and 1");
  EXPECT_EQ(refused(own_node("same", {"x"}, {"y"}, {integer("more", 1)})),
            "node 0 (same): attribute more is none of function same");
  // What its nodes mean is said by its own opsets alone.
  const std::string without = field(25, field(1, std::string_view("bare")) + field(4, std::string_view("a")) +
                                            field(5, std::string_view("b")) + field(10, std::string_view("mine")));
  const auto bare = read(model(input("x", kFloat, {3}) + own_node("bare", {"x"}, {"y"}) + output("y"), 18) + without);
  ASSERT_FALSE(bare);
  EXPECT_EQ(bare.error().text(), "node 0 (bare): function bare imports no opset");
  // The node that names an overload means that one.
  std::string turned = own_node("same", {"x"}, {"y"});
  turned = field(1, turned.substr(2) + field(8, std::string_view("turned")));
  EXPECT_EQ(
      first_output(read(model(input("x", kFloat, {3}) + turned + output("y"), 18) + same), {host({1, -2, 3}, {3})}),
      (std::vector<float>{-1, 2, -3}));
  EXPECT_EQ(refused(own_node("same", {"q"}, {"y"})), "node 0 (same): input 0 (q) is computed by no node before");
}

/// A folder that goes when the test ends.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("zrt_onnx_models_" + std::to_string(::getpid()));
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path / "inside");
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
  }
};
std::string entry(std::string_view key, std::string_view value) { return field(13, field(1, key) + field(2, value)); }
/// y = x + w, whose three floats are where `entries` say.
std::string model_of(const std::string& entries) {
  const std::string w =
      field(1, std::int64_t{3}) + field(2, kFloat) + field(8, "w") + entries + field(14, std::int64_t{1});
  return model(input("x", kFloat, {3}) + field(5, w) + node("Add", {"x", "w"}, {"y"}) + output("y"), 18);
}

TEST(OnnxModels, DataLiesInFilesBesideTheModel) {
  const Folder folder;
  const std::vector<float> weights{0, 1, 2, 3, 4};
  const std::string bytes(reinterpret_cast<const char*>(weights.data()), 20);
  folder.write("weights.bin", bytes);
  folder.write("inside/weights.bin", bytes);
  const std::vector<HostValue> inputs{host({10, 20, 30}, {3})};
  for (const std::string name : {"weights.bin", "./weights.bin", "inside/weights.bin"}) {
    folder.write("model.onnx", model_of(entry("location", name) + entry("offset", "4") + entry("length", "12")));
    EXPECT_EQ(first_output(ir::onnx::read_file((folder.path / "model.onnx").string()), inputs),
              (std::vector<float>{11, 22, 33}));
  }
  // A model that is a link has its data where the link leads, as download caches lay them out.
  fs::create_directories(folder.path / "links");
  fs::create_symlink("../model.onnx", folder.path / "links/model.onnx");
  fs::create_symlink("../weights.bin", folder.path / "links/weights.bin");
  folder.write("model.onnx", model_of(entry("location", "weights.bin")));
  EXPECT_EQ(first_output(ir::onnx::read_file((folder.path / "links/model.onnx").string()), inputs),
            (std::vector<float>{10, 21, 32}));
}

TEST(OnnxModels, DataOutsideTheFolderOrItsFileIsRefused) {
  const Folder folder;
  folder.write("weights.bin", std::string(12, '\0'));
  const auto refused = [&](const std::string& entries) {
    folder.write("inside/model.onnx", model_of(entries));
    const auto program = ir::onnx::read_file((folder.path / "inside/model.onnx").string());
    return program ? std::string() : std::string(program.error().text());
  };
  fs::create_symlink("/etc/passwd", folder.path / "inside/away.bin");
  folder.write("inside/short.bin", std::string(12, '\0'));
  for (const std::string name : {"../weights.bin", "/etc/passwd", "a/../../weights.bin", "", "away.bin"})
    EXPECT_NE(refused(entry("location", name)).find("expected a file in the model's folder"), std::string::npos)
        << name << ": " << refused(entry("location", name));
  EXPECT_NE(refused(entry("location", "none.bin")).find("cannot find"), std::string::npos);
  EXPECT_EQ(refused(entry("location", "short.bin") + entry("offset", "4")),
            "tensor w: file short.bin has 12 bytes, the data is 12 bytes from 4 on");
  EXPECT_EQ(refused(entry("location", "short.bin") + entry("offset", "18446744073709551615")),
            "tensor w: the offset of its data is '18446744073709551615', expected a number below 2^60");
  EXPECT_EQ(refused(entry("location", "short.bin") + entry("length", "8")),
            "tensor w: its data has 8 bytes, its shape and type say 12");
  EXPECT_EQ(refused(entry("location", "short.bin") + entry("offset", "-1")),
            "tensor w: the offset of its data is '-1', expected a number below 2^60");
  const std::string file = model_of(entry("location", "short.bin"));
  const auto program = read(file);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().text(),
            "tensor w: its data is in another file, short.bin, and ReadOptions::external is not given");
}

TEST(OnnxModels, SequencesAndOptionalValuesAreResolved) {
  const std::string parts = node("SplitToSequence", {"x"}, {"s"}, {integer("axis", 0), integer("keepdims", 0)}) +
                            numbers("last", {}, {-1}) + node("SequenceAt", {"s", "last"}, {"e"}) +
                            node("SequenceInsert", {"s", "e"}, {"t"}) + node("Optional", {"t"}, {"o"}) +
                            node("OptionalGetElement", {"o"}, {"u"}) + node("SequenceLength", {"u"}, {"n"}) +
                            node("ConcatFromSequence", {"u"}, {"y"}, {integer("axis", 0), integer("new_axis", 1)});
  const std::vector<HostValue> inputs{host({1, 2, 3}, {3})};
  EXPECT_EQ(first_output(read(model(input("x", kFloat, {3}) + parts + output("y"), 18)), inputs),
            (std::vector<float>{1, 2, 3, 3}));
  EXPECT_EQ(first_output<std::int64_t>(read(model(input("x", kFloat, {3}) + parts + output("n"), 18)), inputs),
            (std::vector<std::int64_t>{4}));
  const auto sequence = read(model(input("x", kFloat, {3}) + parts + node("Relu", {"t"}, {"z"}) + output("z"), 18));
  ASSERT_FALSE(sequence);
  EXPECT_EQ(sequence.error().text(), "node 7 (Relu): input 0 is a sequence, expected a tensor");
}

TEST(OnnxModels, SequencesAndOptionalValuesAreInputsAndOutputs) {
  const std::string tensor = field(1, field(1, kFloat) + field(2, ""));
  const std::string sequence = field(4, field(1, tensor));
  const std::string maybe = field(9, field(1, sequence));
  const auto declared = [](unsigned number, std::string_view name, const std::string& type) {
    return field(number, field(1, name) + field(2, type));
  };
  const std::string graph = declared(11, "s", sequence) + declared(11, "o", maybe) + input("x", kFloat, {}) +
                            node("OptionalHasElement", {"o"}, {"has"}) + node("SequenceInsert", {"s", "x"}, {"t"}) +
                            declared(12, "t", sequence) + output("has", kBool, {});
  const auto read_for = [&](const std::string& of, std::vector<ir::onnx::InputLength> lengths) {
    ir::onnx::ReadOptions options;
    options.lengths = lengths;
    return read(model(of, 18), options);
  };
  const auto refused = [&](const std::string& of, std::vector<ir::onnx::InputLength> lengths) {
    const auto program = read_for(of, std::move(lengths));
    return program ? std::string() : std::string(program.error().text());
  };
  const auto program = read_for(graph, {{"s", 2}, {"o", 0, true}});
  ASSERT_TRUE(program) << program.error().text();
  const ir::ptir::Region& main = program->regions[0];
  ASSERT_EQ(main.parameters.size(), 3u);
  EXPECT_EQ(main.parameters[0].name, Name("s[0]"));
  EXPECT_EQ(main.parameters[1].name, Name("s[1]"));
  ASSERT_EQ(main.results.size(), 4u);
  EXPECT_EQ(first_output(program, {host({1}, {}), host({2}, {}), host({3}, {})}), (std::vector<float>{1}));

  EXPECT_EQ(refused(graph, {{"o", 0, true}}),
            "input s is a sequence: how many tensors it holds must be known, by ReadOptions::lengths");
  EXPECT_EQ(refused(graph, {{"s", 2, true}}), "input s is not optional");
  EXPECT_EQ(refused(graph, {{"s", 0xffffffff}}), "input s holds 4294967295 tensors, expected at most 1048576");
  EXPECT_EQ(refused(graph, {{"q", 2}}), "no input is called q");
  EXPECT_EQ(refused(input("x", kFloat, {}) + node("SequenceConstruct", {"x"}, {"y"}) + output("y", kFloat, {}), {}),
            "output y is a sequence, which the model does not declare");
  EXPECT_EQ(refused(declared(11, "o", maybe) + node("Identity", {"o"}, {"y"}) + declared(12, "y", sequence),
                    {{"o", 0, true}}),
            "output y is not there, which the model does not declare");
}

TEST(OnnxModels, BranchesGiveAndTakeSequences) {
  const auto branch = [](std::string_view name, const std::string& nodes, std::string_view gives) {
    return graph_in(name, nodes + output(gives));
  };
  const std::string pair = node("SequenceConstruct", {"x", "y"}, {"s"});
  const auto chooses = [&](const std::string& then_nodes, const std::string& else_nodes) {
    return model(
        input("c", kBool, {}) + input("x", kFloat, {1}) + input("y", kFloat, {1}) + pair +
            node("If", {"c"}, {"t"}, {branch("then_branch", then_nodes, "a"), branch("else_branch", else_nodes, "b")}) +
            output("t"),
        18);
  };
  const std::string turned =
      numbers("one", {}, {1}) + node("SequenceAt", {"s", "one"}, {"e"}) + node("SequenceConstruct", {"e", "x"}, {"b"});
  const auto program = read(chooses(node("Identity", {"s"}, {"a"}), turned));
  ASSERT_TRUE(program) << program.error().text();
  ASSERT_EQ(program->regions[0].results.size(), 2u);
  for (const bool yes : {true, false}) {
    HostValue c = host({0}, {});
    c.type.dtype = DType::i1;
    c.bytes.assign(1, std::byte{yes});
    EXPECT_EQ(first_output(program, {c, host({1}, {1}), host({2}, {1})}), (std::vector<float>{yes ? 1.0f : 2.0f}));
  }
  const auto differs = read(chooses(node("Identity", {"s"}, {"a"}), node("SequenceConstruct", {"x"}, {"b"})));
  ASSERT_FALSE(differs);
  EXPECT_EQ(
      differs.error().text(),
      "node 1 (If): the condition of branches whose results differ (input 0, c) must be known when the program is "
      "made");
}

TEST(OnnxModels, AFewNumbersOfInputsDecideAnExtentOnceTheyAreKnown) {
  const std::string graph = input("n", kFloat, {}) + input("k", kFloat, {}) + input("x", kFloat, {1}) +
                            node("Div", {"n", "k"}, {"q"}) + node("Ceil", {"q"}, {"c"}) + node("Relu", {"c"}, {"r"}) +
                            node("Cast", {"r"}, {"i"}, {integer("to", kInt64)}) + numbers("zero", {1}, {0}) +
                            node("Unsqueeze", {"i", "zero"}, {"shape"}) + node("Expand", {"x", "shape"}, {"y"}) +
                            output("y");
  const float n = 7;
  const float k = 2;
  std::vector<ir::onnx::BoundInput> bound;
  for (const std::string_view wanted : {"n", "k", ""}) {
    Name needed;
    ir::onnx::ReadOptions options;
    options.values = bound;
    options.needed = &needed;
    const auto program = read(model(graph, 13), options);
    EXPECT_EQ(needed.view(), wanted);
    EXPECT_EQ(program.has_value(), wanted.empty());
    if (program) {
      EXPECT_EQ(first_output(program, {host({5}, {1})}), (std::vector<float>{5, 5, 5, 5}));
    }
    bound.push_back({wanted, {DType::f32, {}}, as_bytes(Span(wanted == "n" ? &n : &k, 1))});
  }
}

/// A loop of `trips` whose state grows by its trip, every state stacked.
std::string counting_loop(std::int64_t trips, const std::string& condition) {
  const std::string body = node("Cast", {"i"}, {"f"}, {integer("to", kFloat)}) + node("Add", {"a", "f"}, {"b"}) +
                           node("Identity", {"b"}, {"row"}) + condition + input("i", kInt64, {}) +
                           input("c", kBool, {}) + input("a", kFloat, {}) + output("d") + output("b") + output("row");
  return model(input("x", kFloat, {}) + numbers("n", {}, {trips}) +
                   node("Loop", {"n", "", "x"}, {"last", "y"}, {graph_in("body", body)}) + output("y"),
               18);
}

TEST(OnnxModels, ALongLoopStaysALoop) {
  const auto program = read(counting_loop(1500, node("Identity", {"c"}, {"d"})));
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_LT(program->regions[0].instructions.size(), 20u);
  const std::vector<float> y = first_output(program, {host({1}, {})});
  ASSERT_EQ(y.size(), 1500u);
  float sum = 1;
  for (std::size_t i = 0; i < y.size(); ++i) {
    sum += static_cast<float>(i);
    ASSERT_EQ(y[i], sum) << i;
  }
  const auto computed = read(counting_loop(1500, numbers("limit", {}, {9}) + node("Less", {"i", "limit"}, {"d"})));
  ASSERT_FALSE(computed);
  EXPECT_NE(computed.error().text().find("whose condition is computed"), std::string::npos);
}

TEST(OnnxModels, WhatALoopCarriesMayGrowInKnownTrips) {
  const std::string body = node("Concat", {"a", "a"}, {"b"}, {integer("axis", 0)}) + node("Identity", {"c"}, {"d"}) +
                           input("i", kInt64, {}) + input("c", kBool, {}) + field(11, field(1, "a")) + output("d") +
                           output("b");
  const auto grows = [&](const std::string& trips, std::string_view name) {
    return read(model(input("x", kFloat, {1}) + trips +
                          node("Loop", {std::string(name), "", "x"}, {"y"}, {graph_in("body", body)}) + output("y"),
                      18));
  };
  const auto known = grows(numbers("n", {}, {2}), "n");
  ASSERT_TRUE(known) << known.error().text();
  EXPECT_EQ(known->regions.size(), 1u);
  EXPECT_EQ(first_output(known, {host({3}, {1})}), (std::vector<float>{3, 3, 3, 3}));
  const auto open = grows(input("n", kInt64, {}), "n");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().text(),
            "node 0 (Loop): the number of trips (input 0, n) must be known when the program is made");
  const auto endless = grows("", "");
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().text(), "node 0 (Loop): a loop with carries that grow and no number of trips");
}

TEST(OnnxModels, AScanRunsBackwardsAndOverAnyAxis) {
  const std::string body = node("Add", {"a", "r"}, {"b"}) + node("Identity", {"b"}, {"row"}) + input("a", kFloat, {2}) +
                           input("r", kFloat, {2}) + output("b") + output("row");
  const std::vector<std::string> ways{graph_in("body", body),
                                      integer("num_scan_inputs", 1),
                                      integers("scan_input_axes", {1}),
                                      integers("scan_input_directions", {1}),
                                      integers("scan_output_axes", {-1}),
                                      integers("scan_output_directions", {1})};
  const auto program = read(model(
      input("z", kFloat, {2}) + input("x", kFloat, {2, 3}) + node("Scan", {"z", "x"}, {"end", "y"}, ways) + output("y"),
      18));
  EXPECT_EQ(first_output(program, {host({0, 0}, {2}), host({1, 2, 3, 10, 20, 30}, {2, 3})}),
            (std::vector<float>{6, 5, 3, 60, 50, 30}));
}

TEST(OnnxModels, AnOperatorIsReadInItsFormAtTheModelsOpset) {
  const auto refused = [](const std::string& graph, std::int64_t opset) {
    const auto program = read(model(input("x", kFloat, {2, 3}) + graph + output("y"), opset));
    return program ? std::string() : std::string(program.error().text());
  };
  const std::string axes = numbers("axes", {1}, {1});
  EXPECT_EQ(refused(node("ReduceMax", {"x"}, {"y"}, {integers("axes", {1})}), 17), "");
  EXPECT_EQ(refused(node("ReduceMax", {"x"}, {"y"}, {integers("axes", {1})}), 18),
            "node 0 (ReduceMax): attribute axes is none that the operator has at opset 18");
  EXPECT_EQ(refused(axes + node("ReduceMax", {"x", "axes"}, {"y"}), 18), "");
  EXPECT_EQ(refused(axes + node("ReduceMax", {"x", "axes"}, {"y"}), 17),
            "node 0 (ReduceMax): the node has 2 inputs, at opset 17 the operator has at most 1");
  EXPECT_EQ(refused(node("Gelu", {"x"}, {"y"}), 19),
            "node 0 (Gelu): operator Gelu came with opset 20, the model is of opset 19");
  EXPECT_EQ(refused(node("Scatter", {"x"}, {"y"}), 18),
            "node 0 (Scatter): operator Scatter was withdrawn with opset 11, the model is of opset 18");
  EXPECT_EQ(refused(node("Softmax", {"x"}, {"y"}), 11), "");
  EXPECT_EQ(refused(node("Upsample", {"x"}, {"y"}), 8),
            "node 0 (Upsample): the model is of opset 8, operator Upsample is read in its form of 9 to 27");
  EXPECT_EQ(refused(node("Gelu", {"x"}, {"y"}), 99), "the model is of opset 99, at most 27 is read");
}

TEST(OnnxModels, AnAxisIsNamedOnce) {
  const auto refused = [&](const std::string& graph) {
    const auto program = read(model(input("x", kFloat, {3, 4}) + graph + output("y"), 18));
    return program ? std::string() : std::string(program.error().text());
  };
  const std::string twice = numbers("pads", {4}, {1, 1, 0, 0}) + numbers("axes", {2}, {1, -1});
  EXPECT_EQ(refused(twice + node("Pad", {"x", "pads", "", "axes"}, {"y"})), "node 0 (Pad): axes names axis 1 twice");
  EXPECT_EQ(refused(numbers("shape", {2}, {2, 2}) +
                    node("CenterCropPad", {"x", "shape"}, {"y"}, {integers("axes", {0, -2})})),
            "node 0 (CenterCropPad): axes names axis 0 twice");
}

TEST(OnnxModels, ANormIsComputedInTheTypeThatItStatesOrRefused) {
  const auto refused = [&](std::string_view op, const std::vector<std::string>& attributes, std::int64_t stash) {
    std::vector<std::string> all = attributes;
    all.push_back(integer("stash_type", stash));
    const std::vector<std::string> inputs =
        op == "GroupNormalization" ? std::vector<std::string>{"x", "g", "g"} : std::vector<std::string>{"x", "g"};
    const auto program = read(
        model(input("x", kFloat, {2, 4}) + input("g", kFloat, {4}) + node(op, inputs, {"y"}, all) + output("y"), 23));
    return program ? std::string() : std::string(program.error().text());
  };
  constexpr std::int64_t kHalf = 10;
  for (const std::string_view op : {"RMSNormalization", "SimplifiedLayerNormalization"}) {
    EXPECT_EQ(refused(op, {}, 1), "") << op;
    EXPECT_EQ(refused(op, {}, kHalf), "node 0 (" + std::string(op) + "): stash_type f16 of x in f32");
  }
  EXPECT_EQ(refused("GroupNormalization", {integer("num_groups", 2)}, 1), "");
  EXPECT_EQ(refused("GroupNormalization", {integer("num_groups", 2)}, kHalf),
            "node 0 (GroupNormalization): stash_type f16 of x in f32");
}

}  // namespace
}  // namespace onnx_models_test
