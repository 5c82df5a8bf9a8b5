// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/prompt_field.hpp: a field that holds texts or token ids, one or a list of them.
#pragma once

#include "fields.hpp"
#include "served_model.hpp"

namespace program::server {

/// A text as the model reads it.
struct Prompt {
  std::vector<std::int32_t> tokens;
  std::optional<std::string> text{};  ///< absent where the client gave ids
};

inline constexpr std::size_t kMostPrompts = 2048;

/// The tokens of a text. One that is far longer than the context is refused by its beginning, because all of it takes
/// seconds to read. Throws ApiError.
[[nodiscard]] std::vector<std::int32_t> encode_prompt(std::string_view text, const zrt::text::EncodeOptions& options,
                                                      const std::string& param, const ServedModel& model);

/// Reads a string, a list of strings, a list of ids or a list of lists of ids. Throws ApiError.
[[nodiscard]] std::vector<Prompt> read_prompts(const Json& json, const std::string& path, const ServedModel& model);

}  // namespace program::server
