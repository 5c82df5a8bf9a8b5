// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/k_panels.hpp: weights in blocks of 256 that meet several activation rows.
//
// Sixteen weight rows are the lanes, as in kernels/blocks.hpp: what is unpacked of them once meets up to
// kPanelRows activation rows, and no sum has to be taken across lanes.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_K_PANELS)
#define ZRT_BACKEND_CPU_KERNELS_K_PANELS

#include <zrt/backend/cpu/kernels/k_blocks.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/k_panels.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// What a type with offsets has more in a panel.
template <bool kHasOffset> struct KPanelOffsets {
  alignas(64) std::int32_t offset[8][16];
  alignas(64) float m[16];
};
template <> struct KPanelOffsets<false> {};

/// Sixteen weight rows, one block, unpacked.
template <class K> struct KPanel : KPanelOffsets<K::kHasOffset> {
  alignas(64) std::byte integers[64][64];         ///< [four columns][16 rows][4]
  alignas(64) std::int32_t factor[K::kRuns][16];  ///< [run][row]
  alignas(64) float d[16];
};

template <class K> void fill_k_panel(K type, const std::byte* const* rows, std::size_t at, KPanel<K>& panel) noexcept {
  KBlock blocks[16];
  const std::byte* integers[16];
  const std::byte* runs[16];
  for (std::size_t r = 0; r < 16; ++r) {
    type.unpack(rows[r] + at, blocks[r]);
    integers[r] = reinterpret_cast<const std::byte*>(blocks[r].q);
    runs[r] = reinterpret_cast<const std::byte*>(blocks[r].runs);
    panel.d[r] = blocks[r].d;
    if constexpr (K::kHasOffset) panel.m[r] = blocks[r].m;
  }
  for (std::size_t part = 0; part < 8; ++part) words_of_rows(integers, 32 * part, panel.integers[8 * part]);
  words_of_rows(runs, 0, reinterpret_cast<std::byte*>(panel.factor[0]));
  if constexpr (K::kHasOffset)
    words_of_rows(runs, 32, reinterpret_cast<std::byte*>(panel.offset[0]));
  else
    words_of_rows(runs, 32, reinterpret_cast<std::byte*>(panel.factor[8]));
}

/// Advances the chains of kColumns activation rows, from row `first` on, over block `b`; sums[column][16].
template <std::size_t kColumns, class K>
void k_panel_columns(const KPanel<K>& panel, std::size_t b, const Activations& x, std::uint32_t first,
                     float (*sums)[16]) noexcept {
  constexpr std::size_t kGroups = 64 / K::kRuns;
  const std::size_t blocks = x.cols / kWideGroup;
  const std::int8_t* q[kColumns];
  I32 total[kColumns];
  unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
    q[c] = x.wide_q + ((first + c) * blocks + b) * kWideGroup;
    total[c] = splat_i32(0);
  });
  for (std::size_t run = 0; run < K::kRuns; ++run) {
    I32 products[kColumns];
    unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED { products[c] = splat_i32(0); });
    for (std::size_t g = run * kGroups; g < (run + 1) * kGroups; ++g) {
      const I8x64 w = load_i8x64(panel.integers[g]);
      unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
        const I8x64 activations = splat_i8x4(q[c] + 4 * g);
        products[c] = K::kHasOffset ? dot4_unsigned(products[c], w, activations) : dot4(products[c], w, activations);
      });
    }
    const I32 factor = load_i32(panel.factor[run]);
    unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED { total[c] = iadd(total[c], imul(products[c], factor)); });
  }
  unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
    const std::size_t at = (first + c) * blocks + b;
    const F32 d = splat(x.wide_d[at]);
    F32 acc = fma(load(panel.d) * d, to_f32(total[c]), load(sums[c]));
    if constexpr (K::kHasOffset) {
      I32 offset = splat_i32(0);
      for (std::size_t j = 0; j < 8; ++j)
        offset = iadd(offset, imul(load_i32(panel.offset[j]), splat_i32(x.wide_sum[at * (kWideGroup / kGroup) + j])));
      acc = fma(-load(panel.m) * d, to_f32(offset), acc);
    }
    store(sums[c], acc);
  });
}

/// What k_rows computes, for activation rows first_row..first_row+count-1, at most kPanelRows.
template <class K>
void k_panel_rows(K type, const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x,
                  std::uint32_t first_row, std::uint32_t count, float* y, std::uint64_t stride) noexcept {
  const std::size_t blocks = x.cols / kWideGroup;
  KPanel<K> panel;
  alignas(64) float sums[kPanelRows][16];
  for (std::uint32_t n = first; n < last; n += 16) {
    const std::byte* rows[16];
    for (std::uint32_t r = 0; r < 16; ++r) rows[r] = w.row(n + r < last ? n + r : last - 1);
    for (std::uint32_t i = 0; i < count; ++i) store(sums[i], splat(0.0f));
    for (std::size_t b = 0; b < blocks; ++b) {
      fill_k_panel(type, rows, b * type.bytes(), panel);
      std::uint32_t t = 0;
      for (; t + kPanelColumns <= count; t += kPanelColumns)
        k_panel_columns<kPanelColumns>(panel, b, x, first_row + t, sums + t);
      for (; t < count; ++t) k_panel_columns<1>(panel, b, x, first_row + t, sums + t);
    }
    const std::size_t valid = last - n < 16 ? last - n : 16;
    for (std::uint32_t i = 0; i < count; ++i)
      store_first(y + (first_row + i) * stride + (n - first), load(sums[i]), valid);
  }
}

/// Weight rows times rounded activations in the order blocks.
template <class K>
void k_products(K type, const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                std::uint64_t stride) noexcept {
  if (x.rows < kPanelFrom) return k_rows(type, w, first, last, x, y, stride);
  for (std::uint32_t t = 0; t < x.rows; t += kPanelRows)
    k_panel_rows(type, w, first, last, x, t, x.rows - t < kPanelRows ? x.rows - t : kPanelRows, y, stride);
}

#endif
