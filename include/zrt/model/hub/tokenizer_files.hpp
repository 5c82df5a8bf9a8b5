// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/tokenizer_files.hpp: the files of a folder that say how text becomes tokens; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/hub/folder.hpp>

#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// tokenizer.json, tokenizer_config.json and generation_config.json, null where a folder lacks them, and its chat
/// template.
struct TokenizerFiles {
  HubJson tokenizer;
  HubJson config;
  HubJson generation;
  HubJson chat_template;  ///< a text, or a list of objects with `name` and `template`; null for none

  /// Errors: those of Folder::json.
  [[nodiscard]] static Result<TokenizerFiles> read(const Folder& folder) {
    TokenizerFiles files;
    for (auto [name, to] :
         {std::pair("tokenizer.json", &files.tokenizer), std::pair("tokenizer_config.json", &files.config),
          std::pair("generation_config.json", &files.generation)}) {
      auto json = folder.json_if(name);
      if (!json) return pass(json);
      *to = std::move(*json);
    }
    if (auto r = files.read_template(folder); !r) return pass(r);
    return files;
  }

  /// The id of a token of BPE, added or not.
  [[nodiscard]] std::optional<std::uint32_t> token(std::string_view text) const {
    std::uint32_t id = 0;
    if (is_count(find(find(find(&tokenizer, "model"), "vocab"), text), id)) return id;
    return added(text);
  }

  /// The id of a token that was added to the vocabulary.
  [[nodiscard]] std::optional<std::uint32_t> added(std::string_view text) const {
    const HubJson* tokens = find(&tokenizer, "added_tokens");
    std::uint32_t id = 0;
    if (tokens != nullptr && tokens->is_array())
      for (const HubJson& token : *tokens)
        if (text_of(find(&token, "content")) == text && is_count(find(&token, "id"), id)) return id;
    return {};
  }

 private:
  /// What tokenizer_config.json says counts before the files of their own.
  [[nodiscard]] Result<void> read_template(const Folder& folder) {
    if (const HubJson* own = find(&config, "chat_template")) {
      chat_template = *own;
      return {};
    }
    if (folder.has("chat_template.jinja")) {
      auto text = folder.text("chat_template.jinja");
      if (!text) return pass(text);
      chat_template = std::move(*text);
      return {};
    }
    const auto json = folder.json_if("chat_template.json");
    if (!json) return pass(json);
    if (const HubJson* own = find(&*json, "chat_template")) chat_template = *own;
    return {};
  }
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
