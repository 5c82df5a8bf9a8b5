// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/digit_groups.hpp: pre-tokenizers that group digits by threes from the right.
#pragma once

#include <zrt/text/pre/words.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Number signs by threes, counted from the right end of their run; text before a run stays with its first group.
/// A run is counted once, where it begins, so that the time is linear.
struct NumbersFromRight {
  static detail::Match find(std::string_view text, std::size_t from) noexcept {
    detail::Cursor cursor{text, from};
    const bool in_run = from != 0 && detail::Number::holds(cursor.peek().value);
    if (!in_run) cursor.skip_while([](char32_t c) { return !detail::Number::holds(c); });
    if (cursor.ended()) return {text.size(), text.size()};
    skip(cursor, in_run ? 3 : first_group(cursor));
    return {from, cursor.at};
  }

 private:
  /// How many numbers stand in the first group of the run at `cursor`.
  static std::size_t first_group(detail::Cursor cursor) noexcept {
    std::size_t count = 0;
    cursor.skip_while([&](char32_t c) { return detail::Number::holds(c) && ++count != 0; });
    return count % 3 == 0 ? 3 : count % 3;
  }
  static void skip(detail::Cursor& cursor, std::size_t count) noexcept {
    cursor.skip_while([&](char32_t) { return count-- != 0; });
  }
};

/// Cuts before every ASCII digit behind which a multiple of three of them ends; what is no digit stays with the
/// group before it. A run is counted once, from the cut before it.
struct CutsBeforeThrees {
  static detail::Match find(std::string_view text, std::size_t from) noexcept {
    const std::size_t begin = from == 0 ? next_cut(text, 0) : from;
    if (begin == text.size()) return {begin, begin};
    const std::size_t behind = begin + 3;
    const bool goes_on = behind < text.size() && digit(text[behind]);
    return {begin, goes_on ? behind : next_cut(text, behind)};
  }

 private:
  static bool digit(char c) noexcept { return c >= '0' && c <= '9'; }

  /// The first cut at or after `at`, where no run is open.
  static std::size_t next_cut(std::string_view text, std::size_t at) noexcept {
    while (at < text.size()) {
      std::size_t end = at;
      while (end < text.size() && digit(text[end])) ++end;
      if (end - at >= 3) return at + (end - at) % 3;
      at = end + 1;
    }
    return text.size();
  }
};

/// Cohere's Tiny Aya: numbers by threes from the right, then words that end in their contractions.
struct TinyAya {
  static constexpr std::array<std::string_view, 2> names{"tiny_aya", "cohere2moe"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<NumbersFromRight, Words<WordRules{.marks = Marks::letters_and_signs,
                                                                     .contractions = Contractions::behind_word,
                                                                     .tail = SignTail::line_breaks_and_slashes}>>;
};
static_assert(PreTokenizer<TinyAya>);

/// SuperBPE: numbers apart, by threes from the right; everything else is one piece, over spaces too.
struct SuperBpe {
  static constexpr std::array<std::string_view, 1> names{"superbpe"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<detail::Runs<detail::Number>, CutsBeforeThrees>;
};
static_assert(PreTokenizer<SuperBpe>);

}  // namespace zrt::inline ZRT_ABI::text::pre
