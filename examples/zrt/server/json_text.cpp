// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/json_text.cpp: escapes, and the repair of what is no UTF-8.
#include "json_text.hpp"
#include <zrt/core/json_escape.hpp>

namespace program::server {
namespace {

/// The bytes at the begin of a text that are one character, or that are none and could not begin one together.
struct Utf8Sequence {
  std::size_t size = 1;
  bool valid = false;
};

/// UTF-8 of RFC 3629, section 4: what the first byte asks for, and within which bounds the second one stands.
Utf8Sequence first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {1, true};
  if (first < 0xc2 || first > 0xf4) return {};
  const std::size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t i = 1; i < size; ++i)
    if (i == text.size() || byte(i) < (i == 1 ? least : 0x80) || byte(i) > (i == 1 ? most : 0xbf)) return {i};
  return {size, true};
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;  // where what needs no change begins
  for (std::size_t at = 0; at < text.size();) {
    const auto [size, valid] = first_of(text.substr(at));
    const auto c = static_cast<unsigned char>(text[at]);
    if (!valid || zrt::needs_json_escape(c)) {
      out.append(text, plain, at - plain).append(valid ? zrt::json_escape(c).view() : "\xef\xbf\xbd");
      plain = at + size;
    }
    at += size;
  }
  out.append(text, plain).append(1, '"');
}

}  // namespace program::server
