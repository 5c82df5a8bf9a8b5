// SPDX-License-Identifier: Apache-2.0
// zrt/core/json_escape.hpp: characters as escapes of a JSON string.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI {

/// A character's escape; a view of it holds as long as it does.
struct JsonEscape {
  std::array<char, 6> text{};
  std::uint8_t size = 0;
  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text.data(), size}; }
};

/// Whether a JSON string cannot hold the character as it is (RFC 8259, section 7).
[[nodiscard]] constexpr bool needs_json_escape(char32_t c) noexcept { return c < 0x20 || c == '"' || c == '\\'; }

/// The escape of a UTF-16 unit: two characters where JSON has a short one, else \uXXXX.
[[nodiscard]] constexpr JsonEscape json_escape(char32_t unit) noexcept {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t";
  constexpr std::string_view kShort = "\"\\bfnrt";
  const std::size_t at = unit < 0x80 ? kSpecial.find(static_cast<char>(unit)) : std::string_view::npos;
  if (at != std::string_view::npos) return {{'\\', kShort[at]}, 2};
  return {{'\\', 'u', kHex[(unit >> 12) & 15u], kHex[(unit >> 8) & 15u], kHex[(unit >> 4) & 15u], kHex[unit & 15u]}, 6};
}
static_assert(json_escape('\n').view() == "\\n" && json_escape(0x1f).view() == "\\u001f" &&
              json_escape(0xd83d).view() == "\\ud83d");

}  // namespace zrt::inline ZRT_ABI
