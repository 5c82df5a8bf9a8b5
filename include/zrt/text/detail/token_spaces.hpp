// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/token_spaces.hpp: tokens that take the white space beside them along, which files do not say.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/core/span.hpp>
#include <zrt/text/detail/known_tokens.hpp>
#include <zrt/text/detail/text_index.hpp>
#include <zrt/text/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// Says whether `text` has `part`, which is in lower case, in letters of any size.
[[nodiscard]] constexpr bool holds_word(std::string_view text, std::string_view part) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  for (std::size_t at = 0; at + part.size() <= text.size(); ++at) {
    std::size_t same = 0;
    while (same < part.size() && lower(text[at + same]) == part[same]) ++same;
    if (same == part.size()) return true;
  }
  return false;
}

/// Marks the tokens that take white space along, by what llama.cpp knows the models by: the same ids come out.
inline void mark_spaces(const VocabularySpec& spec, const TextIndex& index, Span<TokenFacts> facts) noexcept {
  const auto find = [&](std::string_view text) -> TokenFacts* {
    const std::int32_t id = index.find(text);
    return id == kNoToken ? nullptr : &facts[static_cast<std::size_t>(id)];
  };
  const auto has_any = [](std::string_view text, std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts)
      if (holds_word(text, part)) return true;
    return false;
  };
  if (has_any(spec.pre, {"jina-v2-de", "jina-v2-es", "jina-v2-code"}) ||
      has_any(spec.architecture, {"nomic-bert-moe", "jina-bert-v3"})) {
    if (TokenFacts* mask = find("<mask>")) mask->takes_space_before = true;
  } else if (has_any(spec.name, {"phi-3", "phi3"})) {
    for (TokenFacts& token : facts)
      token.takes_space_behind =
          token.type == TokenType::control || token.type == TokenType::unknown || token.type == TokenType::user_defined;
    for (const std::string_view text : {"<unk>", "<s>", "<|endoftext|>"})
      if (TokenFacts* token = find(text)) token->takes_space_behind = false;
  } else if (has_any(spec.name, {"modern-bert"})) {
    if (TokenFacts* mask = find("[MASK]")) mask->takes_space_before = true;
  }
}

/// What is left of `part`, which stands behind one token and before another, or null.
[[nodiscard]] constexpr std::string_view without_taken_space(std::string_view part, const TokenFacts* behind,
                                                             const TokenFacts* before) noexcept {
  const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  std::size_t begin = 0;
  std::size_t end = part.size();
  if (behind != nullptr && behind->takes_space_behind)
    while (begin < end && space(part[begin])) ++begin;
  if (before != nullptr && before->takes_space_before)
    while (end > begin && space(part[end - 1])) --end;
  return slice(part, begin, end - begin);
}

}  // namespace zrt::inline ZRT_ABI::text::detail
