// SPDX-License-Identifier: Apache-2.0
// examples/zrt/engine_reference.cpp: models on the oracle.
#include "model_of.hpp"

namespace program {

Opened open_reference(const std::string& path, const zrt::EngineOptions& options, const Watchers& watchers) {
  return open_watched<zrt::ReferenceBackend>(path, options, watchers);
}

}  // namespace program
