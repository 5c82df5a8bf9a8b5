// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/vocabulary.hpp: the tokens of a folder's vocabulary as keys of a model's file; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/hub/character_vocabulary.hpp>
#include <zrt/model/hub/pre_tokenizer.hpp>
#include <zrt/model/hub/special_tokens.hpp>
#include <zrt/model/hub/unigram_vocabulary.hpp>
#include <zrt/model/hub/word_piece_vocabulary.hpp>

#include <charconv>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

namespace detail {

// --- BPE ---

[[nodiscard]] inline Result<void> add_bpe(const TokenizerFiles& files, const HubFamily& family, Settings& settings,
                                          std::string_view pre, std::uint32_t rows, Keys& out) {
  const HubJson* model = find(&files.tokenizer, "model");
  if (auto r = expect_bpe(model); !r) return r;
  if (is_true(find(model, "byte_fallback"))) {
    if (family.vocabulary == VocabularyFiles::sentence_piece_or_bpe) return add_ranked_pieces(files, out);
    return fail(Errc::unsupported_tokenizer, "tokenizer.json: BPE over characters with bytes to fall back on",
                ", expected BPE over bytes");
  }
  auto name = pre.empty() ? pre_tokenizer_name(files.tokenizer, files.config) : Result<std::string>(std::string(pre));
  if (!name) return pass(name);
  const auto own = static_cast<std::uint32_t>(find(model, "vocab")->size());
  const auto size = table_size(family, settings, std::max(rows, own));
  if (!size) return pass(size);
  TokenTable table(*size);
  if (auto r = set_vocabulary(*find(model, "vocab"), table); !r) return r;
  if (auto r = set_tokenizer_added(files.tokenizer, table); !r) return r;
  auto pairs = read_merges(*find(model, "merges"));
  if (!pairs) return pass(pairs);
  out.set("tokenizer.ggml.model", std::string("gpt2"));
  out.set("tokenizer.ggml.pre", std::move(*name));
  std::move(table).write(out, false);
  out.set("tokenizer.ggml.merges", std::move(*pairs));
  return {};
}

// --- SentencePiece ---

/// Tokens that tokenizer_config.json lists by their ids.
[[nodiscard]] inline Result<void> set_listed(const HubJson& config, TokenTable& table) {
  const HubJson* listed = find(&config, "added_tokens_decoder");
  if (listed == nullptr || !listed->is_object()) return {};
  for (const auto& [key, token] : listed->items()) {
    std::uint32_t id = 0;
    const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (code != std::errc() || end != key.data() + key.size())
      return fail(Errc::invalid_file, "tokenizer_config.json: added_tokens_decoder has '", Quoted(key).view(),
                  "', expected an id");
    if (id < table.size()) table.set_added(id, text_of(find(&token, "content")), is_true(find(&token, "special")));
  }
  return {};
}

[[nodiscard]] inline Result<void> add_sentence_piece(const Folder& folder, const TokenizerFiles& files,
                                                     const HubFamily& family, Settings& settings, std::uint32_t rows,
                                                     Keys& out) {
  const auto pieces = read_piece_file(folder, "tokenizer.model");
  if (!pieces) return pass(pieces);
  const auto size = table_size(family, settings, std::max(rows, static_cast<std::uint32_t>(pieces->size())));
  if (!size) return pass(size);
  TokenTable table(*size, family.added_as_listed);
  set_pieces(*pieces, table);
  if (auto r = set_added(folder, table); !r) return r;
  if (auto r = set_listed(files.config, table); !r) return r;
  if (family.added_as_listed)
    if (auto r = set_tokenizer_added(files.tokenizer, table); !r) return r;
  out.set("tokenizer.ggml.model", std::string("llama"));
  out.set("tokenizer.ggml.pre", std::string("default"));
  std::move(table).write(out, true);
  return {};
}

/// Adds the tokens of a folder from the files that its family has.
[[nodiscard]] inline Result<void> add_tokens(const Folder& folder, const TokenizerFiles& files, const HubFamily& family,
                                             Settings& settings, std::string_view pre, std::uint32_t rows, Keys& out) {
  const auto no_file = [](std::string_view names) {
    return fail(Errc::unsupported_tokenizer, "the folder has no ", names);
  };
  const bool has_json = !files.tokenizer.is_null();
  switch (family.vocabulary) {
    case VocabularyFiles::bpe:
      if (!has_json) return no_file("tokenizer.json");
      return add_bpe(files, family, settings, pre, rows, out);
    case VocabularyFiles::characters:
      if (!has_json) return no_file("tokenizer.json");
      return add_characters(files, out);
    case VocabularyFiles::sentence_piece:
      return add_sentence_piece(folder, files, family, settings, rows, out);
    case VocabularyFiles::sentence_piece_or_bpe:
      if (folder.has("tokenizer.model")) return add_sentence_piece(folder, files, family, settings, rows, out);
      if (!has_json) return no_file("tokenizer.json and no tokenizer.model");
      return add_bpe(files, family, settings, pre, rows, out);
    case VocabularyFiles::word_piece:
      if (!has_json && !folder.has("vocab.txt")) return no_file("tokenizer.json and no vocab.txt");
      return add_word_piece(folder, files, family, settings, pre, rows, out);
    case VocabularyFiles::unigram:
      if (!has_json) return no_file("tokenizer.json");
      return add_unigram(files, family, settings, out);
    case VocabularyFiles::unigram_pieces:
      return add_unigram_pieces(folder, family, settings, out);
  }
  __builtin_unreachable();
}

}  // namespace detail

/// Adds the vocabulary of a folder: its tokens, its special tokens, its chat templates. `pre` says the pre-tokenizer of
/// a BPE vocabulary, or nothing where tokenizer.json tells; `rows` is how many tokens the embeddings are of, for a
/// configuration without `vocab_size`.
///
/// Errors: those of Folder and pre_tokenizer_name; Errc::unsupported_tokenizer for a vocabulary of another kind;
/// Errc::invalid_file for one that breaks its format.
[[nodiscard]] inline Result<void> add_vocabulary(const Folder& folder, const HubFamily& family, Settings& settings,
                                                 std::string_view pre, std::uint32_t rows, Keys& out) {
  const auto files = TokenizerFiles::read(folder);
  if (!files) return pass(files);
  if (auto r = detail::add_tokens(folder, *files, family, settings, pre, rows, out); !r) return r;
  add_special_tokens(*files, settings, out);
  add_chat_templates(*files, out);
  if (family.add_vocabulary_keys != nullptr) family.add_vocabulary_keys(settings, *files, out);
  return settings.result();
}

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
