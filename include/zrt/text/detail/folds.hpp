// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/folds.hpp: lower case, letters without accents, and control characters.
#pragma once

#include <zrt/text/detail/unicode.hpp>
#include <zrt/text/detail/unicode_folds.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::text::detail {

/// The run of a table of unicode_folds.hpp that holds `code_point`; 0 for none.
template <std::size_t N>
[[nodiscard]] constexpr std::uint64_t fold_run(const std::uint64_t (&table)[N], char32_t code_point) noexcept {
  constexpr std::uint64_t kCodePoint = 0x1fffff;
  std::size_t low = 0;
  std::size_t high = N;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if ((table[middle] >> 21 & kCodePoint) < code_point)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == N) return 0;
  const std::uint64_t first = table[low] >> 42 & kCodePoint;
  const bool second = table[low] >> 63 != 0;
  return first <= code_point && (!second || (code_point - first) % 2 == 0) ? table[low] : 0;
}

/// The lower-case letter of a code point, the first of those that it becomes.
[[nodiscard]] constexpr char32_t lowercase(char32_t code_point) noexcept {
  const std::uint64_t run = fold_run(kLowercase, code_point);
  if (run == 0) return code_point;
  return static_cast<char32_t>((run & 0x1fffff) + code_point - (run >> 42 & 0x1fffff));
}
/// The first code point of the canonical decomposition: a letter without its accents.
[[nodiscard]] constexpr char32_t first_of_decomposition(char32_t code_point) noexcept {
  if (code_point >= 0xac00 && code_point <= 0xd7a3) return 0x1100 + (code_point - 0xac00) / 588;  // Hangul
  const std::uint64_t run = fold_run(kFirstOfDecomposition, code_point);
  return run == 0 ? code_point : static_cast<char32_t>(run & 0x1fffff);
}
[[nodiscard]] constexpr bool is_control_character(char32_t code_point) noexcept {
  // The run of 0 is a number other than 0, for it ends above.
  return fold_run(kControl, code_point) != 0;
}
static_assert(lowercase(U'A') == U'a' && lowercase(0x0100) == 0x0101 && lowercase(0x0101) == 0x0101);
static_assert(first_of_decomposition(0xe9) == U'e' && first_of_decomposition(0xd55c) == 0x1112);
static_assert(is_control_character(0) && is_control_character(0x200b) && !is_control_character(U'a'));

}  // namespace zrt::inline ZRT_ABI::text::detail
