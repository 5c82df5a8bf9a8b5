// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/vocabulary.hpp: the tokens of a folder's vocabulary as keys of a model's file; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/ir/onnx/wire.hpp>
#include <zrt/model/hub/family.hpp>
#include <zrt/model/hub/pre_tokenizer.hpp>
#include <zrt/model/hub/special_tokens.hpp>

#include <charconv>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

namespace detail {

/// What a token is. Source: the GGUF specification, tokenizer.ggml.token_type; SentencePiece numbers its own alike.
enum class TokenKind : std::int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

/// The tokens of a vocabulary by their ids. Ids that no file names are unused.
class TokenTable {
 public:
  /// More than any vocabulary has.
  static constexpr std::uint32_t kMaxTokens = 1u << 24;

  /// `as_listed`: see Family::added_as_listed.
  explicit TokenTable(std::uint32_t size, bool as_listed = false)
      : as_listed_(as_listed),
        texts_(size),
        kinds_(size, static_cast<std::int32_t>(TokenKind::unused)),
        scores_(size, -10000.0f) {
    for (std::uint32_t id = 0; id < size; ++id) texts_[id] = "[PAD" + std::to_string(id) + "]";
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(texts_.size()); }
  void set(std::uint32_t id, std::string text, TokenKind kind, float score = 0.0f) {
    texts_[id] = std::move(text);
    kinds_[id] = static_cast<std::int32_t>(kind);
    scores_[id] = score;
  }
  /// Sets a token that was added to a vocabulary: text, or markup where it is special or looks so.
  void set_added(std::uint32_t id, std::string_view text, bool special) {
    if (special || (!as_listed_ && looks_special(text)))
      return set(id, std::string(text), TokenKind::control, kAddedScore);
    set(id, as_listed_ ? std::string(text) : with_spaces(text), TokenKind::user_defined, kAddedScore);
  }
  void write(Keys& out, bool with_scores) && {
    out.set("tokenizer.ggml.tokens", std::move(texts_));
    if (with_scores) out.set("tokenizer.ggml.scores", std::move(scores_));
    out.set("tokenizer.ggml.token_type", std::move(kinds_));
  }

 private:
  static constexpr float kAddedScore = -1000.0f;

  /// Markup that files of DeepSeek, Gemma and Command R do not mark as such.
  [[nodiscard]] static bool looks_special(std::string_view text) {
    for (const std::string_view known : {"<pad>", "<mask>", "<2mass>", "[@BOS@]"})
      if (text == known) return true;
    return (text.starts_with("<|") && text.ends_with("|>")) || (text.starts_with("<｜") && text.ends_with("｜>")) ||
           (text.starts_with("<unused") && text.ends_with('>'));
  }
  /// With spaces for U+2581.
  [[nodiscard]] static std::string with_spaces(std::string_view text) {
    constexpr std::string_view kMark = "\xe2\x96\x81";
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const bool mark = slice(text, at, kMark.size()) == kMark;
      out += mark ? ' ' : text[at];
      at += mark ? kMark.size() : 1;
    }
    return out;
  }

  bool as_listed_;
  std::vector<std::string> texts_;
  std::vector<std::int32_t> kinds_;
  std::vector<float> scores_;
};

/// The number of tokens: `vocab_size`, or `own`, what the vocabulary and the embeddings have.
[[nodiscard]] inline Result<std::uint32_t> table_size(Settings& settings, std::uint32_t own) {
  const std::uint32_t size = settings.count_if({"vocab_size"}).value_or(own);
  if (auto r = settings.result(); !r) return pass(r);
  if (size > TokenTable::kMaxTokens)
    return fail(Errc::limit_exceeded, "config.json: vocab_size is ", size, ", at most ", TokenTable::kMaxTokens,
                " expected");
  return size;
}

// --- BPE ---

[[nodiscard]] inline std::unexpected<Error> bad_token(std::string_view text) {
  return fail(Errc::invalid_file, "tokenizer.json: token '", Quoted(text).view(),
              "' has no id below the vocabulary's size");
}

/// Tokens that tokenizer.json adds to its vocabulary.
[[nodiscard]] inline Result<void> set_tokenizer_added(const Json& tokenizer, TokenTable& table) {
  const Json* added = find(&tokenizer, "added_tokens");
  if (added == nullptr || !added->is_array()) return {};
  for (const Json& token : *added) {
    const std::string_view text = text_of(find(&token, "content"));
    std::uint32_t number = 0;
    if (!is_count(find(&token, "id"), number) || number >= table.size()) return bad_token(text);
    table.set_added(number, text, is_true(find(&token, "special")));
  }
  return {};
}

[[nodiscard]] inline Result<void> add_bpe_tokens(const Json& tokenizer, TokenTable& table) {
  const Json* vocabulary = find(find(&tokenizer, "model"), "vocab");
  for (const auto& [text, id] : vocabulary->items()) {
    std::uint32_t number = 0;
    if (!is_count(&id, number) || number >= table.size()) return bad_token(text);
    table.set(number, text, TokenKind::normal);
  }
  return set_tokenizer_added(tokenizer, table);
}

/// A merge is a text, or a list of two; spaces within its parts are written as bytes are.
[[nodiscard]] inline Result<std::string> merge_of(const Json& merge) {
  if (merge.is_string()) return merge.get<std::string>();
  if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string())
    return fail(Errc::invalid_file, "tokenizer.json: a merge is ", merge.type_name(), ", expected two texts");
  constexpr std::string_view kSpace = "\xc4\xa0";
  std::string out;
  for (const Json& part : merge) {
    if (&part != &merge[0]) out += ' ';
    for (const char c : text_of(&part)) {
      if (c == ' ')
        out += kSpace;
      else
        out += c;
    }
  }
  return out;
}

[[nodiscard]] inline Result<void> add_bpe(const TokenizerFiles& files, Settings& settings, std::string_view pre,
                                          std::uint32_t rows, Keys& out) {
  const Json* model = find(&files.tokenizer, "model");
  const Json* vocabulary = find(model, "vocab");
  const Json* merges = find(model, "merges");
  const std::string_view type = text_of(find(model, "type"));
  if (vocabulary == nullptr || !vocabulary->is_object() || merges == nullptr || !merges->is_array() ||
      (!type.empty() && type != "BPE"))
    return fail(Errc::unsupported_tokenizer, "tokenizer.json holds a model '", Quoted(type).view(),
                "', expected BPE with vocab and merges");
  if (is_true(find(model, "byte_fallback")))
    return fail(Errc::unsupported_tokenizer, "tokenizer.json: BPE over characters with bytes to fall back on",
                ", expected BPE over bytes, or a tokenizer.model beside it");
  auto name = pre.empty() ? pre_tokenizer_name(files.tokenizer, files.config) : Result<std::string>(std::string(pre));
  if (!name) return pass(name);
  const auto size = table_size(settings, std::max(rows, static_cast<std::uint32_t>(vocabulary->size())));
  if (!size) return pass(size);
  TokenTable table(*size);
  if (auto r = add_bpe_tokens(files.tokenizer, table); !r) return r;
  std::vector<std::string> pairs;
  for (const Json& merge : *merges) {
    auto pair = merge_of(merge);
    if (!pair) return pass(pair);
    pairs.push_back(std::move(*pair));
  }
  out.set("tokenizer.ggml.model", std::string("gpt2"));
  out.set("tokenizer.ggml.pre", std::move(*name));
  std::move(table).write(out, false);
  out.set("tokenizer.ggml.merges", std::move(pairs));
  return {};
}

// --- SentencePiece ---

struct Piece {
  std::string text;
  float score = 0.0f;
  TokenKind kind = TokenKind::normal;
};

/// Reads a message SentencePiece of sentencepiece_model.proto.
[[nodiscard]] inline Result<Piece> read_piece(std::string_view message) {
  Piece piece;
  ir::onnx::WireReader reader(message);
  while (!reader.at_end()) {
    const auto field = reader.next();
    if (!field) return pass(field);
    if (field->number == 1 && field->type == ir::onnx::WireType::bytes) piece.text = std::string(field->bytes);
    if (field->number == 2 && field->type == ir::onnx::WireType::fixed32) piece.score = field->real();
    if (field->number == 3 && field->type == ir::onnx::WireType::varint) {
      if (field->value < 1 || field->value > 6)
        return fail(Errc::invalid_file, "piece '", Quoted(piece.text).view(), "' is of type ", field->value,
                    ", expected 1 to 6");
      piece.kind = static_cast<TokenKind>(field->value);
    }
  }
  return piece;
}

/// Reads the pieces of a message ModelProto of sentencepiece_model.proto.
[[nodiscard]] inline Result<std::vector<Piece>> read_pieces(std::string_view message) {
  std::vector<Piece> pieces;
  ir::onnx::WireReader reader(message);
  while (!reader.at_end()) {
    const auto field = reader.next();
    if (!field) return pass(field);
    if (field->number != 1 || field->type != ir::onnx::WireType::bytes) continue;
    auto piece = read_piece(field->bytes);
    if (!piece) return pass(piece);
    if (pieces.size() == TokenTable::kMaxTokens)
      return fail(Errc::limit_exceeded, "more than ", TokenTable::kMaxTokens, " pieces");
    pieces.push_back(std::move(*piece));
  }
  if (pieces.empty()) return fail(Errc::invalid_file, "expected pieces of a SentencePiece model, found none");
  return pieces;
}

/// Tokens that tokenizer_config.json lists by their ids.
[[nodiscard]] inline Result<void> set_listed(const Json& config, TokenTable& table) {
  const Json* listed = find(&config, "added_tokens_decoder");
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

/// Tokens that added_tokens.json lists by their texts.
[[nodiscard]] inline Result<void> set_added(const Folder& folder, TokenTable& table) {
  const auto added = folder.json_if("added_tokens.json");
  if (!added) return pass(added);
  if (added->is_object())
    for (const auto& [text, id] : added->items())
      if (std::uint32_t number = 0; is_count(&id, number) && number < table.size())
        table.set(number, text, TokenKind::user_defined, -1000.0f);
  return {};
}

[[nodiscard]] inline Result<void> add_sentence_piece(const Folder& folder, const TokenizerFiles& files,
                                                     const Family& family, Settings& settings, std::uint32_t rows,
                                                     Keys& out) {
  const auto file = folder.open("tokenizer.model");
  if (!file) return pass(file);
  auto pieces = read_pieces({reinterpret_cast<const char*>(file->span().data()), file->span().size()});
  if (!pieces) return Folder::in("tokenizer.model", pieces.error());
  const auto size = table_size(settings, std::max(rows, static_cast<std::uint32_t>(pieces->size())));
  if (!size) return pass(size);
  TokenTable table(*size, family.added_as_listed);
  for (std::uint32_t id = 0; id < pieces->size() && id < *size; ++id) {
    Piece& piece = (*pieces)[id];
    const TokenKind kind = piece.kind == TokenKind::user_defined ? TokenKind::normal : piece.kind;
    table.set(id, std::move(piece.text), kind, piece.score);
  }
  if (auto r = set_added(folder, table); !r) return r;
  if (auto r = set_listed(files.config, table); !r) return r;
  if (family.added_as_listed)
    if (auto r = set_tokenizer_added(files.tokenizer, table); !r) return r;
  out.set("tokenizer.ggml.model", std::string("llama"));
  out.set("tokenizer.ggml.pre", std::string("default"));
  std::move(table).write(out, true);
  return {};
}

}  // namespace detail

/// Adds the vocabulary of a folder: its tokens, its special tokens, its chat templates. `pre` says the pre-tokenizer of
/// a BPE vocabulary, or nothing where tokenizer.json tells; `rows` is how many tokens the embeddings are of, for a
/// configuration without `vocab_size`.
///
/// Errors: those of Folder and pre_tokenizer_name; Errc::unsupported_tokenizer for a vocabulary of another kind;
/// Errc::invalid_file for one that breaks its format.
[[nodiscard]] inline Result<void> add_vocabulary(const Folder& folder, const Family& family, Settings& settings,
                                                 std::string_view pre, std::uint32_t rows, Keys& out) {
  const auto files = TokenizerFiles::read(folder);
  if (!files) return pass(files);
  const bool pieces = family.vocabulary == VocabularyFiles::sentence_piece ||
                      (family.vocabulary == VocabularyFiles::sentence_piece_or_bpe && folder.has("tokenizer.model"));
  if (!pieces && files->tokenizer.is_null())
    return fail(Errc::unsupported_tokenizer, "the folder has no tokenizer.json",
                family.vocabulary == VocabularyFiles::bpe ? "" : " and no tokenizer.model");
  if (auto r = pieces ? detail::add_sentence_piece(folder, *files, family, settings, rows, out)
                      : detail::add_bpe(*files, settings, pre, rows, out);
      !r)
    return r;
  add_special_tokens(*files, settings, out);
  add_chat_templates(*files, out);
  if (family.add_vocabulary_keys != nullptr) family.add_vocabulary_keys(settings, *files, out);
  return settings.result();
}

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
