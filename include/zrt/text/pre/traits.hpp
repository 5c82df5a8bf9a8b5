// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/traits.hpp: what a pre-tokenizer type states, as a concept.
#pragma once

#include <zrt/text/detail/scanner.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

using detail::Match;
using detail::StageList;

/// How the texts of a vocabulary's tokens spell a text.
enum class Spelling : std::uint8_t {
  byte_letters,  ///< a letter for each byte; merges join bytes
  text,          ///< as it is; merges join code points, and "<0xHH>" stands for a byte of one without a token
  marked_text,   ///< as text, with U+2581 for a space
};

/// What vocabularies with a pre-tokenizer have in common besides the cutting of words.
struct Traits {
  bool ignore_merges;             ///< a word that is a token as a whole is that token, whatever the merges say
  bool adds_bos;                  ///< add_bos where the vocabulary does not say
  bool cleans_spaces;             ///< decoding a whole sequence drops spaces before punctuation
  bool adds_sep = false;          ///< add_sep where the vocabulary does not say and has the token
  bool always_adds_bos = false;   ///< whatever the vocabulary says, if it has the token
  bool whole_line_feeds = false;  ///< as ignore_merges, for words of line feeds alone
  bool drops_spaces = false;      ///< words of white space give no tokens
  Spelling spelling = Spelling::byte_letters;
};

/// A pre-tokenizer: the names that vocabularies call it by, its traits, and `Stages`, a StageList.
///
/// A stage is a type with `static Match find(std::string_view text, std::size_t from) noexcept`, which returns its
/// leftmost match at or after `from`. Text between matches is a piece too. Each stage cuts the pieces of the one
/// before.
template <class P>
concept PreTokenizer = requires {
  { P::names.front() } -> std::convertible_to<std::string_view>;
  { P::traits } -> std::convertible_to<Traits>;
  typename P::Stages;
};

}  // namespace zrt::inline ZRT_ABI::text::pre
