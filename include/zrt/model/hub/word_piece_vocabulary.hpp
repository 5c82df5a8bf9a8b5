// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/word_piece_vocabulary.hpp: words and pieces of words from tokenizer.json or vocab.txt; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/hub/token_table.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

namespace detail {

/// Sets a token for each line. Errors: Errc::invalid_file for more lines than tokens.
[[nodiscard]] inline Result<void> set_lines(std::string_view lines, TokenTable& table) {
  for (std::uint32_t id = 0; !lines.empty(); ++id) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (id >= table.size())
      return fail(Errc::invalid_file, "vocab.txt has more lines than the vocabulary has tokens, which are ",
                  table.size());
    const bool markup = line == "[PAD]" || line == "[UNK]" || line == "[CLS]" || line == "[SEP]" || line == "[MASK]";
    table.set(id, std::string(line), markup ? TokenKind::control : TokenKind::normal);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return {};
}

/// As models' files have a piece: what begins a word has U+2581 before it, what goes on has no mark.
[[nodiscard]] inline std::string piece_in_file(const std::string& text) {
  return text.starts_with("##") ? std::string(slice(text, 2)) : "\xe2\x96\x81" + text;
}

/// Adds WordPiece. Errors: those of Folder; Errc::unsupported_tokenizer, Errc::invalid_file.
[[nodiscard]] inline Result<void> add_word_piece(const Folder& folder, const TokenizerFiles& files,
                                                 const HubFamily& family, Settings& settings, std::string_view pre,
                                                 std::uint32_t rows, Keys& out) {
  const HubJson* model = find(&files.tokenizer, "model");
  const HubJson* vocabulary = find(model, "vocab");
  const bool lines = files.tokenizer.is_null();
  if (!lines && (text_of(find(model, "type")) != "WordPiece" || vocabulary == nullptr || !vocabulary->is_object()))
    return fail(Errc::unsupported_tokenizer, "tokenizer.json holds a model '",
                Quoted(text_of(find(model, "type"))).view(), "', expected WordPiece with vocab");
  const auto size = table_size(family, settings, lines ? rows : static_cast<std::uint32_t>(vocabulary->size()));
  if (!size) return pass(size);
  TokenTable table(*size);
  if (lines) {
    const auto text = folder.text("vocab.txt");
    if (!text) return pass(text);
    if (auto r = set_lines(*text, table); !r) return r;
  } else {
    if (auto r = set_vocabulary(*vocabulary, table); !r) return r;
    if (auto r = set_tokenizer_added(files.tokenizer, table); !r) return r;
  }
  table.rename([](const std::string& text) { return piece_in_file(text); });
  out.set("tokenizer.ggml.model", std::string("bert"));
  // Words are cut alike, whatever the name.
  out.set("tokenizer.ggml.pre", std::string(pre.empty() ? "bert-bge" : pre));
  std::move(table).write(out, false);
  return {};
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
