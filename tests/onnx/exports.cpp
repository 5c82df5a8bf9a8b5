// SPDX-License-Identifier: Apache-2.0
// tests/onnx/exports.cpp: models that PyTorch exported (tests/tools/onnx_exports.py) give what PyTorch computed, and
// their plans hold the ops that a list names.
//
// A line of the list is NAME | OP COUNT, OP COUNT, ...: the instructions of the plan after the passes. Each fusion
// stands in the plans of at least three models, which write it in ways of their own.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <onnx/node_case.hpp>

namespace zrt::test {

namespace {

/// How far a result may lie from PyTorch's.
constexpr double kBound = 1e-4;

/// What fusions make, as plans name it; "..." stands for any end.
constexpr std::array<std::string_view, 14> kFusions{
    "attention", "causal attention", "gelu",     "gelu_tanh", "silu",   "gated silu", "gated gelu...",
    "softmax",   "layer_norm",       "rms_norm", "rope",      "linear", "convolve",   "bias and..."};

bool names(std::string_view fusion, std::string_view op) {
  return fusion.ends_with("...") ? op.starts_with(fusion.substr(0, fusion.size() - 3)) : op == fusion;
}

std::string line_of(const std::string& name, const Outcome& outcome) {
  std::string line = name + " |";
  for (const auto& [op, count] : outcome.ops)
    line += (line.ends_with('|') ? " " : ", ") + op + " " + std::to_string(count);
  return line;
}

}  // namespace

std::size_t run_exports(const std::filesystem::path& folder, const std::filesystem::path& list, bool write) {
  std::map<std::string, std::string> listed;
  std::ifstream lines(list);
  for (std::string line; std::getline(lines, line);) listed[line.substr(0, line.find(" | "))] = line;
  std::vector<std::filesystem::path> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_directory()) cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  std::size_t bad = cases.empty() ? 1 : 0;
  double worst = 0;
  std::string all;
  std::array<std::size_t, kFusions.size()> models{};
  for (const auto& path : cases) {
    const std::string name = path.filename().string();
    const NodeCase test = NodeCase::load(path);
    struct Run {
      const char* what;
      Outcome outcome;
    };
    const Run runs[]{{"reference, as written", run_on_reference(test, false)},
                     {"reference", run_on_reference(test, true)},
                     {"cpu", run_on_cpu(test, true)}};
    for (const auto& [what, outcome] : runs) {
      if (outcome.is_within(kBound)) {
        worst = std::max(worst, outcome.worst);
        continue;
      }
      ++bad;
      const bool gave = outcome.kind == Outcome::pass || outcome.kind == Outcome::wrong;
      const std::string apart = gave ? std::to_string(outcome.worst) + " from PyTorch" : "nothing was given";
      std::printf("WRONG %s on %s: %s, %s\n", name.c_str(), what, outcome.text.c_str(), apart.c_str());
    }
    for (std::size_t f = 0; f < kFusions.size(); ++f)
      models[f] +=
          std::ranges::any_of(runs[1].outcome.ops, [&](const auto& op) { return names(kFusions[f], op.first); });
    const std::string line = line_of(name, runs[1].outcome);
    all += line + "\n";
    if (!write && listed[name] != line) {
      ++bad;
      std::printf("DIFFERS %s\n listed %s\n", line.c_str(), listed[name].empty() ? "nowhere" : listed[name].c_str());
    }
    listed.erase(name);
  }
  for (std::size_t f = 0; f < kFusions.size(); ++f) {
    if (models[f] >= 3) continue;
    ++bad;
    std::printf("FEW %.*s stands in the plans of %zu models, expected 3\n", static_cast<int>(kFusions[f].size()),
                kFusions[f].data(), models[f]);
  }
  if (write) std::ofstream(list) << all;
  for (const auto& [name, line] : listed) {
    bad += write ? 0 : 1;
    std::printf("MISSING %s is listed and is no case\n", name.c_str());
  }
  std::printf("%zu exported models, at most %g from PyTorch; %zu bad\n", cases.size(), worst, bad);
  return bad;
}

}  // namespace zrt::test
