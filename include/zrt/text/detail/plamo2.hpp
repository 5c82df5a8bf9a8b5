// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/plamo2.hpp: the "plamo2" model: a text cut so that the scores of its tokens add up to most.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/text/detail/byte_text.hpp>
#include <zrt/text/detail/characters.hpp>
#include <zrt/text/detail/sorted_tokens.hpp>
#include <zrt/text/detail/text_index.hpp>
#include <zrt/text/detail/unicode.hpp>
#include <zrt/text/vocabulary.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// A unigram vocabulary whose characters fall back to bytes. The text is cut from its end: of cuts with equal sums, the
/// one whose first token is longest. A mark of byte order at the start of a text is no part of it.
///
/// Scores are integers, ten-thousandths of those in the file. A token never costs as much as a character without one.
/// Takes time in proportion to the text, for a vocabulary. Source: the tokenizer of PLaMo 2.
class Plamo2 {
 public:
  explicit Plamo2(Allocator allocator) noexcept : costs_(allocator), sorted_(allocator) {}

  /// Errors: invalid_metadata for scores that are no scores of all tokens, or a byte without a token; out_of_memory.
  template <class TypeOf>
  [[nodiscard]] Result<void> build(const VocabularySpec& spec, const TextIndex& index, const TypeOf& type_of) noexcept {
    if (spec.scores.size() != spec.tokens.size())
      return fail(Errc::invalid_metadata, "the vocabulary has ", spec.tokens.size(), " tokens but ", spec.scores.size(),
                  " scores");
    tokens_ = spec.tokens;
    for (unsigned byte = 0; byte < 256; ++byte) {
      bytes_[byte] = find_hex_token(index, byte);
      if (bytes_[byte] == kNoToken)
        return fail(Errc::invalid_metadata, "the vocabulary has no token for the byte ", byte);
    }
    if (auto r = costs_.resize(tokens_.size()); !r) return r;
    for (std::size_t id = 0; id < tokens_.size(); ++id) costs_[id] = cost_of(spec.scores[id]);
    return sorted_.build(tokens_, [&](std::size_t id) noexcept {
      const TokenType type = type_of(id);
      const bool plain = type != TokenType::byte && type != TokenType::control && type != TokenType::unknown;
      return plain && costs_[id] < kUnknownCost;
    });
  }

  /// Appends the tokens of `text`.
  [[nodiscard]] Result<void> encode(std::string_view text, Vector<std::int32_t>& out) const noexcept {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    Vector<Cut> best(out.allocator());
    if (auto r = best.resize(text.size() + 1); !r) return r;
    mark_characters(text, best);
    for (std::size_t at = text.size(); at-- > 0;)
      if (best[at].length != 0) choose(text, at, best);
    for (std::size_t at = 0; at < text.size(); at += best[at].length)
      if (auto r = push(slice(text, at, best[at].length), best[at].token, out); !r) return r;
    return {};
  }

 private:
  static constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  static constexpr std::int64_t kUnknownCost = 10'000'000;
  static constexpr std::int64_t kUnreached = std::int64_t{1} << 60;  // above the cost of any text

  /// The cheapest way from a place to the end. In places that begin no character, none.
  struct Cut {
    std::int64_t cost = kUnreached;
    std::uint32_t length = 0;  ///< of its first token
    std::int32_t token = kNoToken;
  };

  /// Scores that are no number, or beyond what a file of scores has, make a token that is never taken.
  [[nodiscard]] static std::int64_t cost_of(float score) noexcept {
    if (!(score > -1e3f && score < 1e5f)) return kUnknownCost;
    return -static_cast<std::int64_t>(std::round(double{score} * 1e4));
  }

  static void mark_characters(std::string_view text, Vector<Cut>& best) noexcept {
    for (std::size_t at = 0; at < text.size(); at += best[at].length) best[at].length = detail::decode(text, at).length;
    best[text.size()].cost = 0;
  }

  void choose(std::string_view text, std::size_t at, Vector<Cut>& best) const noexcept {
    Cut& here = best[at];
    here.cost = best[at + here.length].cost + kUnknownCost;
    sorted_.each_at(text, at, [&](std::int32_t token) noexcept {
      const auto id = static_cast<std::size_t>(token);
      const std::size_t length = tokens_[id].size();
      const std::int64_t cost = best[at + length].cost + costs_[id];
      if (cost <= here.cost) here = {cost, static_cast<std::uint32_t>(length), token};
    });
  }

  [[nodiscard]] Result<void> push(std::string_view text, std::int32_t token, Vector<std::int32_t>& out) const noexcept {
    if (token != kNoToken) return out.push_back(token);
    for (const char c : text)
      if (auto r = out.push_back(bytes_[static_cast<unsigned char>(c)]); !r) return r;
    return {};
  }

  Span<const std::string_view> tokens_;
  Vector<std::int64_t> costs_;
  SortedTokens sorted_;
  ByteTokens bytes_{};
};

}  // namespace zrt::inline ZRT_ABI::text::detail
