// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/prompt_field.cpp: the forms of a prompt.
#include "prompt_field.hpp"

#include <algorithm>

namespace program::server {
namespace {

/// The first bytes of a text, whole characters.
std::string_view beginning(std::string_view text, std::size_t bytes) {
  while (bytes != 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0u) == 0x80u) --bytes;
  return text.substr(0, bytes);
}

std::vector<std::int32_t> encoded(std::string_view text, const zrt::text::EncodeOptions& options,
                                  const std::string& param, const ServedModel& model) {
  auto ids = model.tokenizer->encode(text, options);
  if (!ids) throw api_error(ids.error(), param);
  return {ids->begin(), ids->end()};
}

Prompt prompt_of_text(const std::string& text, const std::string& path, const ServedModel& model) {
  if (text.empty()) throw bad_field(path, "'" + path + "' is empty");
  return {encode_prompt(text, {.add_special = true, .parse_special = true}, path, model), text};
}

Prompt prompt_of_ids(const Json& ids, const std::string& path, const ServedModel& model) {
  Prompt prompt;
  if (ids.empty()) throw bad_field(path, "'" + path + "' is empty");
  for (const Json& id : ids) {
    const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() < model.vocabulary;
    if (!fits)
      throw bad_field(path, "'" + element_path(path, prompt.tokens.size()) + "' is no token id of 0.." +
                                std::to_string(model.vocabulary - 1));
    prompt.tokens.push_back(static_cast<std::int32_t>(id.get<std::uint64_t>()));
  }
  return prompt;
}

}  // namespace

std::vector<std::int32_t> encode_prompt(std::string_view text, const zrt::text::EncodeOptions& options,
                                        const std::string& param, const ServedModel& model) {
  // Words take about four bytes a token, so this much gives four times the tokens of the context.
  constexpr std::size_t kBytesOfToken = 16;
  constexpr std::size_t kLeastBytes = 16384;
  const std::size_t probed = std::max(kLeastBytes, kBytesOfToken * model.context);
  if (text.size() / 4 > probed) {
    const std::string_view first = beginning(text, probed);
    zrt::text::EncodeOptions of_first = options;
    of_first.given = of_first.given.subspan(0, std::min(of_first.given.size(), first.size()));
    // How a text goes on may change its tokens at the cut, and not half of those before it.
    if (encoded(first, of_first, param, model).size() / 2 > model.context) {
      ApiError error = bad_field(param, "the prompt has more than " + std::to_string(model.context) +
                                            " tokens, which is what the context holds");
      error.code = "context_length_exceeded";
      throw error;
    }
  }
  return encoded(text, options, param, model);
}

std::vector<Prompt> read_prompts(const Json& json, const std::string& path, const ServedModel& model) {
  if (json.is_string()) return {prompt_of_text(json.get_ref<const std::string&>(), path, model)};
  if (expect_list(json, path).empty()) throw bad_field(path, "'" + path + "' is empty");
  if (json[0].is_number()) return {prompt_of_ids(json, path, model)};
  if (json.size() > kMostPrompts)
    throw bad_field(path, "'" + path + "' has " + std::to_string(json.size()) + " elements, expected at most " +
                              std::to_string(kMostPrompts));
  std::vector<Prompt> prompts;
  for (const Json& one : json) {
    const std::string where = element_path(path, prompts.size());
    prompts.push_back(one.is_string() ? prompt_of_text(one.get_ref<const std::string&>(), where, model)
                                      : prompt_of_ids(expect_list(one, where), where, model));
  }
  return prompts;
}

}  // namespace program::server
