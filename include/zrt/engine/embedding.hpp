// SPDX-License-Identifier: Apache-2.0
// zrt/engine/embedding.hpp: what a host asks of embeddings, and what comes back.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/model/pooling.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI {

using model::Pooling;

/// One text to embed.
struct EmbedInput {
  std::string_view text{};            ///< ignored when `tokens` is not empty
  std::string_view document{};        ///< of a score: `text` is the query, this is what is scored for it
  Span<const std::int32_t> tokens{};  ///< ids as they are: nothing is added
};

struct EmbedOptions {
  Pooling pooling = Pooling::from_file;  ///< from_file: as `<architecture>.pooling_type` says
  bool normalize = true;                 ///< vectors get length 1; scores stay as they are
  bool parse_special = false;            ///< control tokens written in the texts count as such
};

/// Vectors of texts, in the order of the inputs.
struct Embeddings {
  explicit Embeddings(const Allocator& a) noexcept : values(a), first(a), tokens(a) {}

  std::uint32_t width = 0;  ///< numbers of a vector; with Pooling::rank the labels of the head
  Pooling pooling = Pooling::none;
  Vector<float> values;          ///< [rows × width]
  Vector<std::size_t> first;     ///< [texts + 1] where the rows of each text begin; one row each but with Pooling::none
  Vector<std::uint32_t> tokens;  ///< [texts] that the model read

  /// How many texts there are.
  [[nodiscard]] std::size_t size() const noexcept { return tokens.size(); }
  /// The vectors of a text, one after the other.
  [[nodiscard]] Span<const float> of(std::size_t text) const noexcept {
    return values.span().subspan(first[text] * width, (first[text + 1] - first[text]) * width);
  }
};

}  // namespace zrt::inline ZRT_ABI
