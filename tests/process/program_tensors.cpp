// SPDX-License-Identifier: Apache-2.0
// tests/process/program_tensors.cpp: the commands for tensor programs, as a user or another program runs them.
#include <cstring>
#include <set>
#include <support/npy_file.hpp>
#include <support/onnx_file.hpp>
#include <support/zrt_program.hpp>

namespace zrt::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kTensorProgram = R"(spec_version = ptir.v0.4
region @0 main(%0 x: f32[?N, 2], %1: si4[3]) {
  %2 doubled = elementwise_binary(%0, %0) {op = add}: f32[?N, 2]
  %3 = elementwise_binary(%1, %1) {op = add}: si4[3]
  return %2: f32[?N, 2], %3: si4[3], f64[2] {inf, 0.1}: f64[2]
}
)";

// Four tensors side by side, of which two die: for the next two the largest gap first is one gap too few.
constexpr const char* kTwoGaps = R"(spec_version = ptir.v0.4
region @0 main(%0 seed: f32[1, 1]) {
  %1 a = broadcast_to(%0) {result_shape = [64, 16]}: f32[64, 16]
  %2 b = broadcast_to(%0) {result_shape = [1, 16]}: f32[1, 16]
  %3 c = broadcast_to(%0) {result_shape = [33, 16]}: f32[33, 16]
  %4 d = broadcast_to(%0) {result_shape = [1, 15]}: f32[1, 15]
  %5 = reduce(%3) {kind = sum, axes = [0, 1], keepdims = true}: f32[1, 1]
  %6 = reduce(%1) {kind = sum, axes = [0, 1], keepdims = true}: f32[1, 1]
  %7 = elementwise_binary(%5, %6) {op = add}: f32[1, 1]
  %8 e = broadcast_to(%7) {result_shape = [32, 16]}: f32[32, 16]
  %9 f = broadcast_to(%5) {result_shape = [64, 16]}: f32[64, 16]
  return %8: f32[32, 16], %9: f32[64, 16], %2: f32[1, 16], %4: f32[1, 15]
}
)";

TEST_F(Program, PlansATensorProgramsMemoryAsAsked) {
  const std::string source = file("gaps.ptir", kTwoGaps);
  const auto arena = [&](const char* ordering, const char* fit) {
    const Outcome plan = run({"ptir", "run", source, "--dump", "plan", "--ordering", ordering, "--fit", fit});
    EXPECT_EQ(plan.status, 0) << plan.err;
    const std::size_t at = plan.out.find("an arena of ");
    return at == std::string::npos ? 0 : std::stoul(plan.out.substr(at + 12));
  };
  EXPECT_EQ(arena("program", "least"), 6400u);
  EXPECT_EQ(arena("program", "first"), 10496u);
  EXPECT_EQ(arena("program", "best"), 6400u);
  EXPECT_EQ(arena("freed_bytes", "first"), 6400u);
  EXPECT_EQ(arena("lazy_rescore", "best"), 6464u);
  EXPECT_EQ(run({"ptir", "run", source, "--fit", "worst"}).status, 2);
  EXPECT_EQ(run({"ptir", "run", source, "--ordering", "any"}).status, 2);
}

// Trips until the sum is 10 or more, in steps of what comes in.
constexpr const char* kLoopProgram = R"(spec_version = ptir.v0.4
region @0 main(%0 step: si64[]) {
  %1 = constant() {value = si64[] {0}}: si64[]
  %2 = while_loop(%1, %0) {cond_region = @1, body_region = @2}: tuple<si64[], si64[]>
  return %2[0]: si64[]
}
region @1 condition(%0: si64[], %1: si64[]) {
  %2 = compare(%0, si64[] {10}) {op = lt}: i1[]
  return %2: i1[], %0: si64[], %1: si64[]
}
region @2 body(%0: si64[], %1: si64[]) {
  %2 = elementwise_binary(%0, %1) {op = add}: si64[]
  return %2: si64[], %1: si64[]
}
)";

TEST_F(Program, LoopsMakeAsManyTripsAsAsked) {
  const std::string step = "step=" + file("step.npy", npy("<i8", "", elements<std::int64_t>({1})));
  const auto loop = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"ptir", "run", file("loop.ptir", kLoopProgram), "--feed", step};
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  };
  EXPECT_EQ(loop({}).out, "result.0: si64 [] = 10\n");
  EXPECT_EQ(loop({"--trip-limit", "10"}).out, "result.0: si64 [] = 10\n");
  const Outcome past = loop({"--trip-limit", "9"});
  EXPECT_EQ(past.status, 1);
  EXPECT_TRUE(past.err.starts_with("zrt: limit_exceeded: ")) << past.err;
  EXPECT_NE(loop({"--trip-limit", "9", "--dump", "c"}).out.find(" == 9"), std::string::npos);
  const std::string plan = loop({"--dump", "plan"}).out;
  EXPECT_NE(plan.find("\n    region(r0, r1)\n      0: r2 si64 [] = constant("), std::string::npos) << plan;
  EXPECT_NE(plan.find("\n      1: r3 i1 [] = compare(lhs=r0, rhs=r2)"), std::string::npos) << plan;
  EXPECT_NE(plan.find("\n    gives r3, r0, r1\n"), std::string::npos) << plan;
  EXPECT_EQ(loop({"--trip-limit", "-1"}).status, 2);
  EXPECT_EQ(loop({"--trip-limit", "many"}).status, 2);

  using namespace onnx_file;
  const std::string body = node("Identity", {"c"}, {"d"}) + node("Identity", {"i"}, {"s"}) + input("i", kInt64, {}) +
                           input("c", kBool, {}) + output("d") + output("s");
  const std::string model = file(
      "loop.onnx",
      onnx_file::model(numbers("n", {}, {3}) + node("Loop", {"n", ""}, {"z"}, {graph_in("body", body)}) + output("z")));
  EXPECT_EQ(run({"ptir", "run", model}).out, "z: si64 [3] = [0,1,2]\n");
  // Read trip by trip, or as a loop.
  EXPECT_EQ(run({"ptir", "run", model, "--unrolled-trips", "3"}).out, "z: si64 [3] = [0,1,2]\n");
  EXPECT_EQ(run({"ptir", "run", model, "--unrolled-trips", "2"}).out, "z: si64 [3] = [0,1,2]\n");
  // A sequence grows trip by trip alone.
  const std::string grows = node("Identity", {"c"}, {"d"}) + node("SequenceInsert", {"q", "i"}, {"r"}) +
                            input("i", kInt64, {}) + input("c", kBool, {}) + field(11, field(1, "q")) + output("d") +
                            output("r");
  const std::string grown =
      file("grown.onnx", onnx_file::model(numbers("n", {}, {3}) + node("SequenceEmpty", {}, {"e"}) +
                                          node("Loop", {"n", "", "e"}, {"l"}, {graph_in("body", grows)}) +
                                          node("SequenceLength", {"l"}, {"z"}) + output("z")));
  EXPECT_EQ(run({"ptir", "run", grown}).out, "z: si64 [] = 3\n");
  EXPECT_EQ(run({"ptir", "run", grown, "--unrolled-trips", "2"}).err,
            "zrt: unimplemented: " + grown +
                ": node 1 (Loop): 3 trips that must be unrolled, at most 2 by --unrolled-trips\n");
}

TEST_F(Program, RunsATensorProgram) {
  const std::string source = file("twice.ptir", kTensorProgram);
  const std::string x = "x=" + file("x.npy", npy("<f4", "2, 2", elements<float>({1, 2, 0.1f, -4})));
  const std::string y = "%1=" + file("y.npy", npy("|i1", "3,", elements<std::int8_t>({1, -2, 3})));
  const Outcome text = run({"ptir", "run", source, "--feed", x, "--feed", y});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_EQ(text.out,
            "doubled: f32 [2, 2] = [[2.0,4.0],[0.2,-8.0]]\n"
            "result.1: si4 [3] = [2,-4,6]\n"
            "result.2: f64 [2] = [\"inf\",0.1]\n");
  const std::string turned = "x=" + file("turned.npy", npy("<f4", "2, 2", elements<float>({1, 0.1f, 2, -4}), true));
  EXPECT_EQ(run({"ptir", "run", source, "--feed", turned, "--feed", y}).out, text.out);
  const Outcome machine = run({"ptir", "run", source, "--feed", x, "--feed", y, "--json", "--threads", "2"});
  EXPECT_EQ(machine.status, 0) << machine.err;
  const json all = json::parse(machine.out)["outputs"];
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], json::parse(R"({"name":"doubled","dtype":"f32","shape":[2,2],"values":[[2.0,4.0],[0.2,-8.0]]})"));

  const Outcome written = run({"ptir", "run", source, "--feed", x, "--feed", y, "--out", path("out")});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(contents(path("out/doubled.npy")), npy("<f4", "2, 2", elements<float>({2, 4, 0.2f, -8})));
  EXPECT_EQ(contents(path("out/result.1.npy")), npy("|i1", "3,", elements<std::int8_t>({2, -4, 6})));
  EXPECT_EQ(run({"ptir", "run", source, "--feed", x, "--feed", y, "--out", path("a/b")}).status, 0);
  EXPECT_EQ(contents(path("a/b/doubled.npy")), contents(path("out/doubled.npy")));
  const Outcome within_file = run({"ptir", "run", source, "--feed", x, "--feed", y, "--out", source + "/out"});
  EXPECT_EQ(within_file.status, 1);
  EXPECT_EQ(within_file.err, "zrt: io_error: cannot write " + source + "/out: Not a directory\n");
  fs::remove(path("out/doubled.npy"));
  fs::create_directory(path("out/doubled.npy"));
  const Outcome folder = run({"ptir", "run", source, "--feed", x, "--feed", y, "--out", path("out")});
  EXPECT_EQ(folder.status, 1);
  EXPECT_EQ(folder.err, "zrt: io_error: cannot write " + path("out/doubled.npy") + ": Is a directory\n");

  const Outcome plan = run({"ptir", "run", source, "--feed", x, "--dump", "plan"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_NE(plan.out.find("elementwise_binary(lhs=r"), std::string::npos) << plan.out;
  const Outcome code = run({"ptir", "run", source, "--feed", x, "--dump", "c"});
  EXPECT_EQ(code.status, 0) << code.err;
  EXPECT_NE(code.out.find("(const void *const *inputs, void *const *outputs, void *arena, int training) {"),
            std::string::npos)
      << code.out;
  const Outcome dot = run({"ptir", "run", source, "--dump", "dot"});
  EXPECT_EQ(dot.status, 0) << dot.err;
  EXPECT_NE(dot.out.find("digraph"), std::string::npos);
}

TEST_F(Program, WhatDataBreaksIsNamedByItsOp) {
  const std::string source = file("take.ptir", R"(spec_version = ptir.v0.4
region @0 main(%0 i: si32[1]) {
  %1 = take(f32[2] {1, 2}, %0): f32[1]
  return %1: f32[1]
}
)");
  const std::string index = "i=" + file("i.npy", npy("<i4", "1,", elements<std::int32_t>({2})));
  for (const char* const backend : {"cpu", "reference"}) {
    const Outcome done = run({"ptir", "run", source, "--feed", index, "--backend", backend});
    EXPECT_EQ(done.status, 1);
    EXPECT_NE(done.err.find(" (take): index 2 at [0], extent 2, in input 1 (indices)"), std::string::npos) << done.err;
  }
}

TEST_F(Program, RunsAnOnnxModel) {
  // The last bytes of the data set's messages are the elements.
  const std::string folder = std::string(ZRT_TEST_DATA_DIR) + "/onnx/gpt2_masked_fill/";
  const auto last = [&](const char* name, std::size_t bytes) {
    const std::string message = contents(folder + "test_data_set_0/" + name);
    return message.substr(message.size() - bytes);
  };
  const std::string x = "x=" + file("ids.npy", npy("<i8", "2, 6", last("input_0.pb", 2 * 6 * 8)));
  const std::string expected = last("output_0.pb", 2 * 6 * 24 * 4);
  fs::create_directory(path("logits"));
  for (const char* backend : {"cpu", "reference"}) {
    const Outcome done =
        run({"ptir", "run", folder + "model.onnx", "--feed", x, "--backend", backend, "--out", path("logits")});
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_TRUE(done.out.starts_with("y: f32 [2, 6, 24] in ")) << done.out;
    const std::string found = contents(path("logits/y.npy"));
    ASSERT_GT(found.size(), expected.size());
    const char* elements = found.data() + found.size() - expected.size();
    for (std::size_t i = 0; i < expected.size(); i += sizeof(float)) {
      float a = 0;
      float b = 0;
      std::memcpy(&a, elements + i, sizeof a);
      std::memcpy(&b, expected.data() + i, sizeof b);
      ASSERT_NEAR(a, b, 1e-4) << i / sizeof(float);
    }
  }
}

TEST_F(Program, SaysWhyATensorProgramDoesNotRun) {
  const std::string source = file("twice.ptir", kTensorProgram);
  const std::string x = "x=" + file("x.npy", npy("<f4", "1, 2", elements<float>({1, 2})));
  const std::string y = "%1=" + file("y.npy", npy("|i1", "3,", elements<std::int8_t>({1, -2, 3})));
  const std::string wide = "x=" + file("wide.npy", npy("<f8", "1, 2", elements<double>({1, 2})));
  const std::string cut = "x=" + file("cut.npy", npy("<f4", "2, 2", elements<float>({1, 2})));
  const std::string other = "x=" + file("other.npy", npy("<f4", "1, 3", elements<float>({1, 2, 3})));
  const std::string bad = file("bad.ptir", "spec_version = ptir.v0.5\n");
  const std::string no_model = file("bad.onnx", "no model");
  const std::string model = std::string(ZRT_TEST_DATA_DIR) + "/onnx/conv_1d/model.onnx";
  namespace onnx = zrt::test::onnx_file;
  const std::string shape = onnx::field(1, onnx::field(2, "N"));
  const std::string type = onnx::field(1, onnx::field(1, onnx::kFloat) + onnx::field(2, shape));
  const std::string open = file("open.onnx", onnx::model(onnx::field(11, onnx::field(1, "x") + onnx::field(2, type)) +
                                                         onnx::node("Shape", {"x"}, {"z"}) + onnx::output("z")));
  struct Case {
    std::vector<std::string> args;
    std::string said;
  };
  const std::vector<Case> cases{
      {{open}, "unimplemented: " + open + ": input x has dynamic extents and no --feed: node 0 (Shape)"},
      {{open, "--dump", "dot"}, "input x has dynamic extents and no --feed"},
      {{source, "--feed", y}, "input x has dynamic extents and no --feed"},
      {{source, "--feed", x}, "input %1 has no --feed"},
      {{source, "--feed", x, "--feed", y, "--feed", "z=" + source}, "not_found: the program has no input z"},
      {{source, "--feed", x, "--feed", x}, "is fed twice"},
      {{source, "--feed", wide}, "dtype_mismatch: input x: " + wide.substr(2) + ": the file holds <f8, expected <f4"},
      {{source, "--feed", cut}, "invalid_file: input x"},
      {{source, "--feed", "x=" + source}, "invalid_file: input x"},
      {{source, "--feed", other, "--feed", y}, "shape_mismatch: region @0"},
      {{source, "--dump", "c"}, "has dynamic extents and no --feed"},
      {{"model.onnx"}, "io_error"},
      {{no_model}, "invalid_file: " + no_model + ": a protocol buffers field"},
      {{model, "--feed", "z=" + source}, "not_found: " + model + ": the program has no input z"},
      {{model}, "input x has no --feed"},
      {{path("none.json")}, "io_error"},
      {{bad}, "unsupported_version"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> args{"ptir", "run"};
    args.insert(args.end(), c.args.begin(), c.args.end());
    const Outcome done = run(args);
    EXPECT_EQ(done.status, 1) << json(args);
    EXPECT_TRUE(done.out.empty()) << json(args);
    EXPECT_NE(done.err.find(c.said), std::string::npos) << json(args) << ": " << done.err;
  }
  EXPECT_EQ(run({"ptir"}).status, 2);
  EXPECT_EQ(run({"ptir", "run"}).status, 2);
  EXPECT_EQ(run({"ptir", "run", source, "--dump", "poem"}).status, 2);
  EXPECT_EQ(run({"ptir", "run", "--help"}).status, 0);
}

constexpr const char* kFusedProgram = R"({"version":1,"feeds":[0,4],"steps":[
{"step_id":0,"op_name":"dropout","input_ids":[0],"attrs":{"rate":0.5},"result_id":1,"mode_sensitive":true},
{"step_id":1,"op_name":"elementwise_binary","input_ids":[0,4],"attrs":{"op":"add"},"result_id":2,"mode_sensitive":false}],
"outputs":{"y":1},"state_in":[4],"state_out":[{"state":4,"value":2}],"meta":[{"id":4,"dtype":"f32","shape":[4]}]})";

TEST_F(Program, RunsAFusedProgramInBothModes) {
  const std::string source = file("drop.json", kFusedProgram);
  const std::string x = "0=" + file("x.npy", npy("<f4", "4,", elements<float>({1, 2, 3, 4})));
  const std::string w = "%4=" + file("w.npy", npy("<f4", "4,", elements<float>({10, 20, 30, 40})));
  const std::vector<std::string> call{"fused", "run", source, "--feed", x, "--feed", w};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = call;
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  };
  const Outcome evaluation = with({});
  EXPECT_EQ(evaluation.status, 0) << evaluation.err;
  EXPECT_EQ(evaluation.out, "y: f32 [4] = [1.0,2.0,3.0,4.0]\nstate.4: f32 [4] = [10.0,20.0,30.0,40.0]\n");
  std::set<std::string> draws;
  for (const std::string seed : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    const Outcome training = with({"--training", "--seed", seed});
    EXPECT_EQ(training.status, 0) << training.err;
    EXPECT_NE(training.out.find("state.4: f32 [4] = [11.0,22.0,33.0,44.0]"), std::string::npos) << training.out;
    EXPECT_EQ(with({"--training", "--seed", seed, "--backend", "reference"}).out, training.out);
    draws.insert(training.out);
  }
  EXPECT_GT(draws.size(), 3u);
  // No output takes a state's name.
  const std::string taken =
      std::string(kFusedProgram).replace(std::string(kFusedProgram).find("\"y\""), 3, "\"state.4\"");
  const Outcome both = run({"fused", "run", file("taken.json", taken), "--feed", x, "--feed", w});
  EXPECT_EQ(both.out, "state.4.output: f32 [4] = [1.0,2.0,3.0,4.0]\nstate.4: f32 [4] = [10.0,20.0,30.0,40.0]\n");
  const Outcome code = with({"--dump", "c"});
  EXPECT_EQ(code.status, 0) << code.err;
  EXPECT_NE(code.out.find("void *arena, int training) {"), std::string::npos) << code.out;
  EXPECT_NE(code.out.find("if (training == 0)"), std::string::npos) << code.out;
  EXPECT_EQ(with({"--dump", "dot"}).status, 2);
  const Outcome unbound = run({"fused", "run", source, "--feed", x});
  EXPECT_EQ(unbound.status, 1);
  EXPECT_EQ(unbound.err,
            "step 1 (elementwise_binary): feed 4 is not bound\n  feed 4: not bound\n  input 0: bound, f32[4]\n"
            "  input 4: missing, a feed that is not bound, of no known type, declared as f32[4]\n"
            "  result 2, f32[4], to state 4\n  backend inspected: cpu\n"
            "zrt: invalid_argument: feed 4 is not bound\n");
  const std::string odd = std::string(kFusedProgram).replace(std::string(kFusedProgram).find("_binary"), 7, "_ternary");
  const Outcome unknown = run({"fused", "run", file("odd.json", odd), "--feed", x, "--feed", w});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_EQ(unknown.err,
            "step 1 (elementwise_ternary): elementwise_ternary is no operation\n  input 0: bound, f32[4]\n"
            "  input 4: bound, f32[4], declared as f32[4]\n  result 2, of no known type, to state 4\n"
            "  backend inspected: cpu\nzrt: unsupported_opcode: elementwise_ternary is no operation\n");
  const std::string power =
      std::string(kFusedProgram).replace(std::string(kFusedProgram).find("\"add\""), 5, "\"pow\"");
  const Outcome attribute = run({"fused", "run", file("power.json", power), "--feed", x, "--feed", w});
  EXPECT_EQ(attribute.status, 1);
  EXPECT_EQ(attribute.err,
            "step 1 (elementwise_binary): attribute op: expected one of the names of op, found \"pow\"\n"
            "  input 0: a feed, of no known type\n  input 4: a feed, of no known type, declared as f32[4]\n"
            "  result 2, of no known type, to state 4\n  backend inspected: cpu\n"
            "zrt: invalid_file: attribute op: expected one of the names of op, found \"pow\"\n");
  const std::string wide = "0=" + file("wide.npy", npy("<f4", "3,", elements<float>({1, 2, 3})));
  const Outcome broken = run({"fused", "run", source, "--feed", wide, "--feed", w});
  EXPECT_EQ(broken.status, 1);
  EXPECT_NE(broken.err.find("step 1 (elementwise_binary)"), std::string::npos) << broken.err;
}

TEST_F(Program, NamesTheStepOfAFusedProgramThatDataBreaks) {
  const std::string source = file("take.json", R"({"version":1,"feeds":[0,1],"steps":[
{"step_id":3,"op_name":"stop_gradient","input_ids":[0],"attrs":{},"result_id":2,"mode_sensitive":false},
{"step_id":5,"op_name":"take","input_ids":[2,1],"attrs":{},"result_id":3,"mode_sensitive":false}],
"outputs":{"y":3}})");
  const std::string x = "0=" + file("x.npy", npy("<f4", "2,", elements<float>({1, 2})));
  const std::string i = "1=" + file("i.npy", npy("<i4", "2,", elements<std::int32_t>({0, 2})));
  const Outcome broken = run({"fused", "run", source, "--feed", x, "--feed", i});
  EXPECT_EQ(broken.status, 1);
  EXPECT_EQ(broken.err,
            "step 5 (take): take met data outside its contract\n"
            "  input 2: produced, f32[2], from step 3 (stop_gradient)\n  input 1: bound, si32[2]\n"
            "  result 3, f32[2], to output y\n  backend inspected: cpu\n"
            "zrt: spec_violation: take met data outside its contract\n");
}

}  // namespace
}  // namespace zrt::test
