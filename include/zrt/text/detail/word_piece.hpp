// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/word_piece.hpp: the "bert" model: normalised words, cut into the longest tokens from the left.
#pragma once

#include <zrt/core/string.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/text/detail/sentence_piece.hpp>
#include <zrt/text/detail/sorted_tokens.hpp>
#include <zrt/text/detail/text_index.hpp>
#include <zrt/text/detail/unicode.hpp>
#include <zrt/text/detail/unicode_folds.hpp>
#include <zrt/text/vocabulary.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

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

/// An ideograph, which is a word of its own; the ranges are those of BERT's tokenizer.
[[nodiscard]] constexpr bool is_ideograph(char32_t code_point) noexcept {
  constexpr std::array<Range, 8> ranges{{{0x3400, 0x4dbf},
                                         {0x4e00, 0x9fff},
                                         {0xf900, 0xfaff},
                                         {0x20000, 0x2a6df},
                                         {0x2a700, 0x2b73f},
                                         {0x2b740, 0x2b81f},
                                         {0x2b920, 0x2ceaf},
                                         {0x2f800, 0x2fa1f}}};
  return any_holds(ranges, code_point);
}

/// Splits a text into words at spaces, punctuation and ideographs, without accents and in lower case where the
/// vocabulary wants it, and cuts each word into the longest tokens from the left. A word that cannot be cut whole is the
/// unknown token. A token that begins a word begins with U+2581.
///
/// Takes time in proportion to the text, for a vocabulary: each byte is looked at once for each token length at most.
class WordPiece {
 public:
  explicit WordPiece(Allocator allocator) noexcept : sorted_(allocator) {}

  /// `unk` stands for words that cannot be cut. Errors: Errc::invalid_metadata without it, out_of_memory.
  [[nodiscard]] Result<void> build(const VocabularySpec& spec, std::int32_t unk) noexcept {
    if (unk == kNoToken) return fail(Errc::invalid_metadata, "the vocabulary has no unknown token");
    unk_ = unk;
    tokens_ = spec.tokens;
    lowercase_ = spec.lowercase.value_or(true);
    strip_accents_ = spec.strip_accents.value_or(lowercase_);
    return sorted_.build(tokens_, [](std::size_t) noexcept { return true; });
  }

  /// Appends the tokens of `text`. `word` is memory to work in.
  [[nodiscard]] Result<void> encode(std::string_view text, String& word, Vector<std::int32_t>& out) const noexcept {
    word.clear();
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint read = decode(text, at);
      at += read.length;
      const char32_t plain = strip_accents_ ? first_of_decomposition(read.value) : read.value;
      const Properties properties = properties_of(plain);
      if (properties.space()) {
        if (auto r = end_word(word, out); !r) return r;
        continue;
      }
      if (plain == 0xfffd || is_control_character(plain) || (strip_accents_ && properties.mark())) continue;
      const bool alone = properties.punctuation() || (plain < 0x7f && properties.symbol()) || is_ideograph(plain);
      if (alone)
        if (auto r = end_word(word, out); !r) return r;
      if (word.empty())
        if (auto r = word.append(kSpaceMark); !r) return r;
      if (auto r = append_utf8(lowercase_ ? lowercase(plain) : plain, word); !r) return r;
      if (alone)
        if (auto r = end_word(word, out); !r) return r;
    }
    return end_word(word, out);
  }

 private:
  [[nodiscard]] static Result<void> append_utf8(char32_t c, String& to) noexcept {
    const auto byte = [&](char32_t bits) noexcept { return to.push_back(static_cast<char>(bits)); };
    if (c < 0x80) return byte(c);
    if (auto r = c < 0x800 ? byte(0xc0 | c >> 6) : c < 0x10000 ? byte(0xe0 | c >> 12) : byte(0xf0 | c >> 18); !r)
      return r;
    for (int shift = c < 0x800 ? 0 : c < 0x10000 ? 6 : 12; shift >= 0; shift -= 6)
      if (auto r = byte(0x80 | (c >> shift & 0x3f)); !r) return r;
    return {};
  }

  [[nodiscard]] Result<void> end_word(String& word, Vector<std::int32_t>& out) const noexcept {
    const std::string_view whole = word.view();
    const std::size_t before = out.size();
    for (std::size_t at = 0; at < whole.size();) {
      const std::int32_t token = longest_at(whole, at);
      if (token == kNoToken) {
        while (out.size() > before) out.pop_back();
        if (auto r = out.push_back(unk_); !r) return r;
        break;
      }
      if (auto r = out.push_back(token); !r) return r;
      at += tokens_[static_cast<std::size_t>(token)].size();
    }
    word.clear();
    return {};
  }

  /// The longest token that `word` has at `at`; kNoToken for none.
  [[nodiscard]] std::int32_t longest_at(std::string_view word, std::size_t at) const noexcept {
    std::int32_t longest = kNoToken;
    sorted_.each_at(word, at, [&](std::int32_t token) noexcept { longest = token; });
    return longest;
  }

  Span<const std::string_view> tokens_;
  SortedTokens sorted_;
  std::int32_t unk_ = kNoToken;
  bool lowercase_ = true;
  bool strip_accents_ = true;
};

}  // namespace zrt::inline ZRT_ABI::text::detail
