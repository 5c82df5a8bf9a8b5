// SPDX-License-Identifier: Apache-2.0
// examples/zrt/model_choice.hpp: the models that a server's command line names, with their adapters.
#pragma once

#include "adapter_choice.hpp"

namespace program {

/// A file with the id that requests give it.
struct NamedModel {
  std::string name;
  std::string path;
  std::vector<NamedAdapter> adapters{};
};

/// Reads what --model and --adapter say. One model is FILE or NAME=FILE and takes `alias` for a name, or the file's; each of
/// several is NAME=FILE, and its adapters are MODEL:NAME=FILE.
///
/// Errors: Errc::invalid_argument for a text without a name or a file, a name that is there twice, an adapter of no model,
/// and an alias for several.
[[nodiscard]] zrt::Result<std::vector<NamedModel>> named_models(const std::vector<std::string>& models,
                                                                const std::string& alias,
                                                                const std::vector<std::string>& adapters);

}  // namespace program
