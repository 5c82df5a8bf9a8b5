// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/clean_spaces.hpp: dropping the spaces that some vocabularies' decoders drop.
#pragma once

#include <zrt/core/config.hpp>
#include <zrt/core/span.hpp>

#include <cstddef>

namespace zrt::inline ZRT_ABI::text::detail {

/// Keeps the characters at the places for which `drops(place)` is false and returns how many they are.
template <class Drops> [[nodiscard]] std::size_t keep_others(Span<char> text, Drops drops) noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (!drops(i)) text[kept++] = text[i];
  return kept;
}

/// Drops in place, in three passes: a space before one of "?!.,"; both spaces around a lone apostrophe;
/// a space before 's 'm 're 've. Returns the new size.
[[nodiscard]] inline std::size_t clean_spaces(Span<char> text) noexcept {
  const auto at = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  text = text.first(keep_others(text, [&](std::size_t i) {
    const char next = at(i + 1);
    return text[i] == ' ' && (next == '?' || next == '!' || next == '.' || next == ',');
  }));
  std::size_t closing = text.size();
  text = text.first(keep_others(text, [&](std::size_t i) {
    if (i == closing) return true;
    const bool opening = text[i] == ' ' && at(i + 1) == '\'' && at(i + 2) == ' ';
    if (opening) closing = i + 2;
    return opening;
  }));
  return keep_others(text, [&](std::size_t i) {
    if (text[i] != ' ' || at(i + 1) != '\'') return false;
    const char a = at(i + 2);
    return a == 's' || a == 'm' || ((a == 'r' || a == 'v') && at(i + 3) == 'e');
  });
}

}  // namespace zrt::inline ZRT_ABI::text::detail
