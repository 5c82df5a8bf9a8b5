// SPDX-License-Identifier: Apache-2.0
// zrt/quant/dot.hpp: the three orders of a floating-point sum, as plain loops.
#pragma once

#include <zrt/core/elementary_ops.hpp>
#include <zrt/quant/layout.hpp>

#include <cstddef>
#include <cstdint>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// Sums 16 lanes by the tree of the order `dot16`: lane j += lane j+8, then j+4, j+2, j+1.
///
/// The lanes are used up.
template <class T> [[nodiscard]] constexpr T reduce_tree(T* lanes) noexcept {
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  return lanes[0];
}

/// The dot product of `n` values in the order `dot16`.
///
/// Lane i mod 16 is fma(a_i, b_i, lane) in index order from +0, and the lanes are summed by reduce_tree. Where the axis
/// ends amid sixteen, padding adds -0, which changes no lane; +0 would change one whose products underflowed to -0.
[[nodiscard]] constexpr float dot16(const float* a, const float* b, std::uint64_t n) noexcept {
  float lanes[16]{};
  std::uint64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (std::size_t j = 0; j < 16; ++j) lanes[j] = __builtin_fmaf(a[i + j], b[i + j], lanes[j]);
  for (std::size_t j = 0; i + j < n; ++j) lanes[j] = __builtin_fmaf(a[i + j], b[i + j], lanes[j]);
  return reduce_tree(lanes);
}

/// The sum of `n` values in the order `dot16`: fma(a_i, 1, lane) is lane + a_i.
[[nodiscard]] constexpr float sum16(const float* a, std::uint64_t n) noexcept {
  float lanes[16]{};
  for (std::uint64_t i = 0; i < n; ++i) lanes[i % 16] += math::sealed(a[i]);
  return reduce_tree(lanes);
}

/// The dot product of `n` values in the order `chain`: acc = fma(a_i, b_i, acc) from `start`.
///
/// Element i of each operand lies at i times its stride.
[[nodiscard]] constexpr float chain(const float* a, const float* b, std::uint64_t n, float start = 0.0f,
                                    std::uint64_t a_stride = 1, std::uint64_t b_stride = 1) noexcept {
  float acc = start;
  for (std::uint64_t i = 0; i < n; ++i) acc = __builtin_fmaf(a[i * a_stride], b[i * b_stride], acc);
  return acc;
}

/// The dot product of a row of blocks with rounded activations in the order `blocks`.
///
/// `n`, a multiple of L::kElems, integers `q` with one scale in `d` per group of L::kAct. Run by
/// run: acc = fma(f32(d_w * d_x), f32(sum), acc), then for a type with an offset
/// acc = fma(f32(m_w * d_x), f32(xsum), acc), from +0.
template <BlockLayout L>
[[nodiscard]] constexpr float dot_blocks(const std::byte* row, const std::int8_t* q, const float* d,
                                         std::uint64_t n) noexcept {
  static_assert(!L::kHasOffset || OffsetLayout<L>,
                "zrt: a weight type with kHasOffset needs offset() and offset_sum() in its header");
  float acc = 0.0f;
  for (std::uint64_t i = 0; i < n; i += L::kElems, row += L::kBytes) {
    for (std::uint32_t run = 0; run < L::kElems / L::kRun; ++run) {
      const std::uint64_t at = i + run * L::kRun;
      const float d_x = d[at / group_elems(L::kAct)];
      acc = __builtin_fmaf(L::scale(row, run) * d_x, static_cast<float>(L::dot(row, run, q + at)), acc);
      if constexpr (L::kHasOffset)
        acc = __builtin_fmaf(L::offset(row, run) * d_x, static_cast<float>(L::offset_sum(row, run, q + at)), acc);
    }
  }
  return acc;
}

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
