// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/tekken.hpp: pre-tokenizers that cut words where small letters end and a capital begins.
#pragma once

#include <zrt/text/pre/words.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Mistral's later vocabularies: no contractions, and every number sign stands alone.
struct Tekken {
  static constexpr std::array<std::string_view, 1> names{"tekken"};
  static constexpr Traits traits{.ignore_merges = true, .adds_bos = true, .cleans_spaces = false};
  using Stages = detail::StageList<Words<WordRules{.max_digits = 1,
                                                   .contractions = Contractions::none,
                                                   .tail = SignTail::line_breaks_and_slashes,
                                                   .splits_case = true}>>;
};
static_assert(PreTokenizer<Tekken>);

/// GPT-4o and those after it: a contraction stays with its word.
struct Gpt4o {
  static constexpr std::array<std::string_view, 5> names{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<Words<WordRules{
      .contractions = Contractions::behind_word, .tail = SignTail::line_breaks_and_slashes, .splits_case = true}>>;
};
static_assert(PreTokenizer<Gpt4o>);

/// As GPT-4o, and combining marks stay with their letters.
struct GraniteEmbedding {
  static constexpr std::array<std::string_view, 1> names{"granite-embed-multi-97m"};
  static constexpr Traits traits{.ignore_merges = true, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<Words<WordRules{.marks = Marks::letters_and_signs,
                                                   .contractions = Contractions::behind_word,
                                                   .tail = SignTail::line_breaks_and_slashes,
                                                   .splits_case = true}>>;
};
static_assert(PreTokenizer<GraniteEmbedding>);

}  // namespace zrt::inline ZRT_ABI::text::pre
