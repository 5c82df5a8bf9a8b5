// SPDX-License-Identifier: Apache-2.0
// tests/onnx/on_reference.cpp: node tests on ReferenceBackend, and how they are loaded.
#include <algorithm>
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
  return {folder.filename().string(), bytes_of_file(folder / "model.onnx"), messages(data, "input"),
          messages(data, "output")};
}

std::vector<NodeCase> NodeCase::load_all(const std::filesystem::path& path) {
  std::vector<NodeCase> all;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) all.push_back(load(entry.path()));
  } else {
    const std::string file = bytes_of_file(path);
    const auto read = onnx::detail::each_field(file, [&](const onnx::WireField& test) -> Result<void> {
      NodeCase& made = all.emplace_back();
      return onnx::detail::each_field(test.bytes, [&](const onnx::WireField& f) -> Result<void> {
        if (f.number == 1) made.name = f.bytes;
        if (f.number == 2) made.model = f.bytes;
        if (f.number == 3) made.inputs.emplace_back(f.bytes);
        if (f.number == 4) made.outputs.emplace_back(f.bytes);
        return {};
      });
    });
    if (!read) all.clear();
  }
  std::ranges::sort(all, {}, &NodeCase::name);
  return all;
}

Outcome run_on_reference(const NodeCase& test, bool optimise) {
  return run_case<engines::ReferencePrograms>(test, 1, optimise);
}

}  // namespace zrt::test
