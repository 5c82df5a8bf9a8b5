// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/dot16.hpp: weight rows times activation rows in the order dot16.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_DOT16)
#define ZRT_BACKEND_CPU_KERNELS_DOT16

#include <zrt/backend/cpu/kernels/shuffles.hpp>
#include <zrt/backend/cpu/kernels/weight_rows.hpp>
#include <zrt/backend/cpu/weight_kernels.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/dot16.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Rows of a tile: activations × weights, sixteen lanes along the axis for each pair. With AVX-512 that
/// is 24 sums, 4 activations and a weight in 32 registers, and sums are reduced by eights; with AVX2, where
/// sixteen lanes take two registers, 8, 4 and 2 of 16 (3 × 2 spills: 48 instead of 76 GFLOP/s). Plain C++ takes
/// one of each, which is quick to compile.
inline constexpr std::size_t kTileActivations = kVectors >= 32 ? 4 : kVectors >= 8 ? 2 : 1;
inline constexpr std::size_t kTileWeights = kVectors >= 32 ? 6 : kVectors >= 8 ? 2 : 1;
/// Weight rows at once for a single activation row: enough sums to hide the latency of an fma.
inline constexpr std::size_t kVectorWeights = kVectors >= 32 ? 8 : kVectors >= 8 ? 4 : 1;

/// The first `count` elements, and -0 behind them: times +0 it is -0, which changes no sum. A sum of products that
/// underflow may be -0, to which +0 gives +0.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_or_pad(const float* x, std::size_t count) noexcept {
  return select(first_lanes(count), load_first(x, count), splat(-0.0f));
}

/// Adds the products of elements first..last-1, first a multiple of 16, to the lanes of each pair.
template <class W, std::size_t kT, std::size_t kN>
ZRT_ALWAYS_INLINE void dot16_add(const float* const* x_rows, const std::byte* const* w_rows, std::uint32_t first,
                                 std::uint32_t last, F32 (&sum)[kT * kN]) noexcept {
  const float* x[kT];
  const std::byte* w[kN];
  ZRT_UNROLL (t, kT) x[t] = x_rows[t];
  ZRT_UNROLL (n, kN) w[n] = w_rows[n];
  std::uint32_t k = first;
  for (; k + 16 <= last; k += 16) {
    F32 activation[kT];
    ZRT_UNROLL (t, kT) activation[t] = load(x[t] + k);
    ZRT_UNROLL (n, kN) {
      const F32 weight = W::load16(w[n], k);
      ZRT_UNROLL (t, kT) sum[t * kN + n] = fma(weight, activation[t], sum[t * kN + n]);
    }
  }
  if (k < last) {
    const std::size_t rest = last - k;
    F32 activation[kT];
    ZRT_UNROLL (t, kT) activation[t] = load_or_pad(x[t] + k, rest);
    ZRT_UNROLL (n, kN) {
      const F32 weight = W::load_rest(w[n], k, rest);
      ZRT_UNROLL (t, kT) sum[t * kN + n] = fma(weight, activation[t], sum[t * kN + n]);
    }
  }
}

/// The sums of a tile's lanes.
template <std::size_t kCount> ZRT_ALWAYS_INLINE void reduce_all(const F32 (&sum)[kCount], float* out) noexcept {
  if constexpr (kCount % 8 == 0)
    ZRT_UNROLL (i, kCount / 8) reduce_eight(sum + 8 * i, out + 8 * i);
  else
    ZRT_UNROLL (i, kCount) out[i] = reduce_tree(sum[i]);
}

/// Dot products of kT activation rows with kN weight rows of `cols` elements; out[t * kN + n].
template <class W, std::size_t kT, std::size_t kN>
void dot16_tile(const float* const* x_rows, const std::byte* const* w_rows, std::uint32_t cols, float* out) noexcept {
  F32 sum[kT * kN];
  ZRT_UNROLL (i, kT * kN) sum[i] = splat(0.0f);
  dot16_add<W, kT, kN>(x_rows, w_rows, 0, cols, sum);
  reduce_all(sum, out);
}

/// Writes a tile's outputs to rows `stride` apart, as many rows and columns of it as there are.
template <std::size_t kT, std::size_t kN>
ZRT_ALWAYS_INLINE void write_tile(const float* out, std::size_t rows, std::size_t cols, float* y,
                                  std::uint64_t stride) noexcept {
  if (rows >= kT && cols >= kN) {
    ZRT_UNROLL (i, kT) std::memcpy(y + i * stride, out + i * kN, kN * sizeof(float));
    return;
  }
  for (std::size_t i = 0; i < kT && i < rows; ++i)
    for (std::size_t j = 0; j < kN && j < cols; ++j) y[i * stride + j] = out[i * kN + j];
}

/// Elements of an axis that are multiplied at once: those of a tile's weights stay in the first-level cache while
/// all activations pass.
inline constexpr std::uint32_t kTileDepth = 512;
/// Tiles of activations whose lanes are kept from one part of a longer axis to the next.
inline constexpr std::uint32_t kKeptTiles = 16;

/// Most tiles of weights side by side. As many as fit the first-level cache stay there while all activations pass, so
/// that a short axis brings these from the second level once for several tiles, and outputs are written in longer runs.
inline constexpr std::uint32_t kPanelTiles = 8;

/// Weight rows first..last-1 and activation rows first_t..last_t-1; y[t * stride] is the product of row t with the first.
struct TileRows {
  std::uint32_t first, last, first_t, last_t;
  float* y;
  std::uint64_t stride;
};

/// All tiles of `rows`, whose weights stand in `weights`, over elements k..end-1 of the axis; a tile at an edge repeats
/// its last row. Where the axis is longer, the lanes of each tile are in `lanes` before and behind.
template <class W, std::size_t kT, std::size_t kN>
ZRT_ALWAYS_INLINE void dot16_part(const TileRows& rows, const std::byte* const* weights, const Activations& x,
                                  std::uint32_t k, std::uint32_t end, F32* lanes) noexcept {
  const bool begins = k == 0, ends = end == x.cols;
  for (std::uint32_t t = rows.first_t; t < rows.last_t; t += kT) {
    const float* activations[kT];
    for (std::size_t i = 0; i < kT; ++i) {
      const std::uint32_t row = t + i < rows.last_t ? t + static_cast<std::uint32_t>(i) : rows.last_t - 1u;
      activations[i] = x.x + std::uint64_t{row} * x.cols;
    }
    for (std::uint32_t n = rows.first; n < rows.last; n += static_cast<std::uint32_t>(kN)) {
      F32 sum[kT * kN];
      if (begins)
        ZRT_UNROLL (i, kT * kN) sum[i] = splat(0.0f);
      else
        ZRT_UNROLL (i, kT * kN) sum[i] = lanes[i];
      dot16_add<W, kT, kN>(activations, weights + (n - rows.first), k, end, sum);
      if (ends) {
        float out[kT * kN];
        reduce_all(sum, out);
        write_tile<kT, kN>(out, rows.last_t - t, rows.last - n, rows.y + t * rows.stride + (n - rows.first),
                           rows.stride);
      } else {
        ZRT_UNROLL (i, kT * kN) lanes[i] = sum[i];
      }
      lanes += begins && ends ? 0 : kT * kN;
    }
  }
}

/// All tiles of activation rows first_t..last_t-1. Where the axis is longer than kTileDepth they are at most kKeptTiles.
template <class W, std::size_t kT, std::size_t kN>
void dot16_tiles(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x,
                 std::uint32_t first_t, std::uint32_t last_t, float* y, std::uint64_t stride) noexcept {
  F32 kept[kKeptTiles * kT * kN];
  // 24 KiB of f32 with AVX-512, half of the first-level cache.
  const std::uint32_t fit = kTileDepth * 2 / (x.cols == 0 ? 1 : x.cols);
  const std::uint32_t beside = fit == 0 ? 1 : fit < kPanelTiles ? fit : kPanelTiles;
  const std::uint32_t panel_rows = beside * static_cast<std::uint32_t>(kN);
  for (std::uint32_t panel = first; panel < last; panel += panel_rows) {
    const std::uint32_t panel_end = last - panel <= panel_rows ? last : panel + panel_rows;
    const std::byte* weights[kPanelTiles * kN];
    for (std::uint32_t i = 0; i < panel_rows; ++i) weights[i] = w.row(panel + i < last ? panel + i : last - 1u);
    const TileRows rows{panel, panel_end, first_t, last_t, y + (panel - first), stride};
    std::uint32_t k = 0;
    do {
      const std::uint32_t end = x.cols - k <= kTileDepth ? x.cols : k + kTileDepth;
      dot16_part<W, kT, kN>(rows, weights, x, k, end, kept);
      k = end;
    } while (k < x.cols);
  }
}

template <class W>
void dot16_rows(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                std::uint64_t stride) noexcept {
  // Activation rows go by chunks that stay in the second-level cache while all weights pass.
  constexpr std::uint32_t kChunkElems = 64 * 1024;
  constexpr auto kT = static_cast<std::uint32_t>(kTileActivations);
  std::uint32_t tiles = kChunkElems / (kT * (x.cols == 0 ? 1 : x.cols));
  if (x.cols > kTileDepth && tiles > kKeptTiles) tiles = kKeptTiles;
  const std::uint32_t chunk = kT * (tiles == 0 ? 1 : tiles);
  for (std::uint32_t t = 0; t < x.rows; t += chunk) {
    const std::uint32_t end = t + chunk < x.rows ? t + chunk : x.rows;
    if (end - t == 1)
      dot16_tiles<W, 1, kVectorWeights>(w, first, last, x, t, end, y, stride);
    else
      dot16_tiles<W, kTileActivations, kTileWeights>(w, first, last, x, t, end, y, stride);
  }
}

#endif
