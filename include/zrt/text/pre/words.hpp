// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/words.hpp: the word rules that Llama 3 made common, with the switches by which later vocabularies vary.
#pragma once

#include <zrt/text/detail/scanner.hpp>
#include <zrt/text/pre/traits.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// What combining marks are.
enum class Marks : std::uint8_t {
  signs,              ///< other signs
  letters,            ///< letters
  letters_and_signs,  ///< letters; and runs of other signs go on over them
};

/// Where an English contraction ('s, 't, 're, 've, 'm, 'll, 'd in any case) stands.
enum class Contractions : std::uint8_t { apart, behind_word, none };

/// What a run of other signs takes along from behind it.
enum class SignTail : std::uint8_t { nothing, line_breaks, line_breaks_and_slashes, one_line_break_or_slash };

/// The switches of the rules; unset, the rules are those of Llama 3.
struct WordRules {
  std::size_t max_digits = 3;  ///< numbers of one piece
  Marks marks = Marks::signs;
  Contractions contractions = Contractions::apart;
  SignTail tail = SignTail::line_breaks;
  bool splits_case = false;  ///< a word is capitals, then small letters; letters beyond ASCII are both
  bool joins_words = false;  ///< a word goes on over one space to the next
  bool han_apart = false;    ///< runs of Chinese characters are pieces of their own
};

/// Says whether `c` is a line feed or a carriage return.
[[nodiscard]] constexpr bool is_line_break(char32_t c) noexcept { return c == U'\n' || c == U'\r'; }

/// The length of the contraction at `cursor`; 0 for none.
[[nodiscard]] inline std::size_t contraction_length(const detail::Cursor& cursor) noexcept {
  if (cursor.byte() != '\'') return 0;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  const char a = lower(cursor.byte(1));
  const char b = lower(cursor.byte(2));
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

/// Where white space at `from` is cut: behind its last line break, else so that its last one goes to what follows.
[[nodiscard]] inline std::size_t end_of_space(std::string_view text, std::size_t from) noexcept {
  const detail::SpaceRun run = detail::space_run(text, from);
  return run.line_break_end != 0 ? run.line_break_end : detail::space_cut(text, run, from);
}

/// Chinese characters, as blocks.
struct Han {
  static constexpr std::array<detail::CodePointRange, 9> ranges{{
      {0x3400, 0x4dbf},
      {0x4e00, 0x9fff},
      {0xf900, 0xfaff},
      {0x20000, 0x2a6df},
      {0x2a700, 0x2b73f},
      {0x2b740, 0x2b81f},
      {0x2b820, 0x2ceaf},
      {0x2ceb0, 0x2ebef},
      {0x2f800, 0x2fa1f},
  }};
  static bool holds(char32_t c) noexcept { return detail::any_holds(ranges, c); }
};

/// Words by rules, tried in this order: contractions, Chinese characters, letters with at most one sign before them
/// that is no line break and no number, numbers, other signs with at most one space before, white space.
class Word {
 public:
  constexpr explicit Word(const WordRules& rules) noexcept : rules_(rules) {}

  /// Where the word ends that begins at `from`.
  [[nodiscard]] std::size_t end_of(std::string_view text, std::size_t from) const noexcept {
    detail::Cursor cursor{text, from};
    if (rules_.contractions == Contractions::apart)
      if (const std::size_t length = contraction_length(cursor); length != 0) return from + length;
    const char32_t first = cursor.peek().value;
    if (rules_.han_apart && Han::holds(first)) {
      cursor.skip_while(&Han::holds);
      return cursor.at;
    }
    if (const std::size_t end = end_of_letters(text, from); end != 0) return with_contraction(text, end);
    if (detail::properties_of(first).number()) return end_of_number(cursor);
    if (const std::size_t end = end_of_signs(cursor); end != 0) return end;
    return end_of_space(text, from);
  }

 private:
  [[nodiscard]] bool in_word(char32_t c) const noexcept {
    const detail::Properties p = detail::properties_of(c);
    if (rules_.han_apart && Han::holds(c)) return false;
    return p.letter() || (rules_.marks != Marks::signs && p.mark());
  }
  [[nodiscard]] bool capital(char32_t c) const noexcept { return !(c >= U'a' && c <= U'z') && in_word(c); }
  [[nodiscard]] bool small(char32_t c) const noexcept { return !(c >= U'A' && c <= U'Z') && in_word(c); }
  [[nodiscard]] bool other_sign(char32_t c) const noexcept {
    const detail::Properties p = detail::properties_of(c);
    return !p.space() && !p.number() && !p.letter() && !(rules_.marks == Marks::letters && p.mark());
  }
  static bool may_lead(char32_t c) noexcept {
    const detail::Properties p = detail::properties_of(c);
    return !p.letter() && !p.number() && !is_line_break(c);
  }

  /// 0 where no word begins.
  [[nodiscard]] std::size_t end_of_letters(std::string_view text, std::size_t from) const noexcept {
    const detail::CodePoint first = detail::decode(text, from);
    const std::size_t second = from + first.length;
    const bool led = may_lead(first.value) && second < text.size();
    if (rules_.splits_case) return end_of_case_word(text, from, led ? second : from);
    if (!in_word(first.value) && !(led && in_word(detail::decode(text, second).value))) return 0;
    detail::Cursor cursor{text, second};
    if (rules_.joins_words)
      skip_joined(cursor);
    else
      cursor.skip_while([&](char32_t c) { return in_word(c); });
    return cursor.at;
  }

  /// A word that ends in small letters before one of capitals alone; with a sign before it rather than without.
  [[nodiscard]] std::size_t end_of_case_word(std::string_view text, std::size_t from,
                                             std::size_t behind_lead) const noexcept {
    for (const std::size_t begin : {behind_lead, from})
      if (const std::size_t end = end_in_small(text, begin); end != 0) return end;
    for (const std::size_t begin : {behind_lead, from})
      if (const std::size_t end = end_of_capitals(text, begin); end != begin) return end;
    return 0;
  }
  /// The end of capitals and the small letters behind them; letters that are both count as the last small one.
  [[nodiscard]] std::size_t end_in_small(std::string_view text, std::size_t from) const noexcept {
    detail::Cursor cursor{text, from};
    std::size_t last_small_end = 0;
    while (!cursor.ended() && capital(cursor.peek().value)) {
      const detail::CodePoint next = cursor.peek();
      cursor.at += next.length;
      if (small(next.value)) last_small_end = cursor.at;
    }
    if (cursor.ended() || !small(cursor.peek().value)) return last_small_end;
    cursor.skip_while([&](char32_t c) { return small(c); });
    return cursor.at;
  }
  [[nodiscard]] std::size_t end_of_capitals(std::string_view text, std::size_t from) const noexcept {
    detail::Cursor cursor{text, from};
    cursor.skip_while([&](char32_t c) { return capital(c); });
    return cursor.at;
  }

  /// Letters and their marks, and over single spaces to the letters behind them.
  static void skip_joined(detail::Cursor& cursor) noexcept {
    while (!cursor.ended()) {
      cursor.skip_while([](char32_t c) {
        const detail::Properties p = detail::properties_of(c);
        return p.letter() || p.mark();
      });
      if (cursor.byte() != ' ' || cursor.at + 1 >= cursor.text.size()) return;
      if (!detail::properties_of(detail::decode(cursor.text, cursor.at + 1).value).letter()) return;
      ++cursor.at;
    }
  }

  [[nodiscard]] std::size_t with_contraction(std::string_view text, std::size_t end) const noexcept {
    return rules_.contractions == Contractions::behind_word ? end + contraction_length({text, end}) : end;
  }

  [[nodiscard]] std::size_t end_of_number(detail::Cursor cursor) const noexcept {
    std::size_t digits = 0;
    cursor.skip_while([&](char32_t c) { return digits++ < rules_.max_digits && detail::properties_of(c).number(); });
    return cursor.at;
  }

  /// 0 where no other sign stands, behind at most one space.
  [[nodiscard]] std::size_t end_of_signs(detail::Cursor cursor) const noexcept {
    if (cursor.byte() == ' ' && cursor.at + 1 < cursor.text.size()) ++cursor.at;
    if (!other_sign(cursor.peek().value)) return 0;
    cursor.skip_while([&](char32_t c) { return other_sign(c); });
    skip_tail(cursor);
    return cursor.at;
  }
  void skip_tail(detail::Cursor& cursor) const noexcept {
    const auto break_or_slash = [](char32_t c) { return is_line_break(c) || c == U'/'; };
    switch (rules_.tail) {
      case SignTail::nothing:
        return;
      case SignTail::line_breaks:
        return cursor.skip_while(&is_line_break);
      case SignTail::line_breaks_and_slashes:
        return cursor.skip_while(break_or_slash);
      case SignTail::one_line_break_or_slash:
        if (!cursor.ended() && break_or_slash(cursor.peek().value)) ++cursor.at;
    }
  }

  WordRules rules_;
};

/// Those words as a stage.
template <WordRules rules> struct Words {
  static detail::Match find(std::string_view text, std::size_t from) noexcept {
    return {from, Word{rules}.end_of(text, from)};
  }
};

}  // namespace zrt::inline ZRT_ABI::text::pre
