// SPDX-License-Identifier: Apache-2.0
// examples/zrt/engine_cpu.cpp: models on the CPU, and the catalog's table.
#include "model_of.hpp"

namespace program {

Opened open_cpu(const std::string& path, const zrt::EngineOptions& options, const Watchers& watchers) {
  return open_watched<zrt::CpuBackend>(path, options, watchers);
}

zrt::Result<void> expect_usual_context(const zrt::model::GgufFile& file) {
  const auto facts = zrt::read_model<zrt::AllFamilies>(file, zrt::EngineOptions{});
  if (!facts) return zrt::pass(facts);
  return {};
}

const zrt::OpTable& op_table() { return zrt::kOpTable<zrt::ops::Catalog>; }

}  // namespace program
