// SPDX-License-Identifier: Apache-2.0
// examples/zrt/model.cpp: the choice of a backend by name.
#include "model.hpp"

namespace program {

Opened open_model(const ModelOptions& model, zrt::EngineOptions options) {
  options.threads = model.threads;
  if (model.backend == "pm4") return open_pm4(model.path, options, model.device);
  if (!model.device.empty())
    return zrt::fail(zrt::Errc::invalid_argument, "backend ", std::string_view(model.backend), " has no devices");
  if (model.backend == "cpu") return open_cpu(model.path, options);
  if (model.backend == "reference") return open_reference(model.path, options);
  return zrt::fail(zrt::Errc::invalid_argument, "no backend is called ", std::string_view(model.backend));
}

}  // namespace program
