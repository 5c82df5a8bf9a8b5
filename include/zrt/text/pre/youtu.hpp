// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/youtu.hpp: the pre-tokenizer of Youtu.
#pragma once

#include <zrt/text/pre/deepseek_v3.hpp>
#include <zrt/text/pre/words.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Korean letters, East Asian punctuation, Bopomofo and Chinese with Japanese apart, each run of its own; then words.
struct Youtu {
  struct Korean {
    static constexpr std::array<detail::CodePointRange, 2> ranges{{{0x3131, 0x318e}, {0xac00, 0xd7a3}}};
    static bool holds(char32_t c) noexcept { return detail::any_holds(ranges, c); }
  };
  struct Punctuation {
    static constexpr std::array<detail::CodePointRange, 9> ranges{{
        {0x2014, 0x2014},
        {0x2018, 0x2019},
        {0x201c, 0x201d},
        {0x2026, 0x2026},
        {0x3001, 0x303f},
        {0xfe30, 0xfe4f},
        {0xff01, 0xff01},
        {0xff0c, 0xff0c},
        {0xff1a, 0xff1b},
    }};
    static bool holds(char32_t c) noexcept { return detail::any_holds(ranges, c); }
  };
  struct Bopomofo {
    static bool holds(char32_t c) noexcept { return c >= 0x3105 && c <= 0x312f; }
  };

  static constexpr std::array<std::string_view, 1> names{"youtu"};
  static constexpr Traits traits{.ignore_merges = true, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<detail::RunsOfOne<Korean, Punctuation, Bopomofo, HanAndKana>,
                                   Words<WordRules{.max_digits = 1,
                                                   .marks = Marks::letters_and_signs,
                                                   .contractions = Contractions::behind_word,
                                                   .tail = SignTail::line_breaks_and_slashes}>>;
};
static_assert(PreTokenizer<Youtu>);

}  // namespace zrt::inline ZRT_ABI::text::pre
