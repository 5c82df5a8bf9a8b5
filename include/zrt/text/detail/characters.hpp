// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/characters.hpp: words of characters, for the vocabularies whose token texts are plain text.
#pragma once

#include <zrt/core/string.hpp>
#include <zrt/text/detail/byte_text.hpp>
#include <zrt/text/detail/merger.hpp>
#include <zrt/text/detail/text_index.hpp>
#include <zrt/text/detail/unicode.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// Stands for a space in such texts.
inline constexpr std::string_view kSpaceMark = "\xe2\x96\x81";

/// Appends `text` with its spaces marked.
[[nodiscard]] inline Result<void> mark_spaces(std::string_view text, String& out) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    if (auto r = out.append(slice(text, at, space - at)); !r) return r;
    if (space < text.size())
      if (auto r = out.append(kSpaceMark); !r) return r;
    at = space + 1;
  }
  return {};
}

/// Appends `c` in UTF-8.
[[nodiscard]] inline Result<void> append_utf8(char32_t c, String& to) noexcept {
  const auto byte = [&](char32_t bits) noexcept { return to.push_back(static_cast<char>(bits)); };
  if (c < 0x80) return byte(c);
  if (auto r = c < 0x800 ? byte(0xc0 | c >> 6) : c < 0x10000 ? byte(0xe0 | c >> 12) : byte(0xf0 | c >> 18); !r)
    return r;
  for (int shift = c < 0x800 ? 0 : c < 0x10000 ? 6 : 12; shift >= 0; shift -= 6)
    if (auto r = byte(0x80 | (c >> shift & 0x3f)); !r) return r;
  return {};
}

/// Starts `merger` with the code points of `word`. An undecodable byte stands alone, so that it never swallows a
/// space mark.
[[nodiscard]] inline Result<void> start_with_characters(std::string_view word, const TextIndex& index,
                                                        Merger& merger) noexcept {
  if (auto r = merger.start(word.size()); !r) return r;
  for (std::size_t at = 0; at < word.size();) {
    const std::uint32_t length = decode(word, at).length;
    merger.add(static_cast<std::uint32_t>(at), length, index.find(slice(word, at, length)));
    at += length;
  }
  return {};
}

/// From a byte to its token, or kNoToken.
using ByteTokens = std::array<std::int32_t, 256>;

/// The token "<0xHH>" of `byte`, or kNoToken.
[[nodiscard]] inline std::int32_t find_hex_token(const TextIndex& index, unsigned byte) noexcept {
  const auto spelled = hex_text(static_cast<unsigned char>(byte));
  return index.find(std::string_view(spelled.data(), spelled.size()));
}

/// Appends what became of `word`: the tokens, and for what has none those of its bytes.
[[nodiscard]] inline Result<void> push_merged(std::string_view word, const Merger& merger, const ByteTokens& bytes,
                                              Vector<std::int32_t>& out) noexcept {
  return merger.each([&](std::uint32_t at, std::uint32_t length, std::int32_t token) noexcept -> Result<void> {
    if (token != kNoToken) return out.push_back(token);
    for (const char c : slice(word, at, length)) {
      const std::int32_t of_byte = bytes[static_cast<unsigned char>(c)];
      if (of_byte == kNoToken) continue;
      if (auto r = out.push_back(of_byte); !r) return r;
    }
    return {};
  });
}

}  // namespace zrt::inline ZRT_ABI::text::detail
