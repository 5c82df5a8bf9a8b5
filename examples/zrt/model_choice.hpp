// SPDX-License-Identifier: Apache-2.0
// examples/zrt/model_choice.hpp: the models that a server's command line names, with their adapters.
#pragma once

#include "adapter_choice.hpp"

namespace program {

/// A file with the id that requests give it.
struct NamedModel {
  std::string name;
  std::string path;
  std::string mmproj{};  ///< file of its encoder of images; empty: none
  std::vector<NamedAdapter> adapters{};
};

/// Texts of the command line about models.
struct ModelTexts {
  const std::vector<std::string>& models;    ///< --model
  const std::string& alias;                  ///< --alias
  const std::vector<std::string>& mmproj;    ///< --mmproj
  const std::vector<std::string>& adapters;  ///< --adapter
};

/// Reads what they say. One model is FILE or NAME=FILE and takes the alias for a name, or the file's; its encoder is a
/// FILE. Each of several is NAME=FILE, its encoder too, and its adapters are MODEL:NAME=FILE.
///
/// Errors: Errc::invalid_argument for a text without a name or a file, a name that is there twice, an adapter or an
/// encoder of no model, and an alias for several.
[[nodiscard]] zrt::Result<std::vector<NamedModel>> named_models(const ModelTexts& texts);

}  // namespace program
