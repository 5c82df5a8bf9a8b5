// SPDX-License-Identifier: Apache-2.0
// zrt/exec/batch.hpp: the query tokens of one step as a flat ragged list.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/ops/sampling.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::exec {

/// In place of a token's id: the row's input is a row of given embeddings.
inline constexpr std::uint32_t kGivenRow = ~std::uint32_t{0};

/// One step's work: no padding, rows of a slot in position order. Views must outlive the step.
struct Batch {
  Span<const std::uint32_t> tokens;          ///< [T] token ids, or kGivenRow
  Span<const float> embeddings;              ///< [T × width], of which the given rows count; empty where there are none
  Span<const std::uint32_t> slots;           ///< [T] slot of each
  Span<const std::uint32_t> positions;       ///< [T] position of each in its sequence
  Span<const std::uint32_t> rope_positions;  ///< [T × axes] of a plan that turns rows by several; empty for others
  Span<const std::int32_t> adapters;         ///< [T] place of the adapter of each, below 0 for none; empty without room
  Span<const std::uint32_t> rows;            ///< [R] which of the T rows reach the LM head
  Span<const ops::SampleRequest> requests;   ///< [R]
  Span<const std::int32_t> history;          ///< [R × history window]
  Span<const std::int32_t> bias_ids;         ///< [R × bias entries]
  Span<const float> bias;                    ///< [R × bias entries]
  const std::uint32_t* pages = nullptr;      ///< [groups][slots][pages_per_slot] page ids; none is read before a window
  bool prefill = false;                      ///< any prompt token or draft in it: it may be as large as such a step
};

/// The names under which a decoder's plan takes a batch and gives its results.
namespace port {
inline constexpr std::string_view kTokens = "tokens";
inline constexpr std::string_view kEmbeddings = "embeddings";
inline constexpr std::string_view kPositions = "positions";
inline constexpr std::string_view kAdapters = "adapters";  ///< si32 [T], of a plan with adapters
inline constexpr std::string_view kRopePositions = "rope_positions";
inline constexpr std::string_view kRows = "rows";
inline constexpr std::string_view kRequests = "requests";
inline constexpr std::string_view kHistory = "history";
inline constexpr std::string_view kBiasIds = "bias_ids";
inline constexpr std::string_view kBias = "bias";
inline constexpr std::string_view kLogits = "logits";
inline constexpr std::string_view kToken = "token";
inline constexpr std::string_view kHidden = "hidden";  ///< [R, width], of a program that ends before a head
inline constexpr std::string_view kScores = "scores";  ///< [R, labels], of a classification head
}  // namespace port

}  // namespace zrt::inline ZRT_ABI::exec
