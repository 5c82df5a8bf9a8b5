// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/byte_text.hpp: the ways in which token texts spell raw bytes.
#pragma once

#include <zrt/text/detail/unicode.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// Reads the two hexadecimal digits of a byte, or gives nothing.
[[nodiscard]] constexpr std::optional<unsigned char> hex_digits(std::string_view text) noexcept {
  unsigned value = 0;
  for (char c : text) {
    unsigned digit = 16;
    if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
    if (c >= 'A' && c <= 'F') digit = static_cast<unsigned>(c - 'A') + 10;
    if (c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a') + 10;
    if (digit == 16) return std::nullopt;
    value = value * 16 + digit;
  }
  return static_cast<unsigned char>(value);
}

/// Reads "<0xHH>", or gives nothing.
[[nodiscard]] constexpr std::optional<unsigned char> hex_byte(std::string_view text) noexcept {
  if (text.size() != 6 || text[0] != '<' || text[1] != '0' || text[2] != 'x' || text[5] != '>') return std::nullopt;
  return hex_digits(slice(text, 3, 2));
}

/// Writes "<0xHH>".
[[nodiscard]] constexpr std::array<char, 6> hex_text(unsigned char byte) noexcept {
  constexpr std::string_view digits = "0123456789ABCDEF";
  return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

/// The alphabet of byte-level BPE: printable Latin-1 stands for itself, and the other 68 bytes, in
/// their order, for U+0100 to U+0143.
[[nodiscard]] constexpr bool stands_for_itself(unsigned byte) noexcept {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

inline constexpr auto kByteLetters = [] {
  std::array<char16_t, 256> letters{};
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte)
    letters[byte] = static_cast<char16_t>(stands_for_itself(byte) ? byte : next++);
  return letters;
}();

inline constexpr auto kLetterBytes = [] {
  std::array<std::int16_t, 0x144> bytes{};
  for (auto& byte : bytes) byte = -1;
  for (unsigned byte = 0; byte < 256; ++byte) bytes[kByteLetters[byte]] = static_cast<std::int16_t>(byte);
  return bytes;
}();

/// A letter of that alphabet in UTF-8; all of them lie below U+0800.
struct ByteLetter {
  char text[2];
  std::size_t length;
  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text, length}; }
};

[[nodiscard]] constexpr ByteLetter byte_letter(unsigned char byte) noexcept {
  const unsigned c = kByteLetters[byte];
  if (c < 0x80) return {{static_cast<char>(c), 0}, 1};
  return {{static_cast<char>(0xc0u | (c >> 6)), static_cast<char>(0x80u | (c & 0x3fu))}, 2};
}

/// Returns the byte that a letter stands for, or nothing.
[[nodiscard]] constexpr std::optional<unsigned char> letter_byte(char32_t c) noexcept {
  if (c >= kLetterBytes.size() || kLetterBytes[c] < 0) return std::nullopt;
  return static_cast<unsigned char>(kLetterBytes[c]);
}

static_assert(hex_byte("<0x0A>") == 10 && !hex_byte("<0xG0>") && letter_byte(U'\u0120') == 0x20 &&
              letter_byte(U'a') == 'a');
static_assert(kByteLetters[0xad] == 0x143 && !letter_byte(U'\u0144') && !letter_byte(U' '));

}  // namespace zrt::inline ZRT_ABI::text::detail
