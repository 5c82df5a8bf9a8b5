// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/gpt2.hpp: the pre-tokenizer of GPT-2 and of the many vocabularies that kept its rules.
#pragma once

#include <zrt/text/detail/scanner.hpp>
#include <zrt/text/pre/traits.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Words of GPT-2: lower-case English contractions; runs of letters, of numbers or of other signs, each
/// with at most one space before; white space, the last of which goes to the word that follows.
struct Gpt2Words {
  static detail::Match find(std::string_view text, std::size_t from) noexcept { return {from, end_of(text, from)}; }

 private:
  static std::size_t end_of(std::string_view text, std::size_t from) noexcept {
    using detail::properties_of;
    detail::Cursor cursor{text, from};
    if (const std::size_t length = contraction(cursor); length != 0) return from + length;
    if (cursor.byte() == ' ' && text.size() - from > 1) ++cursor.at;
    const detail::CodePoint first = cursor.peek();
    const detail::Properties kind = properties_of(first.value);
    if (kind.space()) {
      const detail::SpaceRun run = detail::space_run(text, from);
      return detail::space_cut(text, run, from);
    }
    if (kind.letter())
      cursor.skip_while([](char32_t c) { return properties_of(c).letter(); });
    else if (kind.number())
      cursor.skip_while([](char32_t c) { return properties_of(c).number(); });
    else
      cursor.skip_while([](char32_t c) {
        const detail::Properties p = properties_of(c);
        return !p.space() && !p.letter() && !p.number();
      });
    return cursor.at;
  }

  static std::size_t contraction(const detail::Cursor& cursor) noexcept {
    if (cursor.byte() != '\'') return 0;
    const char a = cursor.byte(1);
    const char b = cursor.byte(2);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
  }
};

struct Gpt2 {
  static constexpr std::array<std::string_view, 14> names{
      "gpt-2",   "phi-2",   "mpt",        "olmo",       "jais",    "exaone4", "gigachat",
      "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "a.x-4.0", "mellum",  "modern-bert"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true};
  using Stages = detail::StageList<Gpt2Words>;
};
static_assert(PreTokenizer<Gpt2>);

/// The same words; decoding keeps all spaces.
struct Trillion {
  static constexpr std::array<std::string_view, 2> names{"trillion", "granite-docling"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = Gpt2::Stages;
};
static_assert(PreTokenizer<Trillion>);

/// The same words, of encoders that read pairs of texts.
struct Roberta {
  static constexpr std::array<std::string_view, 3> names{"roberta-bpe", "jina-v1-en", "jina-v2-code"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true, .adds_sep = true};
  using Stages = Gpt2::Stages;
};
static_assert(PreTokenizer<Roberta>);

}  // namespace zrt::inline ZRT_ABI::text::pre
