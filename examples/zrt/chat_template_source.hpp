// SPDX-License-Identifier: Apache-2.0
// examples/zrt/chat_template_source.hpp: which chat template a model is talked to with.
#pragma once

#include "model.hpp"

namespace program {

/// `chosen` is the name of a built-in template or a file; empty for the model's own, or the built-in one that a file
/// without any gets, with a warning.
[[nodiscard]] zrt::Result<std::string> chat_template_source(const std::string& chosen, const Model& model);

}  // namespace program
