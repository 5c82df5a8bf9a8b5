// SPDX-License-Identifier: Apache-2.0
// zrt/quant/encode/encode_blocks.hpp: writes the blocks of a weight type that come nearest to given numbers.
#pragma once

#include <zrt/quant/encode/fit.hpp>
#include <zrt/quant/forms.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

namespace detail {

/// The integer nearest to `x` within bounds; the lower one for NaN.
[[nodiscard]] constexpr std::int32_t bounded(float x, std::int32_t least, std::int32_t most) noexcept {
  if (!(x > static_cast<float>(least))) return least;
  if (x >= static_cast<float>(most)) return most;
  return static_cast<std::int32_t>(x + (x < 0.0f ? -0.5f : 0.5f));
}

/// The elements under a stored scale, which is that of run `run`: the best of the scales that can be stored around the
/// fitted one.
template <class L>
constexpr void encode_scaled(const float* x, const float* weight, std::uint32_t run, std::int8_t* q,
                             std::byte* block) noexcept {
  using Integers = typename L::Integers;
  if constexpr (L::kHasOffset) {
    const AffineFit fit = fit_line<Integers>(x, weight, L::kUnderScale, false);
    L::store_scale(block, run, fit.scale);
    L::store_offset(block, fit.offset);
    nearest_integers<Integers>(x, L::kUnderScale, {L::scale(block, run), L::offset(block, run)}, q);
  } else {
    const float fitted = fit_scale<Integers>(x, weight, L::kUnderScale);
    float best = fitted;
    double least = -1.0;
    // Powers of two as scales are so far apart that the nearest need not be the best.
    for (const float factor : {1.0f, 0.70f, 1.42f}) {
      L::store_scale(block, run, fitted * factor);
      nearest_integers<Integers>(x, L::kUnderScale, {L::scale(block, run), 0.0f}, q);
      const double error = fit_error(x, weight, L::kUnderScale, q, {L::scale(block, run), 0.0f});
      if (least >= 0.0 && error >= least) continue;
      least = error;
      best = fitted * factor;
    }
    L::store_scale(block, run, best);
    nearest_integers<Integers>(x, L::kUnderScale, {L::scale(block, run), 0.0f}, q);
  }
}

/// A block that is one run of parts with integer factors: what each part would like best, then one scale (and offset)
/// for all, then the factors around the wish that leave the least error.
template <class L>
constexpr void encode_parts(const float* x, const float* weight, std::int8_t* q, std::byte* block) noexcept {
  using Integers = typename L::Integers;
  constexpr std::uint32_t kParts = L::kElems / L::kPart;
  AffineFit wish[kParts];
  float scale = 0.0f;
  float offset = 0.0f;
  for (std::uint32_t j = 0; j < kParts; ++j) {
    const float* from = x + j * L::kPart;
    if constexpr (L::kHasOffset)
      wish[j] = fit_line<Integers>(from, weight + j * L::kPart, L::kPart, true);
    else
      wish[j].scale = fit_scale<Integers>(from, weight + j * L::kPart, L::kPart);
    const auto size = [](float v) { return v < 0.0f ? -v : v; };
    if (size(wish[j].scale) > size(scale)) scale = wish[j].scale;
    offset = wish[j].offset < offset ? wish[j].offset : offset;
  }
  // The largest wish takes the end of the factors' range that reaches farther.
  constexpr float kFarthest = static_cast<float>(L::kLeastFactor < 0 ? L::kLeastFactor : L::kMostFactor);
  L::store_scale(block, 0, scale / kFarthest);
  if constexpr (L::kHasOffset) L::store_offset(block, offset / static_cast<float>(L::kMostFactor));
  const float d = L::scale(block, 0);
  float m = 0.0f;
  if constexpr (L::kHasOffset) m = L::offset(block, 0);
  Factors factors;
  for (std::uint32_t j = 0; j < kParts; ++j) {
    const float* from = x + j * L::kPart;
    const float* w = weight + j * L::kPart;
    std::int8_t* to = q + j * L::kPart;
    const std::int32_t near = d == 0.0f ? 0 : bounded(wish[j].scale / d, L::kLeastFactor, L::kMostFactor);
    const std::int32_t below = m == 0.0f ? 0 : bounded(wish[j].offset / m, 0, L::kMostFactor);
    constexpr std::int32_t kAround = L::kHasOffset ? 1 : 0;
    double least = -1.0;
    for (std::int32_t a = near - 1; a <= near + 1; ++a) {
      if (a < L::kLeastFactor || a > L::kMostFactor) continue;
      for (std::int32_t b = below - kAround; b <= below + kAround; ++b) {
        if (b < 0 || b > L::kMostFactor) continue;
        const AffineFit fit{d * static_cast<float>(a), m * static_cast<float>(b)};
        nearest_integers<Integers>(from, L::kPart, fit, to);
        const double error = fit_error(from, w, L::kPart, to, fit);
        if (least >= 0.0 && error >= least) continue;
        least = error;
        factors.scale[j] = static_cast<std::int8_t>(a);
        factors.offset[j] = static_cast<std::int8_t>(b);
      }
    }
    nearest_integers<Integers>(
        from, L::kPart, {d * static_cast<float>(factors.scale[j]), m * static_cast<float>(factors.offset[j])}, to);
  }
  L::store_factors(factors, block);
}

}  // namespace detail

/// Writes the blocks that come nearest to `elems` numbers, a multiple of the type's block: of all that are tried, the
/// least sum of weight · (x - value)². `weight` has a number for each element. What is not finite counts
/// as it compares; the values are then without meaning, never the behaviour without definition.
template <WritableLayout L>
void encode_blocks(const float* x, const float* weight, std::uint64_t elems, std::byte* blocks) noexcept {
  for (std::uint64_t at = 0; at < elems; at += L::kElems, x += L::kElems, weight += L::kElems, blocks += L::kBytes) {
    for (std::uint32_t i = 0; i < L::kBytes; ++i) blocks[i] = std::byte{0};
    std::int8_t q[L::kElems];
    if constexpr (L::kPart < L::kRun)
      detail::encode_parts<L>(x, weight, q, blocks);
    else
      for (std::uint32_t i = 0; i < L::kElems; i += L::kUnderScale)
        detail::encode_scaled<L>(x + i, weight + i, i / L::kUnderScale, q + i, blocks);
    L::pack(q, blocks);
  }
}

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
