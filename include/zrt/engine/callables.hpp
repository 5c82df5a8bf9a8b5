// SPDX-License-Identifier: Apache-2.0
// zrt/engine/callables.hpp: the signatures of what a host hands to an engine's calls.
#pragma once

#include <zrt/engine/request.hpp>

#include <concepts>
#include <type_traits>

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

namespace detail {

/// A callable of the host's without its type, for as long as the call that takes it: what calls it need not be a
/// template.
template <class Signature> class Called;
template <class R, class... Arguments> class Called<R(Arguments...)> {
 public:
  template <class F>
    requires(!std::same_as<std::remove_const_t<F>, Called>)
  explicit Called(F& callable) noexcept
      : callable_(&callable),
        call_([](void* f, Arguments... arguments) noexcept -> R { return (*static_cast<F*>(f))(arguments...); }) {}

  R operator()(Arguments... arguments) const noexcept { return call_(callable_, arguments...); }

 private:
  void* callable_;
  R (*call_)(void*, Arguments...) noexcept;
};

using OnToken = Called<bool(RequestId, const Token&)>;
using ChooseToken = Called<std::int32_t(std::uint32_t, Span<const float>)>;

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI
