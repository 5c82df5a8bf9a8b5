// SPDX-License-Identifier: Apache-2.0
// tests/process/program_onnx.cpp: the commands for ONNX files, other forms of programs, and archives of tensors.
#include <cstring>
#include <support/npy_file.hpp>
#include <support/onnx_file.hpp>
#include <support/zrt_program.hpp>

namespace zrt::test {
namespace {

using nlohmann::json;
using namespace onnx_file;

/// An input of f32 whose axes are numbers or symbols.
std::string symbolic(std::string_view name, const std::vector<std::string>& axes) {
  std::string shape;
  for (const std::string& axis : axes)
    shape += field(1, axis[0] >= '0' && axis[0] <= '9' ? field(1, std::int64_t{std::stoi(axis)}) : field(2, axis));
  return field(11, field(1, name) + field(2, field(1, field(1, kFloat) + field(2, shape))));
}

/// z = x W + y, with W of 3 by 4.
std::string product() {
  std::string w = field(1, std::int64_t{3}) + field(1, std::int64_t{4}) + field(2, kFloat) + field(8, "W") +
                  field(9, elements(std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}));
  return onnx_file::model(field(5, w) + symbolic("x", {"N", "3"}) + symbolic("y", {"N", "4"}) +
                          node("MatMul", {"x", "W"}, {"p"}) + node("Add", {"p", "y"}, {"z"}) + output("z"));
}

const std::string kX = npy("<f4", "2, 3", elements(std::vector<float>{1, 2, 3, 4, 5, 6}));
const std::string kY = npy("<f4", "2, 4", elements(std::vector<float>{0, 0, 0, 1, 0, 0, 0, 2}));

TEST_F(Program, InspectsAnOnnxFile) {
  const std::string file_of_model = file("product.onnx", product());
  const Outcome open = run({"onnx", "inspect", file_of_model});
  EXPECT_EQ(open.status, 0) << open.err;
  EXPECT_EQ(open.out,
            "opset 17, 2 nodes, 12 parameters (48 B)\n"
            "input x: f32 [N, 3]\ninput y: f32 [N, 4]\nsymbol N\noperator Add: 1\noperator MatMul: 1\n"
            "refused: unimplemented: node 0 (MatMul): an extent must be known when the program is made, and input x "
            "leaves extents open\n");
  const Outcome closed = run({"onnx", "inspect", file_of_model, "--extent", "N=2", "--json"});
  EXPECT_EQ(closed.status, 0) << closed.err;
  const json facts = json::parse(closed.out);
  EXPECT_EQ(facts["inputs"][0]["shape"], json::parse(R"(["N", 3])"));
  EXPECT_EQ(facts["parameters"], 12);
  // Two for each of the 2 x 4 x 3 products, and one for each of the 2 x 4 sums.
  EXPECT_EQ(facts["needs"]["flops"], 2 * 24 + 8);
  EXPECT_GT(facts["needs"]["arena_bytes"], 0);
  EXPECT_EQ(run({"onnx", "inspect", file_of_model, "--extent", "N"}).status, 2);
  EXPECT_EQ(run({"onnx", "inspect", file_of_model, "--extent", "N=0"}).status, 2);
  EXPECT_EQ(run({"onnx", "inspect", file("no.onnx", "no model")}).status, 1);
}

TEST_F(Program, InspectingNamesWhatIsRefused) {
  const std::string refused =
      file("refused.onnx",
           onnx_file::model(input("x", kFloat, {4}) + node("Relu", {"x"}, {"a"}) +
                            node("RandomNormalLike", {"a"}, {"z"}) + node("Rubbish", {"z"}, {"y"}) + output("y")));
  const Outcome done = run({"onnx", "inspect", refused});
  EXPECT_EQ(done.status, 0) << done.err;
  for (const char* said :
       {"operator Relu: 1\n", "operator RandomNormalLike: 1, refused: operator RandomNormalLike is not translated\n",
        "operator Rubbish: 1, refused: operator Rubbish is not translated\n",
        "\nrefused: unimplemented: node 1 (RandomNormalLike)"})
    EXPECT_NE(done.out.find(said), std::string::npos) << said << "\n" << done.out;
}

TEST_F(Program, InspectsAnOnnxFileWithStrings) {
  constexpr std::int64_t kStrings = 8;
  const std::string labels =
      field(5, field(1, std::int64_t{2}) + field(2, kStrings) + field(8, "labels") + field(6, "cat") + field(6, "dog"));
  const std::string model =
      file("labels.onnx", onnx_file::model(input("name", kStrings, {3}) + labels +
                                           node("Concat", {"name", "labels"}, {"all"}, {integer("axis", 0)}) +
                                           output("all", kStrings, {5})));
  const Outcome seen = run({"onnx", "inspect", model});
  EXPECT_EQ(seen.status, 0) << seen.err;
  EXPECT_EQ(seen.out.find("opset 17, 1 nodes, 0 parameters (0 B)\ninput name: strings [3]\noutput all: strings [5]\n"
                          "operator Concat: 1\ninstructions: "),
            0u)
      << seen.out;
  EXPECT_EQ(json::parse(run({"onnx", "inspect", model, "--json"}).out)["inputs"][0]["dtype"], "strings");
  const Outcome refused = run({"onnx", "run", model});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("tensors of strings"), std::string::npos) << refused.err;
}

TEST_F(Program, RunsAndMeasuresAnOnnxFile) {
  const std::string model = file("product.onnx", product());
  const std::vector<std::string> feeds{"--feed", "x=" + file("x.npy", kX), "--feed", "y=" + file("y.npy", kY)};
  const auto command = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  EXPECT_EQ(command({"onnx", "run", model}, feeds).out, "z: f32 [2, 4] = [[1.0,2.0,3.0,1.0],[4.0,5.0,6.0,2.0]]\n");
  const Outcome timed = command({"onnx", "bench", model, "--runs", "3", "--json"}, feeds);
  EXPECT_EQ(timed.status, 0) << timed.err;
  const json facts = json::parse(timed.out);
  EXPECT_EQ(facts["runs"], 3);
  EXPECT_GT(facts["median_seconds"], 0);
  EXPECT_LE(facts["least_seconds"], facts["most_seconds"]);
  EXPECT_EQ(json::parse(run({"onnx", "bench", model, "--extent", "N=2", "--json"}).out)["flops"], 56);
  EXPECT_EQ(run({"onnx", "bench", model}).status, 1);
}

TEST_F(Program, HoldsInputsToWhatTheOnnxFileDeclares) {
  const std::string model = file("product.onnx", product());
  const std::string x = "x=" + file("x.npy", kX);
  const std::string narrow = file("narrow.npy", npy("<f4", "2, 2", elements(std::vector<float>{1, 2, 3, 4})));
  const std::string one = file("one.npy", npy("<f4", "1, 4", elements(std::vector<float>{1, 2, 3, 4})));
  const std::string flat = file("flat.npy", npy("<f4", "3,", elements(std::vector<float>{1, 2, 3})));
  struct Case {
    std::string x, y, said;
  };
  for (const Case& c : {Case{"x=" + narrow, "y=" + one, "input x, axis 1: expected 3, found 2\n"},
                        Case{x, "y=" + one, "input y, axis 0: expected 2, which N is in input x, found 1\n"},
                        Case{"x=" + flat, "y=" + one, "input x: expected 2 axes, found 1\n"}}) {
    const Outcome done = run({"onnx", "run", model, "--feed", c.x, "--feed", c.y});
    EXPECT_EQ(done.status, 1);
    EXPECT_EQ(done.err, "zrt: shape_mismatch: " + model + ": " + c.said);
  }
  EXPECT_EQ(run({"onnx", "run", model, "--feed", "q=" + narrow}).err,
            "zrt: not_found: " + model + ": the program has no input q, its inputs: x, y\n");
}

TEST_F(Program, ConvertsTensorPrograms) {
  const std::string model = file("product.onnx", product());
  const std::string text = path("p.ptir"), as_json = path("p.json"), back = path("back.ptir");
  EXPECT_EQ(run({"ptir", "convert", model, "--extent", "N=2", "--out", text}).status, 0);
  EXPECT_EQ(run({"ptir", "convert", text, "--out", as_json}).status, 0);
  EXPECT_EQ(run({"ptir", "convert", as_json, "--out", back}).status, 0);
  EXPECT_EQ(run({"ptir", "convert", back}).out, run({"ptir", "convert", text}).out);
  EXPECT_EQ(json::parse(run({"ptir", "convert", text, "--to", "json"}).out)["spec_version"], "ptir.v0.4");
  const std::string x = "x=" + file("x.npy", kX), y = "y=" + file("y.npy", kY);
  for (const std::string& form : {text, as_json, back})
    EXPECT_EQ(run({"ptir", "run", form, "--feed", x, "--feed", y}).out,
              run({"onnx", "run", model, "--feed", x, "--feed", y}).out);
  const Outcome fixed = run({"ptir", "convert", model, "--extent", "N=2"});
  EXPECT_NE(fixed.out.find("x: f32[2, 3]"), std::string::npos) << fixed.out;
  EXPECT_EQ(run({"ptir", "convert", file("bad.json", "{\"spec_version\": \"ptir.v0.4\",\n \"regions\": }")}).err,
            "zrt: invalid_file: " + path("bad.json") + ": line 2, column 13: the text is not JSON\n");
  EXPECT_EQ(run({"ptir", "convert", text, "--to", "poem"}).status, 2);
}

TEST_F(Program, ReadsAndWritesArchivesOfTensors) {
  const std::string model = file("product.onnx", product());
  // Its own archive, written from what an identity gives back, is one that it reads.
  const std::string same =
      file("same.onnx",
           onnx_file::model(symbolic("x", {"N", "3"}) + symbolic("y", {"N", "4"}) + node("Identity", {"x"}, {"a"}) +
                            node("Identity", {"y"}, {"b"}) + output("a") + output("b")));
  const std::string archive = path("in.npz");
  const std::string x = "x=" + file("x.npy", kX), y = "y=" + file("y.npy", kY);
  EXPECT_EQ(run({"onnx", "run", same, "--feed", x, "--feed", y, "--out", archive}).status, 0);
  const std::string wanted = run({"onnx", "run", model, "--feed", x, "--feed", y}).out;
  const std::string members_x = "x=" + archive + ":a", members_y = "y=" + archive + ":b";
  EXPECT_EQ(run({"onnx", "run", model, "--feed", members_x, "--feed", members_y}).out, wanted);
  // As numpy.savez_compressed writes it: deflated, with fields of 64-bit sizes.
  const std::string deflated = std::string(ZRT_TEST_DATA_DIR) + "/npz/product.npz";
  EXPECT_EQ(run({"onnx", "run", model, "--feed", deflated}).out, wanted);
  EXPECT_EQ(run({"onnx", "run", model, "--feed", "x=" + archive + ":q"}).err,
            "zrt: not_found: " + model + ": " + archive + " holds no q\n");
  // Cut off anywhere, or with any byte of its data changed, it is refused.
  const std::string whole = contents(deflated);
  for (std::size_t length = 0; length < whole.size(); length += 37)
    EXPECT_EQ(run({"onnx", "run", model, "--feed", file("cut.npz", whole.substr(0, length))}).status, 1) << length;
  std::string changed = whole;
  changed[80] = static_cast<char>(changed[80] ^ 1);
  EXPECT_EQ(run({"onnx", "run", model, "--feed", file("changed.npz", changed)}).status, 1);
}

TEST_F(Program, NamesTheOnnxNodeThatDataBreaks) {
  const std::string gather = field(
      1, field(1, "table") + field(1, "ids") + field(2, "rows") + field(3, "/embeddings/Gather") + field(4, "Gather"));
  const std::string model =
      file("gather.onnx",
           onnx_file::model(input("table", kFloat, {3, 4}) + input("ids", kInt64, {1, 2}) + gather + output("rows")));
  const std::string table = "table=" + file("table.npy", npy("<f4", "3, 4", std::string(48, '\0')));
  const std::string ids = "ids=" + file("ids.npy", npy("<i8", "1, 2", elements(std::vector<std::int64_t>{1, 3})));
  for (const char* const backend : {"cpu", "reference"})
    EXPECT_EQ(
        run({"onnx", "run", model, "--feed", table, "--feed", ids, "--backend", backend}).err,
        "zrt: spec_violation: /embeddings/Gather: index 3 at [0, 1], extent 3, in input 1 (ids) (instruction 7)\n");
}

TEST_F(Program, WritesAPackageOfC) {
  const std::string model = file("product.onnx", product());
  const std::string folder = file("package", "") + ".d";
  EXPECT_EQ(run({"ptir", "convert", model, "--to", "c", "--extent", "N=2"}).err,
            "zrt: invalid_argument: --to c writes several files; --out names their folder\n");
  const std::string told = run({"ptir", "convert", model, "--to", "c", "--out", folder}).err;
  EXPECT_NE(
      told.find("node 0 (MatMul): an extent must be known when the program is made, and input x leaves extents open"),
      std::string::npos)
      << told;
  EXPECT_EQ(run({"ptir", "convert", model, "--name", "net"}).err, "zrt: --name and --thread-hook are for --to c\n");
  const Outcome done = run(
      {"ptir", "convert", model, "--to", "c", "--out", folder, "--extent", "N=2", "--name", "net", "--thread-hook"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_NE(contents(folder + "/net.c").find("#include \"net.h\""), std::string::npos);
  const std::string header = contents(folder + "/net.h");
  EXPECT_NE(
      header.find("int net(const void *const *inputs, void *const *outputs, void *arena, const void *weights, int "
                  "training, const struct zrt_threads *threads);"),
      std::string::npos)
      << header;
}

}  // namespace
}  // namespace zrt::test
