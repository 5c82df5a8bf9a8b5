// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/unicode.hpp: tolerant UTF-8 decoding and the properties of a code point.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/text/detail/unicode_tables.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// Answers what a code point is, by the general categories and White_Space of Unicode.
class Properties {
 public:
  constexpr Properties() = default;
  constexpr explicit Properties(std::uint32_t bits) noexcept : bits_(static_cast<std::uint8_t>(bits & 0xffu)) {}

  [[nodiscard]] constexpr bool letter() const noexcept { return (bits_ & 1u) != 0; }
  [[nodiscard]] constexpr bool mark() const noexcept { return (bits_ & 2u) != 0; }
  [[nodiscard]] constexpr bool number() const noexcept { return (bits_ & 4u) != 0; }
  [[nodiscard]] constexpr bool punctuation() const noexcept { return (bits_ & 8u) != 0; }
  [[nodiscard]] constexpr bool symbol() const noexcept { return (bits_ & 16u) != 0; }
  [[nodiscard]] constexpr bool space() const noexcept { return (bits_ & 32u) != 0; }

 private:
  std::uint8_t bits_ = 0;
};

[[nodiscard]] constexpr Properties search_properties(char32_t code_point) noexcept {
  std::size_t low = 0;
  std::size_t high = std::size(kUnicodeRanges);
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    if ((kUnicodeRanges[middle] >> 8) <= code_point)
      low = middle;
    else
      high = middle;
  }
  return Properties(kUnicodeRanges[low]);
}

inline constexpr auto kAsciiProperties = [] {
  std::array<Properties, 128> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = search_properties(static_cast<char32_t>(i));
  return table;
}();

[[nodiscard]] constexpr Properties properties_of(char32_t code_point) noexcept {
  return code_point < 128 ? kAsciiProperties[code_point] : search_properties(code_point);
}

/// A decoded code point and the number of bytes it takes; an undecodable byte is U+FFFD of length 1.
struct CodePoint {
  char32_t value = 0xfffd;
  std::uint32_t length = 1;
  bool valid = false;
};

/// Returns how many bytes a sequence that begins with `lead` announces (1 for bytes that lead nothing).
[[nodiscard]] constexpr std::uint32_t announced_length(unsigned char lead) noexcept {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

/// Says whether `second` may follow `lead`: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] constexpr bool second_byte_fits(unsigned char lead, unsigned char second) noexcept {
  switch (lead) {
    case 0xe0:
      return second >= 0xa0 && second <= 0xbf;
    case 0xed:
      return second >= 0x80 && second <= 0x9f;
    case 0xf0:
      return second >= 0x90 && second <= 0xbf;
    case 0xf4:
      return second >= 0x80 && second <= 0x8f;
    default:
      return (second & 0xc0u) == 0x80u;
  }
}

/// Decodes the code point at `at`, which lies inside `text`.
[[nodiscard]] constexpr CodePoint decode(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xc2 || lead > 0xf4) return {};
  const std::uint32_t length = announced_length(lead);
  if (text.size() - at < length || !second_byte_fits(lead, byte(1))) return {};
  char32_t value = lead & (0x7fu >> length);
  for (std::uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return {};
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  return {value, length, true};
}

/// A code point range, both ends included.
struct CodePointRange {
  char32_t first;
  char32_t last;
};

/// Says whether one of the sorted, disjoint `ranges` holds `code_point`.
template <std::size_t N>
[[nodiscard]] constexpr bool any_holds(const std::array<CodePointRange, N>& ranges, char32_t code_point) noexcept {
  std::size_t low = 0;
  std::size_t high = N;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (ranges[middle].last < code_point)
      low = middle + 1;
    else
      high = middle;
  }
  return low < N && ranges[low].first <= code_point;
}

static_assert(properties_of(U'a').letter() && properties_of(U'\u00b2').number() && properties_of(U'\u4e94').letter());
static_assert(properties_of(U'$').symbol() && properties_of(U'!').punctuation() && properties_of(U'\u3000').space());
static_assert(properties_of(U'\u0301').mark() && !properties_of(U'\u200b').space() && properties_of(0xfffd).symbol());

}  // namespace zrt::inline ZRT_ABI::text::detail
