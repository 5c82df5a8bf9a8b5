// SPDX-License-Identifier: Apache-2.0
// tests/support/characters.hpp: parts of a text that are whole UTF-8 characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace zrt::test {

/// Bytes [from, to) of `text`, and what the characters at both ends have beyond them.
[[nodiscard]] inline std::string whole_characters(std::string_view text, std::size_t from, std::size_t to) {
  const auto continues = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0u) == 0x80;
  };
  while (from > 0 && continues(from)) --from;
  while (continues(to)) ++to;
  return std::string(text.substr(from, to - from));
}

}  // namespace zrt::test
