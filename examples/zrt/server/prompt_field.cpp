// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/prompt_field.cpp: the forms of a prompt.
#include "prompt_field.hpp"

namespace program::server {
namespace {

Prompt prompt_of_text(const std::string& text, const std::string& path, const ServedModel& model) {
  if (text.empty()) throw bad_field(path, "'" + path + "' is empty");
  auto ids = model.tokenizer->encode(text, {.add_special = true, .parse_special = true});
  if (!ids) throw api_error(ids.error(), path);
  return {{ids->begin(), ids->end()}, text};
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
