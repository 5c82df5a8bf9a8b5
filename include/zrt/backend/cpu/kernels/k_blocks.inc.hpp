// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/k_blocks.inc.hpp: textual fragment: weights in blocks of 256 with integer sub-scales.
//
// A block is unpacked once and meets every activation row: its integers as 256 bytes, its sub-scales as
// one factor per lane of four products, so that one multiplication applies them.

/// One unpacked block. `factor[16 c + i]` is the sub-scale of bytes 64 c + 4 i .. + 3.
struct KBlock {
  alignas(64) std::int8_t q[256];
  alignas(64) std::int32_t factor[64];
  std::int32_t offset[8];
  float d = 0.0f;
  float m = 0.0f;
};

/// Q4_K and Q5_K: eight runs of 32 with scale and offset.
template <class L> struct KOffsetBlock {
  static constexpr bool kHasOffset = true;
  static constexpr std::size_t kBytes = L::kBytes;

  static void unpack(const std::byte* block, KBlock& to) noexcept {
    const quant::KScales s = quant::read_k_scales(block + 4);
    L::unpack(block, to.q);
    for (std::size_t i = 0; i < 64; ++i) to.factor[i] = s.scale[i / 8];
    for (std::size_t j = 0; j < 8; ++j) to.offset[j] = s.offset[j];
    to.d = quant::read_f16(block);
    to.m = quant::read_f16(block + 2);
  }
  /// Elements k..k+15 as f32, k a multiple of 16.
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 widen16(const KBlock& b, std::size_t k) noexcept {
    const F32 low = splat(b.m * static_cast<float>(b.offset[k / 32]));
    return fma(splat(b.d * static_cast<float>(b.factor[k / 4])), to_f32(load_i8(b.q + k)), -low);
  }
};
struct Q4KBlock : KOffsetBlock<quant::Layout<DType::q4_k>> {};
struct Q5KBlock : KOffsetBlock<quant::Layout<DType::q5_k>> {};

/// Q6_K: sixteen runs of 16 with a signed scale.
struct Q6KBlock {
  static constexpr bool kHasOffset = false;
  static constexpr std::size_t kBytes = 210;

  static void unpack(const std::byte* block, KBlock& to) noexcept {
    const std::int8_t* scales = quant::signed_bytes(block + 192);
    quant::Layout<DType::q6_k>::unpack(block, to.q);
    for (std::size_t i = 0; i < 64; ++i) to.factor[i] = scales[i / 4];
    to.d = quant::read_f16(block + 208);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 widen16(const KBlock& b, std::size_t k) noexcept {
    return splat(b.d * static_cast<float>(b.factor[k / 4])) * to_f32(load_i8(b.q + k));
  }
};

/// The integer sum of a block, sub-scales included.
[[nodiscard]] ZRT_ALWAYS_INLINE std::int32_t k_block_sum(const KBlock& b, const std::int8_t* x) noexcept {
  I32 sum = splat_i32(0);
  for (std::size_t c = 0; c < 4; ++c) {
    const I32 products = dot4(splat_i32(0), load_i8x64(b.q + 64 * c), load_i8x64(x + 64 * c));
    sum = iadd(sum, imul(products, load_i32(b.factor + 16 * c)));
  }
  return reduce_add(sum);
}

/// Weight rows times rounded activations in the order blocks; one chain per output.
template <class K>
void k_rows(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
            std::uint64_t stride) noexcept {
  constexpr std::uint32_t kRows = 64;
  const std::size_t blocks = x.cols / kWideGroup;
  KBlock block;
  for (std::uint32_t t = 0; t < x.rows; t += kRows) {
    const std::uint32_t count = x.rows - t < kRows ? x.rows - t : kRows;
    const Activations part = x.part(t, count);
    for (std::uint32_t n = first; n < last; ++n) {
      float acc[kRows]{};
      for (std::size_t b = 0; b < blocks; ++b) {
        K::unpack(w.row(n) + b * K::kBytes, block);
        for (std::uint32_t i = 0; i < count; ++i) {
          const std::size_t at = i * blocks + b;
          const float d = part.wide_d[at];
          acc[i] = __builtin_fmaf(block.d * d, static_cast<float>(k_block_sum(block, part.wide_q + at * kWideGroup)),
                                  acc[i]);
          if (!K::kHasOffset) continue;
          const std::int32_t* sums = part.wide_sum + at * (kWideGroup / kGroup);
          std::int32_t offset = 0;
          for (std::size_t j = 0; j < 8; ++j) offset += block.offset[j] * sums[j];
          acc[i] = __builtin_fmaf(-block.m * d, static_cast<float>(offset), acc[i]);
        }
      }
      for (std::uint32_t i = 0; i < count; ++i) y[(t + i) * stride + (n - first)] = acc[i];
    }
  }
}

/// Writes `cols` dequantised elements of a row, each times `scale`.
template <class K> void widen_k_row(const std::byte* row, std::uint32_t cols, float scale, float* y) noexcept {
  KBlock block;
  for (std::uint32_t k = 0; k < cols; k += 256, row += K::kBytes) {
    K::unpack(row, block);
    for (std::size_t i = 0; i < 256; i += 16) store(y + k + i, K::widen16(block, i) * splat(scale));
  }
}

/// Weight rows times activations as they are, in the order dot16.
template <class K>
void dot16_k_rows(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                  std::uint64_t stride) noexcept {
  constexpr std::uint32_t kRows = 16;
  KBlock block;
  for (std::uint32_t t = 0; t < x.rows; t += kRows) {
    const std::uint32_t count = x.rows - t < kRows ? x.rows - t : kRows;
    for (std::uint32_t n = first; n < last; ++n) {
      alignas(64) float lanes[kRows][16]{};
      for (std::uint32_t k = 0; k < x.cols; k += 256) {
        K::unpack(w.row(n) + k / 256 * K::kBytes, block);
        for (std::size_t i = 0; i < 256; i += 16) {
          const F32 weight = K::widen16(block, i);
          for (std::uint32_t r = 0; r < count; ++r)
            store(lanes[r], fma(weight, load(x.x + std::uint64_t{t + r} * x.cols + k + i), load(lanes[r])));
        }
      }
      for (std::uint32_t r = 0; r < count; ++r) y[(t + r) * stride + (n - first)] = reduce_tree(load(lanes[r]));
    }
  }
}
