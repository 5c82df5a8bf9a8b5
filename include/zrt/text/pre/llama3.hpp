// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/llama3.hpp: the pre-tokenizer of Llama 3, and the word rules that later families vary.
#pragma once

#include <zrt/text/detail/scanner.hpp>
#include <zrt/text/pre/traits.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Words of Llama 3, tried in this order: English contractions in any case; letters with at most one
/// sign before them that is no line break and no number; up to `max_digits` numbers; other signs with at
/// most one space before and all line breaks behind; white space up to its last line break; white
/// space, the last of which goes to the word that follows. With `joins_marks`, marks count as letters.
struct Llama3Word {
  std::size_t max_digits;
  bool joins_marks;

  /// Where the word ends that begins at `from`.
  [[nodiscard]] std::size_t end_of(std::string_view text, std::size_t from) const noexcept {
    detail::Cursor cursor{text, from};
    if (const std::size_t length = contraction(cursor); length != 0) return from + length;
    const detail::CodePoint first = cursor.peek();
    const detail::Properties kind = detail::properties_of(first.value);
    const std::size_t second = from + first.length;
    const bool leads_word = !kind.letter() && !kind.number() && !line_break(first.value) && second < text.size() &&
                            in_word(detail::decode(text, second).value);
    if (in_word(first.value) || leads_word) {
      cursor.at = second;
      cursor.skip_while([&](char32_t c) { return in_word(c); });
      return cursor.at;
    }
    if (kind.number()) {
      std::size_t digits = 0;
      cursor.skip_while([&](char32_t c) { return digits++ < max_digits && detail::properties_of(c).number(); });
      return cursor.at;
    }
    const bool space_before =
        first.value == U' ' && second < text.size() && other_sign(detail::decode(text, second).value);
    if (other_sign(first.value) || space_before) {
      cursor.at = second;
      cursor.skip_while([&](char32_t c) { return other_sign(c); });
      cursor.skip_while(&line_break);
      return cursor.at;
    }
    const detail::SpaceRun run = detail::space_run(text, from);
    return run.line_break_end != 0 ? run.line_break_end : detail::space_cut(text, run, from);
  }

 private:
  [[nodiscard]] bool in_word(char32_t c) const noexcept {
    const detail::Properties p = detail::properties_of(c);
    return p.letter() || (joins_marks && p.mark());
  }
  static bool line_break(char32_t c) noexcept { return c == U'\n' || c == U'\r'; }
  [[nodiscard]] bool other_sign(char32_t c) const noexcept {
    const detail::Properties p = detail::properties_of(c);
    return !p.space() && !p.number() && !in_word(c);
  }

  static std::size_t contraction(const detail::Cursor& cursor) noexcept {
    if (cursor.byte() != '\'') return 0;
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
    const char a = lower(cursor.byte(1));
    const char b = lower(cursor.byte(2));
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
  }
};

/// The words of Llama3Word as a stage.
template <std::size_t max_digits, bool joins_marks = false> struct Llama3Words {
  static detail::Match find(std::string_view text, std::size_t from) noexcept {
    return {from, Llama3Word{max_digits, joins_marks}.end_of(text, from)};
  }
};

struct Llama3 {
  static constexpr std::array<std::string_view, 7> names{"llama-bpe", "llama3",  "llama-v3", "falcon3",
                                                         "falcon-h1", "pixtral", "lfm2"};
  static constexpr Traits traits{.ignore_merges = true, .adds_bos = true, .cleans_spaces = true};
  using Stages = detail::StageList<Llama3Words<3>>;
};
static_assert(PreTokenizer<Llama3>);

/// The same words, joined by merges alone.
struct Dbrx {
  static constexpr std::array<std::string_view, 2> names{"dbrx", "smaug-bpe"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true};
  using Stages = Llama3::Stages;
};
static_assert(PreTokenizer<Dbrx>);

}  // namespace zrt::inline ZRT_ABI::text::pre
