// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/jais2.hpp: the pre-tokenizer of Jais 2.
#pragma once

#include <zrt/text/pre/llama3.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Cuts a piece of white space without line breaks into powers of two, the greatest first, up to 512.
struct SpacePowers {
  static detail::Match find(std::string_view text, std::size_t from) noexcept {
    if (from == 0 && !all_space(text)) return {text.size(), text.size()};
    std::size_t count = 0;
    std::size_t end = from;
    for (detail::Cursor cursor{text, from}; !cursor.ended() && count < 512;) {
      cursor.at += cursor.peek().length;
      if (is_power_of_two(++count)) end = cursor.at;
    }
    return {from, end};
  }

 private:
  static constexpr bool is_power_of_two(std::size_t n) noexcept { return (n & (n - 1)) == 0; }

  /// Of the words of Llama 3, those that begin with two white spaces and do not end in a line break.
  static bool all_space(std::string_view text) noexcept {
    if (text.empty() || is_line_break(static_cast<unsigned char>(text.back()))) return false;
    detail::Cursor cursor{text, 0};
    std::size_t count = 0;
    cursor.skip_while([&](char32_t c) { return detail::properties_of(c).space() && ++count <= 2; });
    return count >= 2;
  }
};

struct Jais2 {
  static constexpr std::array<std::string_view, 1> names{"jais-2"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true};
  using Stages = detail::StageList<Llama3Words<3>, SpacePowers>;
};
static_assert(PreTokenizer<Jais2>);

}  // namespace zrt::inline ZRT_ABI::text::pre
