// SPDX-License-Identifier: Apache-2.0
// zrt/ops/sampling.hpp: the samplers, as steps over a list of candidates.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/core/philox.hpp>
#include <zrt/core/span.hpp>
#include <zrt/ops/params.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::ops {

/// A token that may be drawn.
struct Candidate {
  float logit;
  std::int32_t id;
};

/// What is added to one token's logit.
struct TokenBias {
  std::int32_t token = 0;
  float bias = 0.0f;
};

/// What one request asks of the sampler; a row of the sample op's `requests` input.
struct SampleRequest {
  std::uint32_t active = 0;  ///< 0: the row's token is -1
  std::uint32_t seed_low = 0;
  std::uint32_t seed_high = 0;
  std::uint32_t generated = 0;  ///< index of the token to draw among the generated ones
  float temperature = 0.0f;     ///< 0 or less: the most likely candidate
  std::uint32_t top_k = 0;      ///< 0 for all
  float top_p = 1.0f;
  float min_p = 0.0f;
  float repetition_penalty = 1.0f;
  float frequency_penalty = 0.0f;
  float presence_penalty = 0.0f;
  std::uint32_t history = 0;  ///< entries used in the row's history
  std::uint32_t biases = 0;   ///< entries used in the row's bias list
  std::uint32_t min_keep = 1;
  std::uint32_t reads_logits =
      0;  ///< 1: the host reads the row's logits when the step has ended; no token depends on it
  std::uint32_t reserved = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(
      Member{&SampleRequest::active, "active"}, Member{&SampleRequest::seed_low, "seed_low"},
      Member{&SampleRequest::seed_high, "seed_high"}, Member{&SampleRequest::generated, "generated"},
      Member{&SampleRequest::temperature, "temperature"}, Member{&SampleRequest::top_k, "top_k"},
      Member{&SampleRequest::top_p, "top_p"}, Member{&SampleRequest::min_p, "min_p"},
      Member{&SampleRequest::repetition_penalty, "repetition_penalty"},
      Member{&SampleRequest::frequency_penalty, "frequency_penalty"},
      Member{&SampleRequest::presence_penalty, "presence_penalty"}, Member{&SampleRequest::history, "history"},
      Member{&SampleRequest::biases, "biases"}, Member{&SampleRequest::min_keep, "min_keep"},
      Member{&SampleRequest::reads_logits, "reads_logits"}, Member{&SampleRequest::reserved, "reserved"});
};
inline constexpr std::uint32_t kSampleRequestWords = sizeof(SampleRequest) / 4;
static_assert(NoPadding<SampleRequest> && kSampleRequestWords == 16);

namespace sampling {

/// Candidates go by logit, descending, then by id, ascending; a NaN goes last.
[[nodiscard]] inline bool before(const Candidate& a, const Candidate& b) noexcept {
  const bool a_nan = a.logit != a.logit;
  const bool b_nan = b.logit != b.logit;
  if (a_nan || b_nan) return a_nan == b_nan ? a.id < b.id : b_nan;
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/// Divides positive and multiplies negative logits of seen tokens by the repetition penalty, then
/// subtracts count · frequency + presence. `logits` is indexed by token id.
inline void penalise(Span<float> logits, Span<const std::int32_t> history, float repetition, float frequency,
                     float presence) noexcept {
  for (std::size_t i = 0; i < history.size(); ++i) {
    const auto id = static_cast<std::uint32_t>(history[i]);
    if (id >= logits.size()) continue;
    bool first = true;
    for (std::size_t j = 0; j < i && first; ++j) first = history[j] != history[i];
    if (!first) continue;
    float count = 0.0f;
    for (std::size_t j = i; j < history.size(); ++j) count += history[j] == history[i] ? 1.0f : 0.0f;
    float& logit = logits[id];
    logit = math::sealed(logit <= 0.0f ? logit * repetition : logit / repetition);
    logit -= __builtin_fmaf(count, frequency, presence);
  }
}

/// Adds `values[i]` to the logit of token `ids[i]`.
inline void bias(Span<float> logits, Span<const std::int32_t> ids, Span<const float> values) noexcept {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (static_cast<std::uint32_t>(ids[i]) < logits.size()) logits[static_cast<std::uint32_t>(ids[i])] += values[i];
}

/// Whether a token may not be drawn, be it the best.
[[nodiscard]] inline bool is_forbidden(float logit) noexcept { return __builtin_isinf(logit) && logit < 0.0f; }

/// `ordered`, or its first alone where that is infinite: differences to it would be no numbers.
[[nodiscard]] inline Span<Candidate> alone_if_infinite(Span<Candidate> ordered) noexcept {
  return !ordered.empty() && __builtin_isinf(ordered[0].logit) ? ordered.first(1) : ordered;
}

/// Orders the first candidates and returns them: the `k` best, or all when k is 0. A NaN is kept only
/// where nothing else is: it would turn every probability into NaN. An infinite best leaves itself alone.
[[nodiscard]] inline Span<Candidate> top_k(Span<Candidate> all, std::uint32_t k) noexcept {
  const std::size_t keep = k == 0 || k > all.size() ? all.size() : k;
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(keep), all.end(), before);
  Span<Candidate> kept = all.first(keep);
  while (kept.size() > 1 && kept.back().logit != kept.back().logit) kept = kept.first(kept.size() - 1);
  return alone_if_infinite(kept);
}

/// Keeps the shortest ordered prefix whose probability reaches p, at least `min_keep`. Sum: chain.
[[nodiscard]] inline Span<Candidate> top_p(Span<Candidate> ordered, float p, std::uint32_t min_keep) noexcept {
  if (p >= 1.0f || ordered.empty()) return ordered;
  const float top = ordered[0].logit;
  float total = 0.0f;
  for (const Candidate& c : ordered) total += math::exp(c.logit - top);
  float sum = 0.0f;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    sum += math::exp(ordered[i].logit - top);
    if (sum >= p * total && i + 1 >= min_keep) return ordered.first(i + 1);
  }
  return ordered;
}

/// Keeps ordered candidates at least p times as likely as the first, at least `min_keep`.
[[nodiscard]] inline Span<Candidate> min_p(Span<Candidate> ordered, float p, std::uint32_t min_keep) noexcept {
  if (p <= 0.0f || ordered.empty()) return ordered;
  const float bound = ordered[0].logit + math::log(p);
  std::size_t keep = 1;
  while (keep < ordered.size() && (ordered[keep].logit >= bound || keep < min_keep)) ++keep;
  return ordered.first(keep);
}

/// Divides logits by the temperature; 0 or less keeps the first alone, as does one so small that the
/// quotient is infinite.
[[nodiscard]] inline Span<Candidate> temperature(Span<Candidate> ordered, float t) noexcept {
  if (ordered.empty()) return ordered;
  if (t <= 0.0f) return ordered.first(1);
  for (Candidate& c : ordered) c.logit /= t;
  return alone_if_infinite(ordered);
}

/// Draws by inversion: the first candidate whose running sum passes u · total. Sum: chain.
[[nodiscard]] inline std::int32_t draw(Span<const Candidate> ordered, float u) noexcept {
  const float top = ordered[0].logit;
  float total = 0.0f;
  for (const Candidate& c : ordered) total += math::exp(c.logit - top);
  const float target = u * total;
  float sum = 0.0f;
  for (const Candidate& c : ordered) {
    sum += math::exp(c.logit - top);
    if (sum > target) return c.id;
  }
  return ordered.back().id;
}

/// The uniform number of a request's next token: Philox keyed by the seed, counted by position, so
/// that preemption, batch and resume cannot move it.
[[nodiscard]] inline float uniform(const SampleRequest& r) noexcept {
  return unit_interval(philox4x32({r.generated, 0, 0, 0}, {r.seed_low, r.seed_high})[0]);
}

/// Penalties, bias, top-k, top-p, min-p, temperature, draw. `logits` is a copy that this may change;
/// `list` holds one candidate per logit. -1 where every token is forbidden: the best logit is -infinity.
[[nodiscard]] inline std::int32_t sample(const SampleRequest& r, Span<float> logits, Span<const std::int32_t> history,
                                         Span<const std::int32_t> bias_ids, Span<const float> bias_values,
                                         Span<Candidate> list) noexcept {
  penalise(logits, history, r.repetition_penalty, r.frequency_penalty, r.presence_penalty);
  bias(logits, bias_ids, bias_values);
  for (std::size_t i = 0; i < logits.size(); ++i) list[i] = {logits[i], static_cast<std::int32_t>(i)};
  auto kept = top_k(list, r.temperature <= 0.0f ? 1 : r.top_k);
  if (is_forbidden(kept[0].logit)) return -1;
  kept = top_p(kept, r.top_p, r.min_keep);
  kept = min_p(kept, r.min_p, r.min_keep);
  kept = temperature(kept, r.temperature);
  return draw(kept, uniform(r));
}

}  // namespace sampling

}  // namespace zrt::inline ZRT_ABI::ops
