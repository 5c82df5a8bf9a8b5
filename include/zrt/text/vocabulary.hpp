// SPDX-License-Identifier: Apache-2.0
// zrt/text/vocabulary.hpp: a vocabulary as a model file states it, in views.
#pragma once

#include <zrt/core/config.hpp>
#include <zrt/core/span.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace zrt::inline ZRT_ABI::text {

/// Says what a token is; the numbers are those of `tokenizer.ggml.token_type` in GGUF files.
enum class TokenType : std::uint8_t {
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6,
};

/// A token's part in a prompt whose middle the model writes, such as prefix, `left`, suffix, `right`, middle.
enum class InfillToken : std::uint8_t { prefix, suffix, middle, pad, repository, separator };
inline constexpr std::size_t kInfillTokens = 6;

/// Describes a vocabulary by views of the caller's memory.
///
/// What the views point at must outlive every Tokenizer made from it: token texts are never copied.
/// An absent option takes the default of its model and pre-tokenizer.
struct VocabularySpec {
  std::string_view model = {};               ///< "llama" (SentencePiece), "gpt2" (BPE), "gemma4" (the same with the
                                             ///< pre-tokenizer of that name), "bert" (WordPiece), "t5" (unigram) or
                                             ///< another of docs/vocabularies.md
  std::string_view pre = {};                 ///< name of the pre-tokenizer; "gpt2" only
  Span<const std::string_view> tokens = {};  ///< token texts by id
  Span<const float> scores = {};             ///< one per token, or none; "llama" and "t5" only
  Span<const std::int32_t> types = {};       ///< TokenType values, one per token, or none: all normal
  Span<const std::string_view> merges = {};  ///< "left right" by falling priority; "gpt2" and "gemma4" only
  std::optional<std::int32_t> bos = {};
  std::optional<std::int32_t> eos = {};
  std::optional<std::int32_t> eot = {};
  std::optional<std::int32_t> eom = {};
  std::optional<std::int32_t> unk = {};
  std::optional<std::int32_t> sep = {};
  std::optional<std::int32_t> pad = {};
  std::array<std::optional<std::int32_t>, kInfillTokens> infill = {};  ///< by InfillToken; else found by their texts
  std::optional<bool> add_bos = {};
  std::optional<bool> add_eos = {};
  std::optional<bool> add_sep = {};
  std::optional<bool> add_space_prefix = {};
  std::optional<bool> remove_extra_whitespaces = {};  ///< "t5" only
  Span<const std::uint8_t> character_map = {};        ///< precompiled_charsmap; "t5" only
  std::optional<bool> lowercase = {};                 ///< of words; "bert" and "whitespace" only
  std::optional<bool> strip_accents = {};  ///< of words; "bert" only, which without it does as with `lowercase`
  std::string_view name = {};              ///< general.name of the file, by which some models are known
  std::string_view architecture = {};      ///< general.architecture, likewise
  std::string_view chat_template = {};     ///< carried along; the tokenizer does not read it
};

}  // namespace zrt::inline ZRT_ABI::text
