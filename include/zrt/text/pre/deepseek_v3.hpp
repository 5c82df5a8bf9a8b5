// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/deepseek_v3.hpp: the pre-tokenizer of DeepSeek V3 and of AFMoE, which kept its words.
#pragma once

#include <zrt/text/pre/digit_groups.hpp>
#include <zrt/text/pre/words.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Words of DeepSeek V3, tried in this order: an ASCII sign and the ASCII letters behind it; letters and marks with
/// at most one before them that is no line break, letter or sign; signs with at most one space before and all line
/// breaks behind; white space. What none of these takes is left between the words.
struct DeepSeekV3Words {
  static detail::Match find(std::string_view text, std::size_t from) noexcept {
    for (detail::Cursor cursor{text, from}; !cursor.ended(); cursor.at += cursor.peek().length)
      if (const std::size_t end = end_of(cursor); end != 0) return {cursor.at, end};
    return {text.size(), text.size()};
  }

 private:
  static bool ascii_letter(char32_t c) noexcept { return (c >= U'A' && c <= U'Z') || (c >= U'a' && c <= U'z'); }
  static bool in_word(char32_t c) noexcept {
    const detail::Properties p = detail::properties_of(c);
    return p.letter() || p.mark();
  }
  /// Punctuation and symbols; the tilde counts as neither, as in llama.cpp, so that the same ids come out.
  static bool sign(char32_t c) noexcept {
    const detail::Properties p = detail::properties_of(c);
    return p.punctuation() || (p.symbol() && c != U'~');
  }

  /// 0 where no word begins.
  static std::size_t end_of(const detail::Cursor& cursor) noexcept {
    if (const std::size_t end = end_of_led_letters(cursor); end != 0) return end;
    if (const std::size_t end = end_of_letters(cursor); end != 0) return end;
    if (const std::size_t end = end_of_signs(cursor); end != 0) return end;
    if (!detail::properties_of(cursor.peek().value).space()) return 0;
    return end_of_space(cursor.text, cursor.at);
  }
  static std::size_t end_of_led_letters(detail::Cursor cursor) noexcept {
    const char32_t first = cursor.peek().value;
    const detail::Properties p = detail::properties_of(first);
    if (first >= 128 || !(p.punctuation() || p.symbol())) return 0;
    const std::size_t second = ++cursor.at;
    cursor.skip_while(&ascii_letter);
    return cursor.at == second ? 0 : cursor.at;
  }
  static std::size_t end_of_letters(detail::Cursor cursor) noexcept {
    const char32_t first = cursor.peek().value;
    if (!in_word(first)) {
      if (is_line_break(first) || sign(first)) return 0;
      cursor.at += cursor.peek().length;
      if (cursor.ended() || !in_word(cursor.peek().value)) return 0;
    }
    cursor.skip_while(&in_word);
    return cursor.at;
  }
  static std::size_t end_of_signs(detail::Cursor cursor) noexcept {
    if (cursor.byte() == ' ' && cursor.at + 1 < cursor.text.size()) ++cursor.at;
    if (!sign(cursor.peek().value)) return 0;
    cursor.skip_while(&sign);
    cursor.skip_while(&is_line_break);
    return cursor.at;
  }
};

/// Chinese characters and Japanese kana.
struct HanAndKana {
  static constexpr std::array<detail::CodePointRange, 2> ranges{{{0x3040, 0x30ff}, {0x4e00, 0x9fa5}}};
  static bool holds(char32_t c) noexcept { return detail::any_holds(ranges, c); }
};

/// DeepSeek V3: numbers by threes from the left, Chinese and Japanese apart, then its words.
struct DeepSeekV3 {
  static constexpr std::array<std::string_view, 3> names{"deepseek-v3", "hunyuan-dense", "joyai-llm"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<detail::Groups<detail::Number, 3>, detail::Runs<HanAndKana>, DeepSeekV3Words>;
};
static_assert(PreTokenizer<DeepSeekV3>);

/// AFMoE: numbers by threes from the right, scripts that write without spaces apart, then those words.
struct Afmoe {
  /// Blocks of these scripts, as llama.cpp has them: all from U+4E00 to U+FAFF is one.
  struct Unspaced {
    static constexpr std::array<detail::CodePointRange, 9> ranges{{
        {0xe40, 0xeff},
        {0x1000, 0x109f},
        {0x1100, 0x11ff},
        {0x1780, 0x17ff},
        {0x2f00, 0x2fdf},
        {0x3040, 0x30ff},
        {0x3400, 0x4dbf},
        {0x4e00, 0xfaff},
        {0xff65, 0xff9f},
    }};
    static bool holds(char32_t c) noexcept { return detail::any_holds(ranges, c); }
  };

  static constexpr std::array<std::string_view, 1> names{"afmoe"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<NumbersFromRight, detail::Runs<Unspaced>, DeepSeekV3Words>;
};
static_assert(PreTokenizer<Afmoe>);

}  // namespace zrt::inline ZRT_ABI::text::pre
