// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/sentence_piece.hpp: the "llama" model: merges of characters by score, bytes where none fits.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/core/string.hpp>
#include <zrt/text/detail/characters.hpp>
#include <zrt/text/detail/merger.hpp>
#include <zrt/text/detail/text_index.hpp>
#include <zrt/text/vocabulary.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// U+2581, which stands for a space in token texts.

class SentencePiece {
 public:
  explicit SentencePiece(Allocator) noexcept {}

  [[nodiscard]] Result<void> build(const VocabularySpec& spec, const TextIndex& index, std::int32_t unknown) noexcept {
    if (!spec.scores.empty() && spec.scores.size() != spec.tokens.size())
      return fail(Errc::invalid_metadata, "the vocabulary has ", spec.tokens.size(), " tokens but ", spec.scores.size(),
                  " scores");
    for (std::size_t id = 0; id < spec.scores.size(); ++id)
      if (spec.scores[id] != spec.scores[id])
        return fail(Errc::invalid_metadata, "the score of token ", id, " is not a number");
    scores_ = spec.scores;
    by_words_ = true;
    for (const std::string_view text : spec.tokens) by_words_ = by_words_ && !spans_words(text);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const auto raw = static_cast<char>(byte);
      std::int32_t token = find_hex_token(index, byte);
      if (token == kNoToken) token = index.find(std::string_view(&raw, 1));
      if (token == kNoToken) token = unknown;
      if (token == kNoToken)
        return fail(Errc::invalid_metadata, "the vocabulary has no token for byte ", byte, " and no unknown token");
      bytes_[byte] = token;
    }
    return {};
  }

  /// Appends the tokens of `text`, in front of which a space is put if `space_before`.
  [[nodiscard]] Result<void> encode(std::string_view text, bool space_before, const TextIndex& index, Merger& merger,
                                    String& escaped, Vector<std::int32_t>& out) const noexcept {
    escaped.clear();
    if (space_before)
      if (auto r = escaped.append(kSpaceMark); !r) return r;
    if (auto r = mark_spaces(text, escaped); !r) return r;
    const std::string_view marked = escaped.view();
    for (std::size_t at = 0; at < marked.size();) {
      const std::size_t end = word_end(marked, at);
      if (auto r = encode_word(slice(marked, at, end - at), index, merger, out); !r) return r;
      at = end;
    }
    return {};
  }

 private:
  /// Says whether the space mark stands behind another character in `text`.
  [[nodiscard]] static bool spans_words(std::string_view text) noexcept {
    std::size_t at = 0;
    while (text.find(kSpaceMark, at) == at) at += kSpaceMark.size();
    return text.find(kSpaceMark, at) != std::string_view::npos;
  }

  [[nodiscard]] std::size_t word_end(std::string_view marked, std::size_t at) const noexcept {
    if (!by_words_) return marked.size();
    while (marked.find(kSpaceMark, at) == at) at += kSpaceMark.size();
    return std::min(marked.find(kSpaceMark, at), marked.size());
  }

  [[nodiscard]] Result<void> encode_word(std::string_view word, const TextIndex& index, Merger& merger,
                                         Vector<std::int32_t>& out) const noexcept {
    if (auto r = start_with_characters(word, index, merger); !r) return r;
    const auto lookup = [&](std::uint32_t at, std::uint32_t length, std::int32_t, std::int32_t) noexcept -> Merge {
      const std::int32_t token = index.find(slice(word, at, length));
      return token == kNoToken ? Merge{} : Merge{priority(token), token};
    };
    if (auto r = merger.run(lookup); !r) return r;
    return push_merged(word, merger, bytes_, out);
  }

  // Maps a higher score to a lower number; the two zeros are one score.
  [[nodiscard]] std::uint32_t priority(std::int32_t token) const noexcept {
    const float score = scores_.empty() ? 0.0f : scores_[static_cast<std::size_t>(token)];
    const auto bits = std::bit_cast<std::uint32_t>(score == 0.0f ? 0.0f : score);
    return (bits & 0x80000000u) != 0 ? bits : ~bits & 0x7fffffffu;
  }

  Span<const float> scores_;
  ByteTokens bytes_{};
  // Where no token holds a space behind another character, no merge crosses the beginning of a word,
  // and words are merged one by one: the same ids, six times as fast as one long queue.
  bool by_words_ = true;
};

}  // namespace zrt::inline ZRT_ABI::text::detail
