// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/json_slices.hpp: parts of a JSON text as they stand in it, byte for byte.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/core/string.hpp>

#include <cstddef>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::chat::detail {

[[nodiscard]] constexpr bool is_json_space(char c) noexcept { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// `text` without the white space around it.
[[nodiscard]] constexpr std::string_view without_json_spaces(std::string_view text) noexcept {
  while (!text.empty() && is_json_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_json_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Whether one is within a string while going over the bytes of a JSON text.
class JsonQuotes {
 public:
  constexpr void take(char c) noexcept {
    if (escaped_)
      escaped_ = false;
    else if (quoted_ && c == '\\')
      escaped_ = true;
    else if (c == '"')
      quoted_ = !quoted_;
  }
  [[nodiscard]] constexpr bool quoted() const noexcept { return quoted_; }

 private:
  bool quoted_ = false;
  bool escaped_ = false;
};

/// Looks for a mark outside of strings in a JSON text that grows: what was looked at is not looked at again.
class UnquotedSearch {
 public:
  [[nodiscard]] constexpr std::size_t find(std::string_view text, std::string_view mark) noexcept {
    for (; at_ + mark.size() <= text.size(); quotes_.take(text[at_++]))
      if (!quotes_.quoted() && slice(text, at_, mark.size()) == mark) return at_;
    return std::string_view::npos;
  }

 private:
  std::size_t at_ = 0;
  JsonQuotes quotes_{};
};

/// Where `mark` stands in a JSON text, outside of its strings; npos where it does not.
[[nodiscard]] constexpr std::size_t find_unquoted(std::string_view text, std::string_view mark) noexcept {
  return UnquotedSearch().find(text, mark);
}

/// Bytes of the JSON value in front of a text; all of the text where the value has no end.
[[nodiscard]] constexpr std::size_t json_size(std::string_view text) noexcept {
  std::size_t open = 0;
  JsonQuotes quotes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool was_quoted = quotes.quoted();
    if (!was_quoted && open == 0 && (c == ',' || c == '}' || c == ']' || c == ':')) return i;
    quotes.take(c);
    if (was_quoted && !quotes.quoted() && open == 0) return i + 1;
    if (was_quoted) continue;
    if (c == '{' || c == '[') ++open;
    if ((c == '}' || c == ']') && --open == 0) return i + 1;
  }
  return text.size();
}

/// The value of a key as an object of valid JSON writes it, the last one of equal keys; empty where it has none that is
/// written without escapes.
[[nodiscard]] constexpr std::string_view json_member(std::string_view object, std::string_view key) noexcept {
  std::string_view found{};
  std::string_view left = without_json_spaces(object);
  if (!left.starts_with('{')) return {};
  left.remove_prefix(1);
  while (!(left = without_json_spaces(left)).empty() && left.front() == '"') {
    const std::size_t name = json_size(left);
    const bool is_it = name >= 2 && slice(left, 1, name - 2) == key;
    left = without_json_spaces(slice(left, name));
    if (!left.starts_with(':')) return {};
    left = without_json_spaces(slice(left, 1));
    const std::size_t value = json_size(left);
    if (is_it) found = without_json_spaces(slice(left, 0, value));
    left = without_json_spaces(slice(left, value));
    if (left.starts_with(',')) left.remove_prefix(1);
  }
  return found;
}

}  // namespace zrt::inline ZRT_ABI::text::chat::detail
