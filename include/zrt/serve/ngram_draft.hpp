// SPDX-License-Identifier: Apache-2.0
// zrt/serve/ngram_draft.hpp: guesses the next tokens of a text from what it has said before.
#pragma once

#include <zrt/core/span.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// Prompt lookup: what followed the last tokens where they stood before, as a view into `tokens`; at most `most`.
///
/// The place with the longest match counts, of four tokens at most and two at least, and of equal ones the latest. It
/// reads the request's own tokens alone. Takes time linear in `tokens`, and none where `most` is 0, as in a pause.
/// Source: Saxena, Prompt Lookup Decoding, 2023.
[[nodiscard]] inline Span<const std::uint32_t> ngram_draft(Span<const std::uint32_t> tokens,
                                                           std::uint32_t most) noexcept {
  constexpr std::size_t kShortest = 2;
  constexpr std::size_t kLongest = 4;
  if (most == 0) return {};
  const std::size_t size = tokens.size();
  std::size_t longest = kShortest - 1;
  std::size_t found = size;
  for (std::size_t end = size; end-- > kShortest && longest < kLongest;) {
    std::size_t match = 0;
    while (match < kLongest && match < end && tokens[end - 1 - match] == tokens[size - 1 - match]) ++match;
    if (match <= longest) continue;
    longest = match;
    found = end;
  }
  const std::size_t count = size - found < most ? size - found : most;
  return tokens.subspan(found, count);
}

}  // namespace zrt::inline ZRT_ABI::serve
