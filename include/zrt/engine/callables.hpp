// SPDX-License-Identifier: Apache-2.0
// zrt/engine/callables.hpp: the signatures of what a host hands to an engine's calls.
#pragma once

#include <zrt/engine/request.hpp>

#include <concepts>

namespace zrt::inline ZRT_ABI {

/// What `generate` calls for each token: `bool(const Token&)`, false ends the request.
template <class F>
concept HearsTokens = requires(F& on_token, const Token& token) {
  { on_token(token) } -> std::convertible_to<bool>;
};
/// What `step` calls for each token: `bool(RequestId, const Token&)`, false ends the request.
template <class F>
concept HearsTokensOfRequests = requires(F& on_token, RequestId id, const Token& token) {
  { on_token(id, token) } -> std::convertible_to<bool>;
};
/// What `evaluate` calls for each position: `(std::uint32_t position, Span<const float> logits)`.
template <class F>
concept HearsLogits =
    requires(F& on_logits, std::uint32_t position, Span<const float> logits) { on_logits(position, logits); };
/// What `evaluate_steps` calls for each position: `std::int32_t(std::uint32_t position, Span<const float> logits)`.
template <class F>
concept ChoosesTokens = requires(F& choose, std::uint32_t position, Span<const float> logits) {
  { choose(position, logits) } -> std::convertible_to<std::int32_t>;
};

}  // namespace zrt::inline ZRT_ABI
