// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/known_tokens.hpp: tokens that are known by their texts, whatever a vocabulary's file says of them.
#pragma once

#include <zrt/core/config.hpp>
#include <zrt/core/span.hpp>
#include <zrt/text/detail/text_index.hpp>
#include <zrt/text/vocabulary.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// Tokens that end a turn. Files often mark only one of them, or mark them as plain text. Where a file names no EOT, the
/// first that its vocabulary has is that.
inline constexpr std::array<std::string_view, 11> kEndOfTurn{
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<\xef\xbd\x9c"
    "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>",
    "<end_of_utterance>",
};

/// The token that ends a message but no turn, where a file names no EOM.
inline constexpr std::array<std::string_view, 1> kEndOfMessage{"<|eom_id|>"};

/// Further tokens after which generation ends.
inline constexpr std::array<std::string_view, 9> kEndOfGeneration{
    "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "</s>", "[EOS]", "<eos>", "<turn|>", "<|tool_response>",
};

/// Tokens of infill prompts by their texts; the first text of a token that a vocabulary has counts.
struct InfillText {
  InfillToken token;
  std::string_view text;
};
inline constexpr InfillText kInfillTexts[] = {
    InfillText{InfillToken::prefix, "<|fim_prefix|>"},
    InfillText{InfillToken::prefix, "<fim-prefix>"},
    InfillText{InfillToken::prefix, "<fim_prefix>"},
    InfillText{InfillToken::prefix,
               "<\xef\xbd\x9c"
               "fim\xe2\x96\x81"
               "begin\xef\xbd\x9c>"},
    InfillText{InfillToken::prefix, "<PRE>"},
    InfillText{InfillToken::prefix, "\xe2\x96\x81<PRE>"},
    InfillText{InfillToken::prefix, "<|code_prefix|>"},
    InfillText{InfillToken::prefix, "<|prefix|>"},
    InfillText{InfillToken::suffix, "<|fim_suffix|>"},
    InfillText{InfillToken::suffix, "<fim-suffix>"},
    InfillText{InfillToken::suffix, "<fim_suffix>"},
    InfillText{InfillToken::suffix,
               "<\xef\xbd\x9c"
               "fim\xe2\x96\x81hole\xef\xbd\x9c>"},
    InfillText{InfillToken::suffix, "<SUF>"},
    InfillText{InfillToken::suffix, "\xe2\x96\x81<SUF>"},
    InfillText{InfillToken::suffix, "<|code_suffix|>"},
    InfillText{InfillToken::suffix, "<|suffix|>"},
    InfillText{InfillToken::middle, "<|fim_middle|>"},
    InfillText{InfillToken::middle, "<fim-middle>"},
    InfillText{InfillToken::middle, "<fim_middle>"},
    InfillText{InfillToken::middle,
               "<\xef\xbd\x9c"
               "fim\xe2\x96\x81"
               "end\xef\xbd\x9c>"},
    InfillText{InfillToken::middle, "<MID>"},
    InfillText{InfillToken::middle, "\xe2\x96\x81<MID>"},
    InfillText{InfillToken::middle, "<|code_middle|>"},
    InfillText{InfillToken::middle, "<|middle|>"},
    InfillText{InfillToken::pad, "<|fim_pad|>"},
    InfillText{InfillToken::pad, "<fim-pad>"},
    InfillText{InfillToken::pad, "<fim_pad>"},
    InfillText{InfillToken::pad, "<PAD>"},
    InfillText{InfillToken::pad, "[PAD]"},
    InfillText{InfillToken::repository, "<|fim_repo|>"},
    InfillText{InfillToken::repository, "<|repo_name|>"},
    InfillText{InfillToken::repository, "<fim-repo>"},
    InfillText{InfillToken::repository, "<REPO>"},
    InfillText{InfillToken::repository, "<reponame>"},
    InfillText{InfillToken::separator, "<|file_sep|>"},
};

/// Tokens that stand for themselves in an answer of several channels, whatever the file calls them.
inline constexpr std::array<std::string_view, 4> kChannelMarks{"<|channel|>", "<|message|>", "<|start|>",
                                                               "<|constrain|>"};

/// What is known of a token beside its text.
struct TokenFacts {
  TokenType type = TokenType::normal;
  bool ends_generation = false;
  bool takes_space_before = false;  ///< white space beside the token in a text is part of it
  bool takes_space_behind = false;
};

/// Corrects the facts of tokens that are known by their texts. Files mark them as they come: as text, or as the ends of
/// turns that they are not.
class KnownTokens {
 public:
  using Infill = std::array<std::optional<std::int32_t>, kInfillTokens>;

  KnownTokens(const TextIndex& index, Span<TokenFacts> facts) noexcept : index_(index), facts_(facts) {}

  /// Says which token ends a turn, or a message, where the file does not.
  void find_ends(std::optional<std::int32_t>& turn, std::optional<std::int32_t>& message) const noexcept {
    find_first(kEndOfTurn, turn);
    find_first(kEndOfMessage, message);
  }
  /// Marks tokens that end a generation and those of infill prompts, of which `infill` has the file's own and gets the
  /// others.
  void mark(Infill& infill) noexcept {
    for (const InfillText& known : kInfillTexts) find(known, infill);
    for (const Span<const std::string_view> texts :
         {Span<const std::string_view>(kEndOfTurn), Span<const std::string_view>(kEndOfMessage),
          Span<const std::string_view>(kEndOfGeneration)})
      for (const std::string_view text : texts) set(text, {TokenType::control, true});
    for (const std::string_view text : kChannelMarks) set(text, {TokenType::user_defined, false});
    mark_turns();
  }

 private:
  [[nodiscard]] bool has(std::string_view text) const noexcept { return index_.find(text) != kNoToken; }

  void find_first(Span<const std::string_view> texts, std::optional<std::int32_t>& id) const noexcept {
    for (const std::string_view text : texts)
      if (!id && has(text)) id = index_.find(text);
  }
  void set(std::string_view text, TokenFacts facts) noexcept {
    if (const std::int32_t id = index_.find(text); id != kNoToken) facts_[static_cast<std::size_t>(id)] = facts;
  }
  void find(const InfillText& known, Infill& infill) noexcept {
    auto& id = infill[static_cast<std::size_t>(known.token)];
    if (!id && has(known.text)) {
      id = index_.find(known.text);
      facts_[static_cast<std::size_t>(*id)].type = TokenType::control;
    }
    // A completion of a file is over where the next file would begin.
    if (id && known.token >= InfillToken::pad) facts_[static_cast<std::size_t>(*id)].ends_generation = true;
  }
  /// Vocabularies with channels end a message by <|end|>, a turn by <|return|> or <|call|>; those with <|tool_response>
  /// have a token </s> that is text.
  void mark_turns() noexcept {
    const bool calls = has("<|call|>") || has("<|calls|>");
    if (calls && (has("<|return|>") || has("<|flush|>"))) set("<|end|>", {TokenType::user_defined, false});
    if (has("<|tool_response>")) set("</s>", {TokenType::normal, false});
  }

  const TextIndex& index_;
  Span<TokenFacts> facts_;
};

}  // namespace zrt::inline ZRT_ABI::text::detail
