// SPDX-License-Identifier: Apache-2.0
// zrt/ops/attention_sum.hpp: the softmax-weighted sum of values that attention is, key by key, as the references compute it.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/quant/dot.hpp>

#include <array>
#include <limits>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::ops {

/// Keys are taken in steps of this many positions, aligned at position 0.
inline constexpr std::uint32_t kAttentionStep = 64;
/// Sums start afresh at multiples of this many positions, and merge in their order.
inline constexpr std::uint32_t kAttentionSegment = 512;

/// The weighted sum of some keys' values, not yet divided (NUMERICS, Attention).
struct AttentionSum {
  float* o = nullptr;  ///< [dims]
  std::uint64_t dims = 0;
  float m = -std::numeric_limits<float>::infinity();  ///< largest score
  float l = 0.0f;                                     ///< sum of exp(score - m)
  bool empty = true;

  /// Starts at the sum of no keys in memory for `count` dims.
  AttentionSum(float* memory, std::uint64_t count) noexcept : o(memory), dims(count) {
    for (std::uint64_t i = 0; i < dims; ++i) o[i] = 0.0f;
  }

  /// Takes in one step: the scores of the keys whose bit in `visible` is set, which become their
  /// probabilities, and the others'; `value(j)(i)` is element i of the value of key j.
  template <class Value>
  void take(std::array<float, kAttentionStep>& scores, std::uint64_t visible, Value&& value) noexcept {
    if (visible == 0) return;
    const auto sees = [visible](std::uint32_t j) { return (visible >> j & 1u) != 0; };
    float top = m;
    for (std::uint32_t j = 0; j < kAttentionStep; ++j)
      if (sees(j)) top = scores[j] > top ? scores[j] : top;
    const float rescale = m == top ? 1.0f : math::exp(m - top);
    for (std::uint32_t j = 0; j < kAttentionStep; ++j) scores[j] = sees(j) ? math::exp(scores[j] - top) : 0.0f;
    l = __builtin_fmaf(l, rescale, quant::sum16(scores.data(), kAttentionStep));
    for (std::uint64_t i = 0; i < dims; ++i) o[i] *= rescale;
    for (std::uint32_t j = 0; j < kAttentionStep; ++j) {
      if (!sees(j)) continue;
      const auto row = value(j);
      for (std::uint64_t i = 0; i < dims; ++i) o[i] = __builtin_fmaf(scores[j], row(i), o[i]);
    }
    m = top;
    empty = false;
  }

  /// Adds the sum of later keys, of as many dims.
  void merge(const AttentionSum& next) noexcept {
    if (next.empty) return;
    if (empty) {
      for (std::uint64_t i = 0; i < dims; ++i) o[i] = next.o[i];
      m = next.m;
      l = next.l;
      empty = false;
      return;
    }
    const float top = next.m > m ? next.m : m;
    const float a = math::exp(m - top);
    const float b = math::exp(next.m - top);
    l = __builtin_fmaf(l, a, math::sealed(next.l * b));
    for (std::uint64_t i = 0; i < dims; ++i) o[i] = __builtin_fmaf(o[i], a, math::sealed(next.o[i] * b));
    m = top;
  }
};

}  // namespace zrt::inline ZRT_ABI::ops
ZRT_FP_END
