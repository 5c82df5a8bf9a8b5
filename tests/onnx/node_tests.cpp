// SPDX-License-Identifier: Apache-2.0
// tests/onnx/node_tests.cpp: the node tests of the ONNX project (Debian's libonnx-testdata) on ReferenceBackend
// and CpuBackend, each against the outcome that a list names: passes, or is unsupported with its reason.
//
//   onnx_node_tests LIST [SHARD SHARDS]     fails on any difference from the list
//   onnx_node_tests LIST --write            writes the list anew; fails on a wrong result and on a failed run
//   onnx_node_tests --data PATH ...         the same for the tests at PATH: the folder of a newer ONNX, or a file that
//                                           tests/tools/onnx_operator_cases.py wrote
//   onnx_node_tests --c [PATH...]          those that call kernels of ONNX, and those at PATHs, as C (in_c.cpp)
//   onnx_node_tests --exports FOLDER LIST [--write]   the models of FOLDER, which PyTorch exported (exports.cpp)
//
// Programs run as they were read; on ReferenceBackend a second time after the passes over graphs, to the same outcome.
// A line of the list is NAME | outcome on ReferenceBackend | outcome on CpuBackend. "pass, bound: axes" says that
// the input `axes` was given to the reader as a value, because it decides a shape. "lacking" says that the backend
// does not run an op of the program yet; that it runs more than is listed is no failure, that it runs less is.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <onnx/node_case.hpp>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using zrt::test::NodeCase;
using zrt::test::Outcome;

const fs::path kData = "/usr/share/libonnx-testdata/data/node";

/// Tests whose data does not follow from their model.
const std::string kWraps = "the data wraps floats beyond four bits, which the standard leaves undefined";
const std::map<std::string, std::string> kMistaken{
    {"test_adam_multiple", "the data was computed with an epsilon of 0.01, which the model does not state"},
    {"test_cast_FLOAT16_to_INT4", kWraps},
    {"test_cast_FLOAT16_to_UINT4", kWraps},
    {"test_cast_FLOAT_to_INT4", kWraps},
    {"test_cast_FLOAT_to_UINT4", kWraps},
    {"test_castlike_FLOAT16_to_INT4", kWraps},
    {"test_castlike_FLOAT16_to_UINT4", kWraps},
    {"test_castlike_FLOAT_to_INT4", kWraps},
    {"test_castlike_FLOAT_to_UINT4", kWraps},
};
Outcome mistaken(const std::string& why) { return {Outcome::unsupported, "mistaken: " + why}; }

std::string line_of(const std::string& name, const Outcome& reference, const Outcome& cpu) {
  return name + " | " + reference.text + " | " + cpu.text;
}

}  // namespace

int main(int count, char** arguments) {
  fs::path data = kData;
  if (count >= 4 && std::string(arguments[1]) == "--data") {
    data = arguments[2];
    arguments += 2;
    count -= 2;
  }
  if (count < 2) return std::fputs("usage: onnx_node_tests LIST [--write | SHARD SHARDS]\n", stderr), 2;
  if (const std::string first = arguments[1]; first == "--exports" && count >= 4)
    return zrt::test::run_exports(arguments[2], arguments[3], count == 5) == 0 ? 0 : 1;
  const bool write = count == 3 && std::string(arguments[2]) == "--write";
  const std::size_t shard = count == 4 ? std::stoul(arguments[2]) : 0;
  const std::size_t shards = count == 4 ? std::stoul(arguments[3]) : 1;
  if (!fs::exists(data)) {
    std::printf("SKIPPED: %s is missing; install libonnx-testdata (./dev setup)\n", data.c_str());
    return 0;
  }
  std::vector<NodeCase> tests = NodeCase::load_all(data);
  if (std::string(arguments[1]) == "--c") {
    for (int i = 2; i < count; ++i)
      for (NodeCase& test : NodeCase::load_all(arguments[i])) tests.push_back(std::move(test));
    return zrt::test::run_in_c(tests) == 0 ? 0 : 1;
  }
  std::map<std::string, std::string> expected;
  if (!write) {
    std::ifstream list(arguments[1]);
    for (std::string line; std::getline(list, line);)
      if (!line.empty() && line[0] != '#') expected[line.substr(0, line.find(" | "))] = line;
  }
  std::string lines;
  std::size_t run = 0;
  std::size_t bad = 0;
  std::size_t passed[2]{};
  std::size_t lacking = 0;
  for (std::size_t i = shard; i < tests.size(); i += shards) {
    const NodeCase& test = tests[i];
    const std::string& name = test.name;
    const auto wrong_data = kMistaken.find(name);
    const bool runs = wrong_data == kMistaken.end();
    const Outcome reference = runs ? zrt::test::run_on_reference(test, false) : mistaken(wrong_data->second);
    const Outcome cpu = runs ? zrt::test::run_on_cpu(test, false) : reference;
    const Outcome optimised = runs ? zrt::test::run_on_reference(test, true) : reference;
    if (optimised.text != reference.text) {
      ++bad;
      std::printf("OPTIMISED %s | %s | without passes %s\n", name.c_str(), optimised.text.c_str(),
                  reference.text.c_str());
    }
    ++run;
    passed[0] += reference.kind == Outcome::pass;
    passed[1] += cpu.kind == Outcome::pass;
    lacking += cpu.kind == Outcome::lacking;
    const std::string line = line_of(name, reference, cpu);
    lines += line + "\n";
    if (reference.is_fault() || cpu.is_fault()) {
      ++bad;
      std::printf("WRONG %s\n", line.c_str());
    } else if (const std::string& listed = expected[name]; !write && listed != line) {
      const std::string head = name + " | " + reference.text + " | lacking";
      const bool gained = listed.compare(0, head.size(), head) == 0;
      bad += gained ? 0 : 1;
      std::printf("%s %s\n  listed %s\n", gained ? "GAINED (write the list anew)" : "DIFFERS", line.c_str(),
                  listed.empty() ? "nowhere" : listed.c_str());
    }
    expected.erase(name);
  }
  if (!write && shards == 1)
    for (const auto& [name, line] : expected) {
      ++bad;
      std::printf("MISSING %s is listed and is no test\n", name.c_str());
    }
  if (write) std::ofstream(arguments[1]) << lines;
  std::printf("%zu node tests: %zu pass on ReferenceBackend, %zu on CpuBackend, which lacks an op of %zu; %zu bad\n",
              run, passed[0], passed[1], lacking, bad);
  return bad == 0 && run != 0 ? 0 : 1;
}
