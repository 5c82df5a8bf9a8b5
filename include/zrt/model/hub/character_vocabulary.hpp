// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/character_vocabulary.hpp: BPE over characters from tokenizer.json; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/hub/bpe_merges.hpp>
#include <zrt/model/hub/token_table.hpp>

#include <map>
#include <set>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

namespace detail {

/// Texts of the tokens that tokenizer_config.json gives a part of their own.
[[nodiscard]] inline std::set<std::string, std::less<>> named_tokens(const HubJson& config) {
  std::set<std::string, std::less<>> named;
  const auto add = [&](const HubJson& token) {
    const std::string_view text = token.is_object() ? text_of(find(&token, "content")) : text_of(&token);
    if (!text.empty()) named.emplace(text);
  };
  for (const std::string_view key :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
    if (const HubJson* token = find(&config, key)) add(*token);
  for (const std::string_view key : {"additional_special_tokens", "extra_special_tokens"})
    if (const HubJson* tokens = find(&config, key); tokens != nullptr && tokens->is_structured())
      for (const HubJson& token : *tokens) add(token);
  return named;
}

/// Whether a text is `<0xHH>`, a byte to fall back on.
[[nodiscard]] inline bool is_byte_token(std::string_view text) noexcept {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f'); };
  return text.size() == 6 && text.starts_with("<0x") && text[5] == '>' && is_hex(text[3]) && is_hex(text[4]);
}

/// What a token of a vocabulary over characters is.
[[nodiscard]] inline TokenKind character_token_kind(std::string_view text,
                                                    const std::set<std::string, std::less<>>& named, bool was_added) {
  if (is_byte_token(text) && !was_added) return TokenKind::byte;
  if (named.contains(text)) return TokenKind::control;
  return was_added ? TokenKind::user_defined : TokenKind::normal;
}

/// The score of a token that no merge makes.
inline constexpr float kUnmergedScore = -1000.0f;

/// The tokens of a vocabulary over characters with bytes to fall back on, and those that were added behind. `score`
/// gives that of a text of the vocabulary.
template <class Score> [[nodiscard]] Result<TokenTable> character_table(const TokenizerFiles& files, Score score) {
  const HubJson* model = find(&files.tokenizer, "model");
  const auto named = named_tokens(files.config);
  std::vector<std::pair<std::uint32_t, std::string_view>> added;
  const auto base = static_cast<std::uint32_t>(find(model, "vocab")->size());
  if (const HubJson* tokens = find(&files.tokenizer, "added_tokens"); tokens != nullptr && tokens->is_array())
    for (const HubJson& token : *tokens)
      if (std::uint32_t id = 0; is_count(find(&token, "id"), id) && id >= base)
        added.emplace_back(id, text_of(find(&token, "content")));
  TokenTable table(base + static_cast<std::uint32_t>(added.size()));
  for (const auto& [text, id] : find(model, "vocab")->items()) {
    std::uint32_t number = 0;
    if (!is_count(&id, number) || number >= base) return bad_token(text);
    table.set(number, text, character_token_kind(text, named, false), score(text));
  }
  for (const auto& [id, text] : added) {
    if (id >= table.size()) return bad_token(text);
    table.set(id, std::string(text), character_token_kind(text, named, true), kUnmergedScore);
  }
  return table;
}

/// Adds Gemma 4's BPE over characters. Marks of its tools and thoughts are text, so that replies show them.
[[nodiscard]] inline Result<void> add_characters(const TokenizerFiles& files, Keys& out) {
  const HubJson* model = find(&files.tokenizer, "model");
  if (auto r = expect_bpe(model); !r) return r;
  if (!is_true(find(model, "byte_fallback")))
    return fail(Errc::unsupported_tokenizer, "tokenizer.json: expected BPE over characters, with byte_fallback");
  auto table = character_table(files, [](const std::string&) { return kUnmergedScore; });
  if (!table) return pass(table);
  for (const std::string_view shown :
       {"<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>", "<|\"|>"})
    table->show(shown);
  auto pairs = read_merges(*find(model, "merges"));
  if (!pairs) return pass(pairs);
  out.set("tokenizer.ggml.model", std::string("gemma4"));
  std::move(*table).write(out, true);
  out.set("tokenizer.ggml.merges", std::move(*pairs));
  return {};
}

/// Adds BPE over characters as pieces that merge by score, which is how far behind a token's merge stands: the order in
/// which the vocabulary itself merges.
[[nodiscard]] inline Result<void> add_ranked_pieces(const TokenizerFiles& files, Keys& out) {
  const auto pairs = read_merges(*find(find(&files.tokenizer, "model"), "merges"));
  if (!pairs) return pass(pairs);
  std::map<std::string, std::size_t, std::less<>> ranks;
  for (std::size_t rank = 0; rank < pairs->size(); ++rank) {
    std::string text = (*pairs)[rank];
    if (const std::size_t space = text.find(' ', 1); space != text.npos) text.erase(space, 1);
    ranks.emplace(std::move(text), rank);
  }
  auto table = character_table(files, [&](const std::string& text) {
    const auto found = ranks.find(text);
    return -static_cast<float>(found == ranks.end() ? pairs->size() : found->second);
  });
  if (!table) return pass(table);
  out.set("tokenizer.ggml.model", std::string("llama"));
  out.set("tokenizer.ggml.pre", std::string("default"));
  std::move(*table).write(out, true);
  return {};
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
