// SPDX-License-Identifier: Apache-2.0
// tests/data/docs/engine.hpp: statements of a host that has the path of a model and options.
#include <engines.hpp>
#include <zrt/engine/replay.hpp>
#include <zrt/trace/profile.hpp>
// around each block:
namespace NAME {
inline void example(const char* path, const zrt::EngineOptions& options) {
BLOCK
}
}  // namespace NAME
