// SPDX-License-Identifier: Apache-2.0
// tests/onnx/on_reference.cpp: node tests on ReferenceBackend, and how they are loaded.
#include <fstream>
#include <iterator>
#include <onnx/run_case.hpp>
#include <programs.hpp>

namespace zrt::test {

namespace {

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::vector<std::string> messages(const std::filesystem::path& folder, const std::string& kind) {
  std::vector<std::string> all;
  for (std::size_t i = 0;; ++i) {
    const auto path = folder / (kind + "_" + std::to_string(i) + ".pb");
    if (!std::filesystem::exists(path)) return all;
    all.push_back(bytes_of_file(path));
  }
}

}  // namespace

NodeCase NodeCase::load(const std::filesystem::path& folder) {
  const auto data = folder / "test_data_set_0";
  return {bytes_of_file(folder / "model.onnx"), messages(data, "input"), messages(data, "output")};
}

Outcome run_on_reference(const NodeCase& test, bool optimise) {
  return run_case<engines::ReferencePrograms>(test, 1, optimise);
}

}  // namespace zrt::test
