// SPDX-License-Identifier: Apache-2.0
// zrt/engine/keep_allowed.hpp: logits of the tokens that a mask allows, and no others.
#pragma once

#include <zrt/core/span.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace zrt::inline ZRT_ABI::detail {

inline constexpr std::size_t kMaskBits = 64;  ///< of a word

/// Four logits at a time: all bits of those that stay, none of the others'.
struct KeptLogits {
  std::uint32_t bits[16][4]{};

  constexpr KeptLogits() noexcept {
    for (std::uint32_t four = 0; four < 16; ++four)
      for (std::uint32_t i = 0; i < 4; ++i) bits[four][i] = (four >> i & 1) != 0 ? ~std::uint32_t{0} : 0;
  }
};
inline constexpr KeptLogits kKeptLogits;

/// Makes minus infinity of those of 64 logits whose bit in `word` is 0, without a branch for each.
inline void keep_word(float* logits, std::uint64_t word) noexcept {
  using Four = std::uint32_t __attribute__((vector_size(16)));
  constexpr auto kNever = std::bit_cast<std::uint32_t>(-std::numeric_limits<float>::infinity());
  for (std::size_t four = 0; four < kMaskBits; four += 4) {
    Four keep, values;
    std::memcpy(&keep, kKeptLogits.bits[word >> four & 15], sizeof keep);
    std::memcpy(&values, logits + four, sizeof values);
    values = (values & keep) | (kNever & ~keep);
    std::memcpy(logits + four, &values, sizeof values);
  }
}

/// Makes minus infinity of each logit whose bit in `mask` is 0, and returns how many bits are 1.
[[nodiscard]] inline std::uint32_t keep_allowed(Span<float> logits, Span<const std::uint64_t> mask) noexcept {
  const std::size_t whole = logits.size() / kMaskBits;
  std::uint32_t count = 0;
  for (std::size_t w = 0; w < whole; ++w) {
    if (mask[w] != ~std::uint64_t{0}) keep_word(logits.data() + w * kMaskBits, mask[w]);
    count += static_cast<std::uint32_t>(std::popcount(mask[w]));
  }
  for (std::size_t i = whole * kMaskBits; i < logits.size(); ++i) {
    if ((mask[whole] >> (i % kMaskBits) & 1) != 0)
      ++count;
    else
      logits[i] = -std::numeric_limits<float>::infinity();
  }
  return count;
}

}  // namespace zrt::inline ZRT_ABI::detail
