// SPDX-License-Identifier: Apache-2.0
// tests/onnx/node_case.hpp: one node test: a model, its inputs and its outputs; and what became of it on a backend.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace zrt::test {

struct Outcome {
  /// `lacking`: read, and refused by a backend that does not run one of its ops. `failed`: ran and ended in an error.
  /// `wrong`: ran, and gave something else.
  enum Kind { pass, unsupported, lacking, failed, wrong };
  Kind kind = unsupported;
  std::string text;
  std::map<std::string, std::size_t> ops{};  ///< how many instructions of each op the plan has, regions apart
  double worst = 0;  ///< of a run that gave something: the largest distance from what was expected

  [[nodiscard]] bool is_fault() const { return kind == failed || kind == wrong; }
  /// True when something was given, and all of it lies within `bound` of what was expected.
  [[nodiscard]] bool is_within(double bound) const {
    // What is wrong at no distance is no number that differs.
    return (kind == pass || (kind == wrong && worst > 0)) && worst <= bound;
  }
};

/// The bytes of a test: the model, and each of its first data set's messages in order.
struct NodeCase {
  std::string name;
  std::string model;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;

  [[nodiscard]] static NodeCase load(const std::filesystem::path& folder);
  /// All tests at `path`, sorted by name: a folder of such folders, or a file that tests/tools/onnx_operator_cases.py
  /// wrote.
  [[nodiscard]] static std::vector<NodeCase> load_all(const std::filesystem::path& path);
};

/// Reads, plans and runs a test; `optimise` says whether the passes over graphs run, constant folding among them.
[[nodiscard]] Outcome run_on_reference(const NodeCase& test, bool optimise);
[[nodiscard]] Outcome run_on_cpu(const NodeCase& test, bool optimise);

/// Runs the tests whose programs call kernels of ONNX as C, against what ReferenceBackend gives. The number of faults.
[[nodiscard]] std::size_t run_in_c(const std::vector<NodeCase>& tests);

/// Runs the models that PyTorch exported to `folder`, one folder each, against the plans that `list` names;
/// with `write`, writes the list anew. The number of faults.
[[nodiscard]] std::size_t run_exports(const std::filesystem::path& folder, const std::filesystem::path& list,
                                      bool write);

}  // namespace zrt::test
