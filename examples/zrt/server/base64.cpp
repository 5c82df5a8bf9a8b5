// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/base64.cpp: groups of three bytes and four digits.
#include "base64.hpp"

#include <cstdint>

namespace program::server {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64_of(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63u] : '=';
  }
  return out;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  if (text.size() % 4 != 0) return {};
  std::size_t padding = 0;
  for (; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::string out;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return {};
    held = held << 6 | static_cast<std::uint32_t>(digit);
    if (bits += 6; bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(held >> bits & 0xffu);
    held &= (1u << bits) - 1;
  }
  // Digits that are left over say nothing.
  if (held != 0) return {};
  return out;
}

}  // namespace program::server
