// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/shared_literals.hpp: texts as literals of GBNF that share their beginnings.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/core/slice.hpp>
#include <zrt/text/chat/text_builder.hpp>

#include <string_view>

namespace zrt::inline ZRT_ABI::text::grammar::detail {

/// Writes a text of UTF-8 as a literal of GBNF.
inline void write_literal(std::string_view text, chat::TextBuilder& out) noexcept {
  constexpr std::string_view hex = "0123456789abcdef";
  out << '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out << '\\' << c;
    else if (byte < 0x20)
      out << "\\x" << hex[byte >> 4] << hex[byte & 15];
    else
      out << c;
  }
  out << '"';
}

/// Bytes of the whole characters that two texts begin with.
[[nodiscard]] inline std::size_t shared_bytes(std::string_view a, std::string_view b) noexcept {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  const auto within = [&](std::string_view t) { return n < t.size() && (static_cast<unsigned char>(t[n]) >> 6) == 2; };
  while (n > 0 && (within(a) || within(b))) --n;
  return n;
}

/// Most brackets within each other. Texts that share more are written out, each one from there on.
inline constexpr std::uint32_t kMostSharedDepth = 64;

/// Writes texts in rising order, each once, that agree up to byte `at`: what follows that, as alternatives.
inline void write_alternatives(Span<const std::string_view> texts, std::size_t at, std::uint32_t depth,
                               chat::TextBuilder& out) noexcept {
  for (std::size_t i = 0; i < texts.size();) {
    if (i != 0) out << " | ";
    // Of those between two texts in order all share what the two do.
    std::size_t end = i + 1;
    while (depth < kMostSharedDepth && end < texts.size() && shared_bytes(texts[i], texts[end]) > at) ++end;
    const std::size_t shared = end == i + 1 ? texts[i].size() : shared_bytes(texts[i], texts[end - 1]);
    write_literal(slice(texts[i], at, shared - at), out);
    if (end != i + 1) {
      out << " (";
      write_alternatives(texts.subspan(i, end - i), shared, depth + 1, out);
      out << ')';
    }
    i = end;
  }
}

/// Writes texts as alternatives of GBNF, in any order. A grammar so is at few places at once, however many texts there
/// are. Sorts `texts`.
inline void write_literals(Span<std::string_view> texts, chat::TextBuilder& out) noexcept {
  heap_sort(texts, [](std::string_view a, std::string_view b) { return a < b; });
  std::size_t count = 0;
  for (const std::string_view text : texts)
    if (count == 0 || texts[count - 1] != text) texts[count++] = text;
  write_alternatives({texts.data(), count}, 0, 0, out);
}

}  // namespace zrt::inline ZRT_ABI::text::grammar::detail
