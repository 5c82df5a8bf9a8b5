// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/token_table.hpp: the tokens of a vocabulary in the making; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/hub/family.hpp>

#include <algorithm>

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

  /// `as_listed`: see HubFamily::added_as_listed.
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
  /// Makes a text that is there a part of what replies show.
  void show(std::string_view text) {
    const auto found = std::find(texts_.begin(), texts_.end(), text);
    if (found != texts_.end())
      kinds_[static_cast<std::size_t>(found - texts_.begin())] = static_cast<std::int32_t>(TokenKind::user_defined);
  }
  /// Changes the texts of all tokens but markup.
  template <class To> void rename(To to) {
    for (std::uint32_t id = 0; id < size(); ++id)
      if (kinds_[id] != static_cast<std::int32_t>(TokenKind::control)) texts_[id] = to(texts_[id]);
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

/// The number of tokens: `vocab_size`, or `own`, what the vocabulary and the embeddings have, as the family pads it.
[[nodiscard]] inline Result<std::uint32_t> table_size(const HubFamily& family, Settings& settings, std::uint32_t own) {
  std::uint64_t size = settings.count_if({"vocab_size"}).value_or(own);
  std::uint64_t multiple = family.token_multiple;
  if (multiple != 0) multiple = settings.count_if({"pad_vocab_size_multiple"}).value_or(family.token_multiple);
  if (multiple != 0) size = (size + multiple - 1) / multiple * multiple;
  if (auto r = settings.result(); !r) return pass(r);
  if (size > TokenTable::kMaxTokens)
    return fail(Errc::limit_exceeded, "config.json: vocab_size is ", size, ", at most ", TokenTable::kMaxTokens,
                " expected");
  return static_cast<std::uint32_t>(size);
}

[[nodiscard]] inline std::unexpected<Error> bad_token(std::string_view text) {
  return fail(Errc::invalid_file, "tokenizer.json: token '", Quoted(text).view(),
              "' has no id below the vocabulary's size");
}

/// Sets texts by their ids. Errors: Errc::invalid_file.
[[nodiscard]] inline Result<void> set_vocabulary(const HubJson& vocabulary, TokenTable& table) {
  for (const auto& [text, id] : vocabulary.items()) {
    std::uint32_t number = 0;
    if (!is_count(&id, number) || number >= table.size()) return bad_token(text);
    table.set(number, text, TokenKind::normal);
  }
  return {};
}

/// Tokens that tokenizer.json adds to its vocabulary.
[[nodiscard]] inline Result<void> set_tokenizer_added(const HubJson& tokenizer, TokenTable& table) {
  const HubJson* added = find(&tokenizer, "added_tokens");
  if (added == nullptr || !added->is_array()) return {};
  for (const HubJson& token : *added) {
    const std::string_view text = text_of(find(&token, "content"));
    std::uint32_t number = 0;
    if (!is_count(find(&token, "id"), number) || number >= table.size()) return bad_token(text);
    table.set_added(number, text, is_true(find(&token, "special")));
  }
  return {};
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
