// SPDX-License-Identifier: Apache-2.0
// tests/onnx/node_case.hpp: one node test: a model, its inputs and its outputs; and what became of it on a backend.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace zrt::test {

struct Outcome {
  /// `lacking`: read, and refused by a backend that does not run one of its ops.
  enum Kind { pass, unsupported, lacking, wrong };
  Kind kind = unsupported;
  std::string text;
};

/// The bytes of a test: the model, and each of its first data set's messages in order.
struct NodeCase {
  std::string model;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;

  [[nodiscard]] static NodeCase load(const std::filesystem::path& folder);
};

/// Reads, plans and runs a test; `optimise` says whether the passes over graphs run, constant folding among them.
[[nodiscard]] Outcome run_on_reference(const NodeCase& test, bool optimise);
[[nodiscard]] Outcome run_on_cpu(const NodeCase& test, bool optimise);

}  // namespace zrt::test
