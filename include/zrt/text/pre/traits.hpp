// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/traits.hpp: what a pre-tokenizer type states, as a concept.
#pragma once

#include <zrt/text/detail/scanner.hpp>

#include <concepts>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

using detail::Match;
using detail::StageList;

/// What vocabularies with a pre-tokenizer have in common besides the cutting of words.
struct Traits {
  bool ignore_merges;  ///< a word that is a token as a whole is that token, whatever the merges say
  bool adds_bos;       ///< add_bos where the vocabulary does not say
  bool cleans_spaces;  ///< decoding a whole sequence drops spaces before punctuation
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
