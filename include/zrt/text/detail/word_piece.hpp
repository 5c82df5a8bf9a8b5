// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/word_piece.hpp: the "bert" model: normalised words, cut into the longest tokens from the left.
#pragma once

#include <zrt/core/string.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/text/detail/characters.hpp>
#include <zrt/text/detail/folds.hpp>
#include <zrt/text/detail/sorted_tokens.hpp>
#include <zrt/text/detail/text_index.hpp>
#include <zrt/text/detail/unicode.hpp>
#include <zrt/text/vocabulary.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// An ideograph, which is a word of its own; the ranges are those of BERT's tokenizer.
[[nodiscard]] constexpr bool is_ideograph(char32_t code_point) noexcept {
  constexpr std::array<CodePointRange, 8> ranges{{{0x3400, 0x4dbf},
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
