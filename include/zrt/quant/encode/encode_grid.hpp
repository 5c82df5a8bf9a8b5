// SPDX-License-Identifier: Apache-2.0
// zrt/quant/encode/encode_grid.hpp: writes blocks of the types whose values are entries of a grid.
#pragma once

#include <zrt/quant/encode/encode_blocks.hpp>
#include <zrt/quant/grid_entries.hpp>

#include <array>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// A block type of parts with odd factors whose integers are entries of a grid, kEach in an entry.
///
/// `store_entry(block, at, entry)` and `store_signs(block, eight, bits)` write what `unpack` reads, into a block of
/// zeros.
template <class L>
concept GridLayout = BlockLayout<L> && requires(std::byte* block, const Factors& f) {
  { L::kSigns } -> std::convertible_to<GridSigns>;
  { L::store_entry(block, 0u, 0u) } noexcept -> std::same_as<void>;
  { L::store_signs(block, 0u, 0u) } noexcept -> std::same_as<void>;
  { L::store_factors(f, block) } noexcept -> std::same_as<void>;
};

namespace detail {

/// The values of a grid, [place in the entry][entry], so that neighbouring entries are neighbours in memory.
template <const auto& kGrid, std::uint32_t kEach>
inline constexpr auto kGridColumns = [] {
  std::array<std::array<float, kGrid.size()>, kEach> columns{};
  for (std::size_t e = 0; e < kGrid.size(); ++e)
    for (std::uint32_t k = 0; k < kEach; ++k)
      columns[k][e] = static_cast<float>(static_cast<std::int8_t>(kGrid[e] >> 8 * k & 255u));
  return columns;
}();

/// What a part of a block holds: entries, signs of each eight values, and the integers that follow.
template <class L> struct GridPart {
  unsigned entries[L::kPart / L::kEach];
  unsigned signs[L::kPart / 8];
  float values[L::kPart];
};

/// Finds, for a part under scale d, the entries that leave the least sum of weight · (x - d · value)²: all are tried.
template <class L> struct GridSearch {
  static constexpr auto& kColumns = kGridColumns<L::kGrid, L::kEach>;
  static constexpr std::size_t kEntries = L::kGrid.size();

  /// The best entry for kEach values, each of which may be moved by `moved` eighths.
  static unsigned best_entry(const float* x, const float* weight, float d, float moved) noexcept {
    float gain[kEntries];
    for (float& g : gain) g = 0.0f;
    for (std::uint32_t k = 0; k < L::kEach; ++k) {
      // Up to what no entry changes, less error is more of w (2 d x - d² e) e.
      const float linear = 2.0f * d * weight[k] * x[k];
      const float square = d * d * weight[k];
      for (std::size_t e = 0; e < kEntries; ++e) {
        const float value = kColumns[k][e] + moved;
        gain[e] += (linear - square * value) * value;
      }
    }
    std::size_t best = 0;
    for (std::size_t e = 1; e < kEntries; ++e)
      if (gain[e] > gain[best]) best = e;
    return static_cast<unsigned>(best);
  }

  /// Signs of eight values, taken from `x`, whose sizes it leaves. Where the number of negative ones must be even, the
  /// one that costs least gets the other sign, and a negative size.
  static unsigned take_signs(float* x, const float* weight) noexcept {
    unsigned signs = 0;
    for (std::uint32_t k = 0; k < 8; ++k)
      if (x[k] < 0.0f) {
        signs |= 1u << k;
        x[k] = -x[k];
      }
    if (L::kSigns != GridSigns::parity || std::popcount(signs) % 2 == 0) return signs;
    std::uint32_t least = 0;
    for (std::uint32_t k = 1; k < 8; ++k)
      if (weight[k] * x[k] * x[k] < weight[least] * x[least] * x[least]) least = k;
    x[least] = -x[least];
    return signs ^ 1u << least;
  }

  static void signed_part(const float* x, const float* weight, float d, GridPart<L>& part) noexcept {
    for (std::uint32_t at = 0; at < L::kPart; at += 8) {
      float sizes[8];
      for (std::uint32_t k = 0; k < 8; ++k) sizes[k] = x[at + k];
      const unsigned signs = part.signs[at / 8] = take_signs(sizes, weight + at);
      for (std::uint32_t k = 0; k < 8; k += L::kEach) {
        const unsigned entry = best_entry(sizes + k, weight + at + k, d, 0.0f);
        part.entries[(at + k) / L::kEach] = entry;
        for (std::uint32_t i = 0; i < L::kEach; ++i)
          part.values[at + k + i] = (signs >> (k + i) & 1u) != 0 ? -kColumns[i][entry] : kColumns[i][entry];
      }
    }
  }

  /// Entries of `count` values, all moved up, or down by two eighths from there, whichever is better.
  static void moved_values(const float* x, const float* weight, float d, std::uint32_t at, std::uint32_t count,
                           GridPart<L>& part) noexcept {
    double least = -1.0;
    for (const float moved : {0.0f, -2.0f}) {
      GridPart<L> tried;
      double error = 0;
      for (std::uint32_t i = at; i < at + count; i += 8) {
        const unsigned entry = tried.entries[i / 8] = best_entry(x + i, weight + i, d, moved);
        tried.signs[i / 8] = moved < 0.0f ? 1u : 0u;
        for (std::uint32_t k = 0; k < 8; ++k) {
          tried.values[i + k] = kColumns[k][entry] + moved;
          const double off = static_cast<double>(x[i + k] - d * tried.values[i + k]);
          error += static_cast<double>(weight[i + k]) * off * off;
        }
      }
      if (least >= 0.0 && error >= least) continue;
      least = error;
      for (std::uint32_t i = at; i < at + count; ++i) part.values[i] = tried.values[i];
      for (std::uint32_t i = at / 8; i < (at + count) / 8; ++i) {
        part.entries[i] = tried.entries[i];
        part.signs[i] = tried.signs[i];
      }
    }
  }

  static void search(const float* x, const float* weight, float d, GridPart<L>& part) noexcept {
    if constexpr (L::kSigns == GridSigns::moved) {
      // Parts of 32 have one bit for all of them, parts of 16 one for each eight.
      constexpr std::uint32_t kTogether = L::kPart == 32 ? 32 : 8;
      for (std::uint32_t at = 0; at < L::kPart; at += kTogether) moved_values(x, weight, d, at, kTogether, part);
    } else {
      signed_part(x, weight, d, part);
    }
  }

  [[nodiscard]] static double error(const float* x, const float* weight, float d, const GridPart<L>& part) noexcept {
    double sum = 0;
    for (std::uint32_t i = 0; i < L::kPart; ++i) {
      const double off = static_cast<double>(x[i] - d * part.values[i]);
      sum += static_cast<double>(weight[i]) * off * off;
    }
    return sum;
  }
  [[nodiscard]] static float best_scale(const float* x, const float* weight, const GridPart<L>& part) noexcept {
    double products = 0;
    double squares = 0;
    for (std::uint32_t i = 0; i < L::kPart; ++i) {
      const double value = static_cast<double>(part.values[i]);
      products += static_cast<double>(weight[i]) * value * static_cast<double>(x[i]);
      squares += static_cast<double>(weight[i]) * value * value;
    }
    return squares > 0 && products > 0 ? static_cast<float>(products / squares) : 0.0f;
  }

  /// The scale that suits a part best, of some around the one that maps its largest value to the grid's.
  static float fit(const float* x, const float* weight, GridPart<L>& part) noexcept {
    float largest = 0.0f;
    for (std::uint32_t i = 0; i < L::kPart; ++i) {
      const float size = x[i] < 0.0f ? -x[i] : x[i];
      largest = size > largest ? size : largest;
    }
    if (largest == 0.0f) return 0.0f;
    float highest = 0.0f;
    for (std::uint32_t k = 0; k < L::kEach; ++k)
      for (const float value : kColumns[k]) highest = value > highest ? value : highest;
    float best = 0.0f;
    double least = -1.0;
    const auto take = [&](float d) {
      search(x, weight, d, part);
      const float better = best_scale(x, weight, part);
      if (better > 0.0f) d = better;
      const double left = error(x, weight, d, part);
      if (least >= 0.0 && left >= least) return false;
      least = left;
      best = d;
      return true;
    };
    for (const float reach : {1.0f, 0.9f, 0.8f, 0.7f, 0.6f, 0.5f, 0.4f}) take(largest * reach / highest);
    for (int again = 0; again < 3 && take(best); ++again) {
    }
    return best;
  }
};

}  // namespace detail

/// The same as encode_blocks, of a type of a grid.
template <GridLayout L>
void encode_grid(const float* x, const float* weight, std::uint64_t elems, std::byte* blocks) noexcept {
  using Search = detail::GridSearch<L>;
  constexpr std::uint32_t kParts = L::kElems / L::kPart;
  for (std::uint64_t at = 0; at < elems; at += L::kElems, x += L::kElems, weight += L::kElems, blocks += L::kBytes) {
    for (std::uint32_t i = 0; i < L::kBytes; ++i) blocks[i] = std::byte{0};
    float wish[kParts];
    float scale = 0.0f;
    detail::GridPart<L> part;
    for (std::uint32_t j = 0; j < kParts; ++j) {
      wish[j] = Search::fit(x + j * L::kPart, weight + j * L::kPart, part);
      scale = wish[j] > scale ? wish[j] : scale;
    }
    L::store_scale(blocks, 0, scale / static_cast<float>(L::kMostFactor));
    const float d = L::scale(blocks, 0);
    Factors factors;
    for (std::uint32_t j = 0; j < kParts; ++j) {
      const float* from = x + j * L::kPart;
      const float* w = weight + j * L::kPart;
      const std::int32_t near =
          d == 0.0f ? 0 : detail::bounded((wish[j] / d - 1.0f) * 0.5f, 0, (L::kMostFactor - 1) / 2);
      detail::GridPart<L> best{};
      double least = -1.0;
      for (std::int32_t s = near - 1; s <= near + 1; ++s) {
        if (s < 0 || 2 * s + 1 > L::kMostFactor) continue;
        const float step = d * static_cast<float>(2 * s + 1);
        Search::search(from, w, step, part);
        const double error = Search::error(from, w, step, part);
        if (least >= 0.0 && error >= least) continue;
        least = error;
        best = part;
        factors.scale[j] = static_cast<std::int8_t>(2 * s + 1);
      }
      for (std::uint32_t i = 0; i < L::kPart / L::kEach; ++i)
        L::store_entry(blocks, j * (L::kPart / L::kEach) + i, best.entries[i]);
      for (std::uint32_t i = 0; i < L::kPart / 8; ++i) L::store_signs(blocks, j * (L::kPart / 8) + i, best.signs[i]);
    }
    L::store_factors(factors, blocks);
  }
}

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
