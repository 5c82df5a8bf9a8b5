// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/dot16.inc.hpp: textual fragment: weight rows times activation rows in the order dot16.

/// Rows of a tile: activations × weights, sixteen lanes along the axis for each pair. With AVX-512 that
/// is 25 sums, 5 weights and an activation in 32 registers, with AVX2, where sixteen lanes take two
/// registers, 8, 4 and 2 of 16 (3 × 2 spills: 48 instead of 76 GFLOP/s). Plain C++ takes one of each,
/// which is quick to compile.
inline constexpr std::size_t kTileActivations = kIsa == Isa::v4 ? 5 : kIsa == Isa::v3 ? 2 : 1;
inline constexpr std::size_t kTileWeights = kTileActivations;
/// Weight rows at once for a single activation row: enough sums to hide the latency of an fma.
inline constexpr std::size_t kVectorWeights = kIsa == Isa::v4 ? 8 : kIsa == Isa::v3 ? 4 : 1;

/// Dot products of kT activation rows with kN weight rows of `cols` elements; out[t * kN + n].
template <class W, std::size_t kT, std::size_t kN>
void dot16_tile(const float* const* x_rows, const std::byte* const* w_rows, std::uint32_t cols, float* out) noexcept {
  const float* x[kT];
  const std::byte* w[kN];
  F32 sum[kT * kN];
  unroll<kT>([&](std::size_t t) ZRT_UNROLLED { x[t] = x_rows[t]; });
  unroll<kN>([&](std::size_t n) ZRT_UNROLLED { w[n] = w_rows[n]; });
  unroll<kT * kN>([&](std::size_t i) ZRT_UNROLLED { sum[i] = splat(0.0f); });
  std::uint32_t k = 0;
  for (; k + 16 <= cols; k += 16) {
    F32 weight[kN];
    unroll<kN>([&](std::size_t n) ZRT_UNROLLED { weight[n] = W::load16(w[n], k); });
    unroll<kT>([&](std::size_t t) ZRT_UNROLLED {
      const F32 activation = load(x[t] + k);
      unroll<kN>([&](std::size_t n) ZRT_UNROLLED { sum[t * kN + n] = fma(weight[n], activation, sum[t * kN + n]); });
    });
  }
  if (k < cols) {
    const std::size_t rest = cols - k;
    F32 weight[kN];
    unroll<kN>([&](std::size_t n) ZRT_UNROLLED { weight[n] = W::load_rest(w[n], k, rest); });
    unroll<kT>([&](std::size_t t) ZRT_UNROLLED {
      const F32 activation = load_first(x[t] + k, rest);
      unroll<kN>([&](std::size_t n) ZRT_UNROLLED { sum[t * kN + n] = fma(weight[n], activation, sum[t * kN + n]); });
    });
  }
  unroll<kT * kN>([&](std::size_t i) ZRT_UNROLLED { out[i] = reduce_tree(sum[i]); });
}

/// All tiles of activation rows first_t..last_t-1; a tile at an edge repeats its last row.
template <class W, std::size_t kT, std::size_t kN>
void dot16_tiles(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x,
                 std::uint32_t first_t, std::uint32_t last_t, float* y, std::uint64_t stride) noexcept {
  for (std::uint32_t n = first; n < last; n += kN) {
    const std::byte* weights[kN];
    for (std::size_t i = 0; i < kN; ++i) weights[i] = w.row(n + i < last ? n + i : last - 1u);
    for (std::uint32_t t = first_t; t < last_t; t += kT) {
      const float* activations[kT];
      for (std::size_t i = 0; i < kT; ++i)
        activations[i] = x.x + std::uint64_t{t + i < last_t ? t + static_cast<std::uint32_t>(i) : last_t - 1u} * x.cols;
      float out[kT * kN];
      dot16_tile<W, kT, kN>(activations, weights, x.cols, out);
      for (std::size_t i = 0; i < kT && t + i < last_t; ++i)
        for (std::size_t j = 0; j < kN && n + j < last; ++j) y[(t + i) * stride + (n - first) + j] = out[i * kN + j];
    }
  }
}

template <class W>
void dot16_rows(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                std::uint64_t stride) noexcept {
  // Activation rows go by chunks that stay in the second-level cache while all weights pass.
  constexpr std::uint32_t kChunkElems = 64 * 1024;
  constexpr auto kT = static_cast<std::uint32_t>(kTileActivations);
  const std::uint32_t tiles = kChunkElems / (kT * (x.cols == 0 ? 1 : x.cols));
  const std::uint32_t chunk = kT * (tiles == 0 ? 1 : tiles);
  for (std::uint32_t t = 0; t < x.rows; t += chunk) {
    const std::uint32_t end = t + chunk < x.rows ? t + chunk : x.rows;
    if (end - t == 1)
      dot16_tiles<W, 1, kVectorWeights>(w, first, last, x, t, end, y, stride);
    else
      dot16_tiles<W, kTileActivations, kTileWeights>(w, first, last, x, t, end, y, stride);
  }
}
