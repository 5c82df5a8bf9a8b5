// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/llama3.hpp: the pre-tokenizer of Llama 3 and those that differ from it in a switch or a stage.
#pragma once

#include <zrt/text/pre/words.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// The words of Llama 3 as a stage, with up to `max_digits` numbers in a piece.
template <std::size_t max_digits> using Llama3Words = Words<WordRules{.max_digits = max_digits}>;

struct Llama3 {
  static constexpr std::array<std::string_view, 9> names{"llama-bpe", "llama3", "llama-v3", "falcon3",     "falcon-h1",
                                                         "pixtral",   "lfm2",   "midm-2.0", "jina-v5-nano"};
  static constexpr Traits traits{.ignore_merges = true, .adds_bos = true, .cleans_spaces = true};
  using Stages = detail::StageList<Llama3Words<3>>;
};
static_assert(PreTokenizer<Llama3>);

/// The same words, joined by merges alone.
struct Dbrx {
  static constexpr std::array<std::string_view, 4> names{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true};
  using Stages = Llama3::Stages;
};
static_assert(PreTokenizer<Dbrx>);

/// Numbers are cut by threes before everything else.
struct MiniCpm5 {
  static constexpr std::array<std::string_view, 1> names{"minicpm5"};
  static constexpr Traits traits{.ignore_merges = true, .adds_bos = false, .cleans_spaces = true};
  using Stages = detail::StageList<detail::Groups<detail::Number, 3>, Llama3Words<3>>;
};
static_assert(PreTokenizer<MiniCpm5>);

/// Line breaks do not stay with the signs before them, and every number sign stands alone.
struct SeedCoder {
  static constexpr std::array<std::string_view, 1> names{"seed-coder"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<Words<WordRules{.max_digits = 1, .tail = SignTail::nothing}>>;
};
static_assert(PreTokenizer<SeedCoder>);

/// Words with single spaces between them are one piece.
struct ExaoneMoe {
  static constexpr std::array<std::string_view, 1> names{"exaone-moe"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true};
  using Stages = detail::StageList<
      Words<WordRules{.max_digits = 1, .tail = SignTail::one_line_break_or_slash, .joins_words = true}>>;
};
static_assert(PreTokenizer<ExaoneMoe>);

/// Words that end in their contractions; Chinese characters apart.
struct KimiK2 {
  static constexpr std::array<std::string_view, 1> names{"kimi-k2"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<Words<WordRules{.contractions = Contractions::behind_word, .han_apart = true}>>;
};
static_assert(PreTokenizer<KimiK2>);

}  // namespace zrt::inline ZRT_ABI::text::pre
