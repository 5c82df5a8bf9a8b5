// SPDX-License-Identifier: Apache-2.0
// zrt/serve/sequence.hpp: the tokens of one request in a slot, and how far the model has read them.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/ops/sampling.hpp>

namespace zrt::inline ZRT_ABI::serve {

using ops::TokenBias;

/// Rows of embeddings in place of tokens, from a position on.
struct GivenRows {
  std::uint32_t first = 0;  ///< position
  std::uint32_t rows = 0;
  std::size_t at = 0;              ///< of the first element, in Sequence::embeddings
  std::size_t places = kNoPlaces;  ///< of the first row's place, in Sequence::places
  std::uint32_t advance = 0;       ///< rope positions that the rows take together

  static constexpr std::size_t kNoPlaces = ~std::size_t{0};
};

/// A sequence that the batch planner feeds to the model.
struct Sequence {
  explicit Sequence(Allocator a) noexcept : tokens(a), given(a), embeddings(a), places(a), biases(a) {}

  std::uint32_t slot = 0;
  Vector<std::uint32_t> tokens;  ///< prompt, then what was generated
  Vector<GivenRows> given;       ///< of the prompt, in order of their positions
  Vector<float> embeddings;      ///< their rows
  Vector<std::uint32_t> places;  ///< [rows × axes] where rows stand, behind the rope position of the first
  std::uint32_t prompt_tokens = 0;
  std::uint32_t processed = 0;  ///< tokens whose state the slot holds
  std::uint32_t drafts = 0;     ///< guesses of the step, in the memory behind `tokens`
  ops::SampleRequest sampling{};
  Vector<TokenBias> biases;
  bool every_row = false;             ///< logits of every prompt position are wanted
  std::uint32_t scored = 0;           ///< leading positions whose logits are wanted, and
  std::uint32_t told = 0;             ///< of these, those that have been read
  std::int32_t adapter = -1;          ///< place of its adapter; below 0: none
  std::uint64_t step_latency_ns = 0;  ///< target time of a step with prompt tokens; 0: none

  /// Whether logits of leading positions are still to be read.
  [[nodiscard]] bool tells() const noexcept { return told < scored; }
  /// Whether the logits of a position that is not the last are wanted.
  [[nodiscard]] bool wants(std::uint32_t position) const noexcept {
    return every_row || (position >= told && position < scored);
  }
  /// Tokens left to read before the next one is drawn: of the prompt, and after a preemption of what was generated; 0
  /// where only the last generated token is left.
  [[nodiscard]] std::uint32_t prompt_left() const noexcept {
    if (processed >= tokens.size()) return 0;  // more than that where drafts are read
    const auto left = static_cast<std::uint32_t>(tokens.size()) - processed;
    return processed < prompt_tokens || left > 1 ? left : 0;
  }
};

}  // namespace zrt::inline ZRT_ABI::serve
