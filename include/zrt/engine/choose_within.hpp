// SPDX-License-Identifier: Apache-2.0
// zrt/engine/choose_within.hpp: the next token of a request whose answer must match a grammar.
#pragma once

#include <zrt/engine/active_request.hpp>
#include <zrt/engine/keep_allowed.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Samples as the sample op does, from the tokens that the request's grammar allows, and follows the one chosen.
/// `logits`, one for each token, are changed; `list` has room for as many candidates. kNoToken where the answer is whole
/// and nothing may follow.
///
/// Errors: Errc::spec_violation where no token is allowed, Errc::invalid_argument where biases leave none of them a number;
/// what the matcher gives.
[[nodiscard]] inline Result<std::int32_t> choose_within(ActiveRequest& a, const text::Tokenizer& tokenizer,
                                                        Span<float> logits, Span<ops::Candidate> list,
                                                        String& bytes) noexcept {
  const auto mask = a.matcher->mask();
  if (!mask) return pass(mask);
  const serve::Sequence& s = a.sequence;
  ops::SampleRequest request = s.sampling;
  request.generated = static_cast<std::uint32_t>(s.tokens.size()) - s.prompt_tokens;
  const std::size_t seen = s.tokens.size() < request.history ? s.tokens.size() : request.history;
  const Span<const std::uint32_t> last = s.tokens.span().last(seen);
  ops::sampling::penalise(logits, {reinterpret_cast<const std::int32_t*>(last.data()), seen},
                          request.repetition_penalty, request.frequency_penalty, request.presence_penalty);
  for (const TokenBias& b : s.biases)
    ops::sampling::bias(logits, Span<const std::int32_t>(&b.token, 1), Span<const float>(&b.bias, 1));
  const auto allowed = [&](std::size_t id) { return ((*mask)[id / 64] >> (id % 64) & 1) != 0; };
  const std::uint32_t count = keep_allowed(logits, *mask);
  if (count == 0 && a.matcher->accepts()) return kNoToken;
  if (count == 0) return fail(Errc::spec_violation, "the grammar allows no token of the vocabulary here");
  // No other is drawn, so none need be sorted.
  if (request.top_k == 0 || request.top_k > count) request.top_k = count;
  const std::int32_t id = ops::sampling::sample(request, logits, {}, {}, {}, list);
  if (id < 0 || !allowed(static_cast<std::size_t>(id)))
    return fail(Errc::invalid_argument, "no token that the grammar allows has a finite logit");
  if (tokenizer.is_end_of_generation(id)) return id;
  bytes.clear();
  if (auto r = tokenizer.append_piece(id, false, bytes); !r) return pass(r);
  if (auto r = a.matcher->take(bytes.view()); !r) return pass(r);
  return id;
}

}  // namespace zrt::inline ZRT_ABI::detail
