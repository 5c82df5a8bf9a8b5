// SPDX-License-Identifier: Apache-2.0
// zrt/engine/log_probabilities.hpp: the k most likely tokens of a row of logits.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/engine/request.hpp>
#include <zrt/ops/reduce.hpp>

namespace zrt::inline ZRT_ABI {

/// ln(sum(exp(logits))): the maximum, plus the log of the dot16 sum of exponentials in blocks of 256.
[[nodiscard]] inline float log_sum_exp(Span<const float> logits) noexcept {
  const float top =
      ops::Reduce::fold(ops::ReduceKind::maximum, logits.data(), static_cast<std::uint32_t>(logits.size()));
  float sum = 0.0f;
  std::array<float, 256> block;
  for (std::size_t i = 0; i < logits.size(); i += block.size()) {
    const std::size_t count = logits.size() - i < block.size() ? logits.size() - i : block.size();
    for (std::size_t k = 0; k < count; ++k) block[k] = math::exp(logits[i + k] - top);
    sum += quant::sum16(block.data(), count);
  }
  return top + math::log(sum);
}

/// Fills `best` with the most likely tokens, likeliest first, equal ones by id. Returns log_sum_exp(logits): what any
/// token's logit is less by.
inline float log_probabilities(Span<const float> logits, Span<TokenProbability> best) noexcept {
  std::size_t count = 0;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const float logit = logits[id];
    if (logit != logit || best.empty()) continue;
    if (count == best.size() && !(logit > best[count - 1].log_probability)) continue;
    std::size_t at = count < best.size() ? count++ : count - 1;
    for (; at > 0 && best[at - 1].log_probability < logit; --at) best[at] = best[at - 1];
    best[at] = {static_cast<std::int32_t>(id), logit};
  }
  const float total = log_sum_exp(logits);
  for (std::size_t i = 0; i < count; ++i) best[i].log_probability -= total;
  for (std::size_t i = count; i < best.size(); ++i) best[i] = {};
  return total;
}

}  // namespace zrt::inline ZRT_ABI
