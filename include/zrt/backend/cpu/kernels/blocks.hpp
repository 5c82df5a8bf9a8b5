// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/blocks.hpp: block weights times rounded activations in the order blocks.
//
// Sixteen weight rows are the lanes: one multiplication and one fma per block advance sixteen chains.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_BLOCKS)
#define ZRT_BACKEND_CPU_KERNELS_BLOCKS

#include <zrt/backend/cpu/kernels/block_rows.hpp>
#include <zrt/backend/cpu/weight_kernels.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/blocks.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Sixteen weight rows times one activation row. `ahead` is where the next sixteen rows lie.
template <class Q>
[[nodiscard]] F32 sixteen_rows(Q type, const std::byte* const* rows, const Activations& x,
                               const std::byte* ahead) noexcept {
  const std::size_t bytes = type.bytes();
  const std::size_t blocks = x.cols / kGroup;
  F32 acc = splat(0.0f);
  for (std::size_t b = 0; b < blocks; ++b) {
    // Sixteen streams are too many for the hardware's prefetcher: 11 GB/s of 27 without this, with
    // one stream over the next rows into the second-level cache 25.
    for (std::size_t line = 0; line < bytes * 16; line += 64) __builtin_prefetch(ahead + b * (bytes * 16) + line, 0, 2);
    I32 sums = type.sums(rows, b * bytes, x.q + b * kGroup);
    if (Q::kExcess != 0) sums = isub(sums, splat_i32(Q::kExcess * x.sum[b]));
    const F32 scale = type.scales(rows, b * bytes) * splat(x.d[b]);
    acc = fma(scale, to_f32(sums), acc);
    if constexpr (Q::kHasOffset)
      acc = fma(type.offsets(rows, b * bytes) * splat(x.d[b]), splat(static_cast<float>(x.sum[b])), acc);
  }
  return acc;
}

/// Activation rows that a panel meets at once, and how many are worth a panel.
inline constexpr std::size_t kPanelColumns = kIsa == Isa::v4 ? 8 : kIsa == Isa::v3 ? 3 : 1;
inline constexpr std::uint32_t kPanelFrom = 4;
/// Blocks of a panel (16 rows × 16 blocks × 32 bytes: 8 KiB) and activation rows whose sums wait beside it.
inline constexpr std::size_t kPanelBlocks = 16;
inline constexpr std::uint32_t kPanelRows = 128;

/// What a type with offsets has more in a panel.
template <bool kHasOffset> struct PanelOffsets {
  alignas(64) float offsets[kPanelBlocks][16];
};
template <> struct PanelOffsets<false> {};

/// Sixteen weight rows, a stretch of blocks, unpacked: [block][8][16 rows][4] and [block][16 rows].
template <bool kHasOffset> struct Panel : PanelOffsets<kHasOffset> {
  alignas(64) std::byte integers[kPanelBlocks][512];
  alignas(64) float scales[kPanelBlocks][16];
};

template <class Q>
void fill_panel(Q type, const std::byte* const* rows, std::size_t from, std::size_t count,
                Panel<Q::kHasOffset>& panel) noexcept {
  const std::size_t bytes = type.bytes();
  for (std::size_t b = 0; b < count; ++b) type.panel(rows, (from + b) * bytes, panel.integers[b]);
  for (std::size_t b = 0; b < count; ++b) store(panel.scales[b], type.scales(rows, (from + b) * bytes));
  if constexpr (Q::kHasOffset)
    for (std::size_t b = 0; b < count; ++b) store(panel.offsets[b], type.offsets(rows, (from + b) * bytes));
}

/// Advances the chains of kColumns activation rows over a panel; sums[column][16].
template <std::size_t kColumns, bool kHasOffset>
void panel_columns(const Panel<kHasOffset>& panel, std::size_t from, std::size_t count, const Activations& x,
                   const std::uint32_t* columns, float (*sums)[16]) noexcept {
  const std::uint64_t groups = x.cols / kGroup;
  const std::int8_t* q[kColumns];
  const float* d[kColumns];
  const std::int32_t* excess[kColumns];
  F32 acc[kColumns];
  unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
    q[c] = x.q + std::uint64_t{columns[c]} * x.cols + from * kGroup;
    d[c] = x.d + columns[c] * groups + from;
    excess[c] = x.sum + columns[c] * groups + from;
    acc[c] = load(sums[c]);
  });
  for (std::size_t b = 0; b < count; ++b) {
    I32 integers[kColumns];
    unroll<kColumns>([&](std::size_t c)
                         ZRT_UNROLLED { integers[c] = splat_i32(kPanelBias == 0 ? 0 : -kPanelBias * excess[c][b]); });
    for (std::size_t i = 0; i < 8; ++i) {
      const I8x64 w = load_i8x64(panel.integers[b] + 64 * i);
      unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
        const I8x64 activations = splat_i8x4(q[c] + b * kGroup + 4 * i);
        integers[c] = kIsa == Isa::v4 ? dot4_unsigned(integers[c], w, activations) : dot4(integers[c], w, activations);
      });
    }
    const F32 scale = load(panel.scales[b]);
    unroll<kColumns>([&](std::size_t c)
                         ZRT_UNROLLED { acc[c] = fma(scale * splat(d[c][b]), to_f32(integers[c]), acc[c]); });
    if constexpr (kHasOffset) {
      const F32 offset = load(panel.offsets[b]);
      unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
        acc[c] = fma(offset * splat(d[c][b]), splat(static_cast<float>(excess[c][b])), acc[c]);
      });
    }
  }
  unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED { store(sums[c], acc[c]); });
}

/// One stretch of a panel against activation rows first..first+count-1.
template <bool kHasOffset>
void panel_rows(const Panel<kHasOffset>& panel, std::size_t from, std::size_t blocks, const Activations& x,
                std::uint32_t first, std::uint32_t count, float (*sums)[16]) noexcept {
  std::uint32_t t = 0;
  std::uint32_t columns[kPanelColumns];
  for (; t + kPanelColumns <= count; t += kPanelColumns) {
    for (std::uint32_t c = 0; c < kPanelColumns; ++c) columns[c] = first + t + c;
    panel_columns<kPanelColumns, kHasOffset>(panel, from, blocks, x, columns, sums + t);
  }
  for (; t < count; ++t) {
    columns[0] = first + t;
    panel_columns<1, kHasOffset>(panel, from, blocks, x, columns, sums + t);
  }
}

template <class Q>
void block_rows(Q type, const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                std::uint64_t stride) noexcept {
  const std::size_t blocks = x.cols / kGroup;
  for (std::uint32_t t = 0; t < x.rows; t += kPanelRows) {
    const std::uint32_t count = x.rows - t < kPanelRows ? x.rows - t : kPanelRows;
    for (std::uint32_t n = first; n < last; n += 16) {
      const std::byte* rows[16];
      for (std::uint32_t r = 0; r < 16; ++r) rows[r] = w.row(n + r < last ? n + r : last - 1);
      const std::size_t valid = last - n < 16 ? last - n : 16;
      float* out = y + t * stride + (n - first);
      if (count < kPanelFrom) {
        const std::byte* ahead = rows[0] + 16 * w.row_bytes;
        for (std::uint32_t i = 0; i < count; ++i)
          store_first(out + i * stride, sixteen_rows(type, rows, x.part(t + i, 1), ahead), valid);
        continue;
      }
      Panel<Q::kHasOffset> panel;
      alignas(64) float sums[kPanelRows][16];
      for (std::uint32_t i = 0; i < count; ++i) store(sums[i], splat(0.0f));
      for (std::size_t from = 0; from < blocks; from += kPanelBlocks) {
        const std::size_t stretch = blocks - from < kPanelBlocks ? blocks - from : kPanelBlocks;
        fill_panel(type, rows, from, stretch, panel);
        panel_rows(panel, from, stretch, x, t, count, sums);
      }
      for (std::uint32_t i = 0; i < count; ++i) store_first(out + i * stride, load(sums[i]), valid);
    }
  }
}

#endif
