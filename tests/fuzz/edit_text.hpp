// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/edit_text.hpp: a good text with a few places edited, as a fuzzer's bytes say.
#pragma once

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace zrt::test {

/// The text that `bytes` stand for: 0 and a text, or the number of a good one and then, four bytes each, where it
/// is edited (u16), how, and by what. `tokens` are what a reader of such texts looks for.
[[nodiscard]] inline std::string edited_text(std::span<const std::string> good,
                                             std::span<const std::string_view> tokens,
                                             std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return {};
  if (bytes[0] == 0) return {bytes.begin() + 1, bytes.end()};
  std::string text = good[bytes[0] % good.size()];
  for (std::size_t i = 1; i + 4 <= bytes.size(); i += 4) {
    const std::size_t at = (bytes[i] | static_cast<std::size_t>(bytes[i + 1]) << 8) % (text.size() + 1);
    const std::uint8_t value = bytes[i + 3];
    const std::string_view token = tokens[value % tokens.size()];
    const auto word = [&](std::size_t p) { return p < text.size() && (std::isalnum(text[p]) != 0 || text[p] == '_'); };
    switch (bytes[i + 2] % 6) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(value);
        break;
      case 1:
        text.insert(at, token);
        break;
      case 2:
        text.erase(at, value % 16u);
        break;
      case 3: {
        // The word, or the character, that stands there.
        std::size_t end = at;
        while (word(end)) ++end;
        text.replace(at, end == at ? std::size_t{1} : end - at, token);
        break;
      }
      case 4:
        text.insert(at, text.substr(at / 2, value % 64u));
        break;
      default:
        if (value % 8 == 0) text.resize(at);
    }
  }
  return text;
}

}  // namespace zrt::test
