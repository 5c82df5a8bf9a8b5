// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/packed_products.hpp: packed weights times rounded activations in the order blocks.
//
// Sixteen weight rows are the lanes. A stretch of one or two groups is unpacked into a panel in the first-level cache,
// which then meets all activation rows, a tile of them at a time: a load of weights serves a column of the tile, a load
// of activations its groups. One chain per output runs through all stretches.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_PACKED_PRODUCTS)
#define ZRT_BACKEND_CPU_KERNELS_PACKED_PRODUCTS

#include <zrt/backend/cpu/kernels/few_rows.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/packed_products.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// A stretch of one or two groups, unpacked.
struct RunPanel {
  static constexpr std::size_t kBlocks = 16;
  static constexpr std::size_t kFewBlocks = 4;  ///< of a stretch that meets few rows

  alignas(64) std::byte integers[kTileGroups][kBlocks][512];
  alignas(64) float scales[kTileGroups][kBlocks * 2][16];
  alignas(64) float offsets[kTileGroups][kBlocks * 2][16];

  ZRT_ALWAYS_INLINE static void reach(std::size_t /*block*/) noexcept {}
  [[nodiscard]] ZRT_ALWAYS_INLINE ByteWords words(std::size_t g, std::size_t b) const noexcept {
    return {integers[g][b]};
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 scale(std::size_t g, std::size_t i) const noexcept { return load(scales[g][i]); }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 offset(std::size_t g, std::size_t i) const noexcept {
    return load(offsets[g][i]);
  }
};

/// Blocks from..from+count-1 of one group.
inline void fill_run_panel(const PackedWeight& w, const std::byte* group, std::size_t from, std::size_t count,
                           const CodeReader& read, std::size_t g, RunPanel& panel) noexcept {
  const PackedForm& form = *w.form;
  const std::size_t stride = form.block_bytes();
  const std::byte* block = group + from * stride;
  read(block, stride, count, panel.integers[g][0]);
  const std::size_t runs = kPackedElems / form.run;
  for (std::size_t b = 0; b < count; ++b, block += stride)
    for (std::size_t i = 0; i < runs; ++i) {
      const std::size_t at = i * form.scale_bytes();
      store(panel.scales[g][b * runs + i], load_scales(form.scale, block + form.scales_at() + at));
      if (form.has_offset)
        store(panel.offsets[g][b * runs + i], load_scales(form.scale, block + form.offsets_at() + at));
    }
}

/// One block of 256 of one or two groups.
struct PartPanel {
  alignas(64) std::byte integers[kTileGroups][8][512];
  alignas(64) std::int32_t factors[kTileGroups][16][16];
  alignas(64) std::int32_t offset_pairs[kTileGroups][8][16];  ///< pair_of factors of offsets
  alignas(64) float scales[kTileGroups][16];
  alignas(64) float offsets[kTileGroups][16];

  /// Those of one of the eight times 32 elements.
  [[nodiscard]] ZRT_ALWAYS_INLINE ByteWords words(std::size_t g, std::size_t elems) const noexcept {
    return {integers[g][elems]};
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE I32 factor(std::size_t g, std::size_t j) const noexcept {
    return load_i32(factors[g][j]);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE I32 offset_pair(std::size_t g, std::size_t j) const noexcept {
    return load_i32(offset_pairs[g][j]);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 scale(std::size_t g) const noexcept { return load(scales[g]); }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 offset(std::size_t g) const noexcept { return load(offsets[g]); }
};

inline void fill_part_panel(const PackedWeight& w, const std::byte* block, const std::byte* ahead,
                            const CodeReader& read, std::size_t g, PartPanel& panel) noexcept {
  const PackedForm& form = *w.form;
  const std::size_t share = form.block_bytes() / 4;
  for (std::size_t i = 0; i < 4; ++i) {
    fetch(ahead + i * share, share);
    read(block + 2 * i * form.code_bytes(), form.code_bytes(), 2, panel.integers[g][2 * i]);
  }
  const PartFactors<true> factors{form, block};
  const std::size_t parts = 256 / form.part;
  for (std::size_t j = 0; j < parts; ++j) store_i32(panel.factors[g][j], factors.of_products(j));
  store(panel.scales[g], load_scales(form.scale, block + form.scales_at()));
  if (!form.has_offset) return;
  for (std::size_t j = 0; j < parts / 2; ++j) store_i32(panel.offset_pairs[g][j], factors.of_offsets(j));
  store(panel.offsets[g], load_scales(form.scale, block + form.offsets_at()));
}

template <std::size_t kRuns, Codes kCodes>
void run_products(const PackedWeight& w, const std::byte* const* group, const Activations& x, AxisPart axis,
                  std::uint32_t first, std::uint32_t rows, const CodeReader& read, PanelSums sums) noexcept {
  RunPanel panel;
  const std::size_t blocks = axis.last / kGroup;
  const std::size_t stride = w.form->block_bytes();
  // Few rows wait for memory: what is fetched ahead is spread out.
  const std::size_t stretch = rows < kTileColumns * 2 ? RunPanel::kFewBlocks : RunPanel::kBlocks;
  for (std::size_t from = axis.first / kGroup; from < blocks; from += stretch) {
    const std::size_t count = blocks - from < stretch ? blocks - from : stretch;
    for (std::size_t g = 0; g < kTileGroups; ++g) {
      fetch(next_of<kTileGroups>(w, group[g], from * stride + kFetchAhead), count * stride);
      fill_run_panel(w, group[g], from, count, read, g, panel);
    }
    each_tile(rows, [&](auto columns, std::uint32_t row) ZRT_UNROLLED {
      run_tile<kTileGroups, columns.value, kRuns, kCodes>(*w.form, panel, from, count, x, first, row, sums);
    });
  }
}

template <std::size_t kParts, Codes kCodes>
void part_products(const PackedWeight& w, const std::byte* const* group, const Activations& x, AxisPart axis,
                   std::uint32_t first, std::uint32_t rows, const CodeReader& read, PanelSums sums) noexcept {
  PartPanel panel;
  const std::size_t stride = w.form->block_bytes();
  for (std::size_t b = axis.first / kWideGroup; b < axis.last / kWideGroup; ++b) {
    for (std::size_t g = 0; g < kTileGroups; ++g)
      fill_part_panel(w, group[g] + b * stride, next_of<kTileGroups>(w, group[g], b * stride + kFetchAhead), read, g,
                      panel);
    each_tile(rows, [&](auto columns, std::uint32_t row) ZRT_UNROLLED {
      part_tile<kTileGroups, columns.value, kParts, kCodes>(*w.form, panel, b, x, first, row, sums);
    });
  }
}

/// Products of a tile's groups, whose panels have such codes, with activation rows first..first+rows-1. The weight's form
/// is one of kForms.
template <Codes kCodes, PackedForms kForms>
void panel_products(const PackedWeight& w, const std::byte* const* group, const Activations& x, AxisPart axis,
                    std::uint32_t first, std::uint32_t rows, const CodeReader& read, PanelSums sums) noexcept {
  const PackedForm& form = *w.form;
  if constexpr (kForms.part_16 != 0)
    if (form.part == 16) return part_products<16, kCodes>(w, group, x, axis, first, rows, read, sums);
  if constexpr (kForms.part_32 != 0)
    if (form.part == 32) return part_products<8, kCodes>(w, group, x, axis, first, rows, read, sums);
  if constexpr (kForms.run_16 != 0)
    if (form.part == 0 && form.run == 16) return run_products<2, kCodes>(w, group, x, axis, first, rows, read, sums);
  if constexpr (kForms.run_32 != 0)
    if (form.part == 0 && form.run == 32) return run_products<1, kCodes>(w, group, x, axis, first, rows, read, sums);
}

/// Those of kForms whose codes products know as kCodes.
template <PackedForms kForms, Codes kCodes> [[nodiscard]] consteval PackedForms forms_of() noexcept {
  const auto known = [](std::uint32_t set, bool parts) {
    std::uint32_t found = 0;
    for (int bits = 1; bits <= 8; ++bits)
      for (const bool levels : {false, true})
        if (has_codes(set, bits, levels) && codes_of(bits, levels, parts) == kCodes) found |= code_set(bits, levels);
    return found;
  };
  return {known(kForms.run_16, false), known(kForms.run_32, false), known(kForms.part_16, true),
          known(kForms.part_32, true)};
}

/// Products of a tile's groups with activation rows first..first+rows-1.
template <PackedForms kForms>
void group_products(const PackedWeight& w, const std::byte* const* group, const Activations& x, AxisPart axis,
                    std::uint32_t first, std::uint32_t rows, const CodeReader& read, PanelSums sums) noexcept {
#if ZRT_VARIANT != 1
  if (few_products<kForms>(w, group, x, axis, first, rows, read, sums)) return;
#endif
  if constexpr (kIsa == Isa::v3) {
    const Codes codes = codes_of(static_cast<int>(w.form->bits), w.form->levels != nullptr, w.form->part != 0);
    if (codes == Codes::of_six)
      return panel_products<Codes::of_six, forms_of<kForms, Codes::of_six>()>(w, group, x, axis, first, rows, read,
                                                                              sums);
    if (codes == Codes::of_five)
      return panel_products<Codes::of_five, forms_of<kForms, Codes::of_five>()>(w, group, x, axis, first, rows, read,
                                                                                sums);
  }
  panel_products<Codes::any, forms_of<kForms, Codes::any>()>(w, group, x, axis, first, rows, read, sums);
}

/// Stores the sums of `rows` activation rows and of the weight rows from `from` on that are below `last`.
template <std::size_t kRows>
void store_group_sums(const float (*sums)[kRows][16], std::size_t groups, std::uint32_t from, std::uint32_t last,
                      std::uint32_t rows, float* y, std::uint64_t stride) noexcept {
  for (std::size_t g = 0; g < groups; ++g, from += kPackedRows, y += kPackedRows) {
    const std::size_t valid = last - from < kPackedRows ? last - from : kPackedRows;
    for (std::uint32_t i = 0; i < rows; ++i) store_first(y + i * stride, load(sums[g][i]), valid);
  }
}
/// Loads what store_group_sums stored.
template <std::size_t kRows>
void load_group_sums(float (*sums)[kRows][16], std::size_t groups, std::uint32_t from, std::uint32_t last,
                     std::uint32_t rows, const float* y, std::uint64_t stride) noexcept {
  for (std::size_t g = 0; g < groups; ++g, from += kPackedRows, y += kPackedRows) {
    const std::size_t valid = last - from < kPackedRows ? last - from : kPackedRows;
    for (std::uint32_t i = 0; i < rows; ++i) store(sums[g][i], load_first(y + i * stride, valid));
  }
}

/// Computes y[t · stride + n - first] for weight rows n in first..last-1, where first begins a group, and `rows` activation
/// rows, kRows at most, over parts of the axis for which kElems activations fit the second-level cache. Chains over a part
/// end in `y` and go on from there. products(group, axis, sums) advances those of kGroups groups; one without another
/// stands beside itself.
template <std::size_t kGroups, std::uint32_t kRows, std::uint32_t kElems, class F>
ZRT_ALWAYS_INLINE void multiply_by_parts(const PackedWeight& w, std::uint32_t first, std::uint32_t last,
                                         std::uint32_t cols, std::uint32_t rows, float* y, std::uint64_t stride,
                                         F&& products) noexcept {
  static_assert(kElems / kRows >= kWideGroup);
  alignas(64) float sums[kGroups][kRows][16];
  const std::uint32_t depth = kElems / rows / kWideGroup * kWideGroup;
  std::uint32_t k = 0;
  do {  // once where the axis is empty: its sums are zeros
    const AxisPart axis{k, cols - k < depth ? cols : k + depth};
    for (std::uint32_t n = first; n < last; n += kGroups * kPackedRows) {
      const std::size_t groups = last - n > kPackedRows ? kGroups : 1;
      const std::byte* group[kGroups];
      for (std::size_t g = 0; g < kGroups; ++g) {
        group[g] = w.group(g < groups ? n + static_cast<std::uint32_t>(g) * kPackedRows : n);
        for (std::uint32_t i = 0; i < rows; ++i) store(sums[g][i], splat(0.0f));
      }
      float* const to = y + (n - first);
      if (k != 0) load_group_sums(sums, groups, n, last, rows, to, stride);
      products(group, axis, sums);
      store_group_sums(sums, groups, n, last, rows, to, stride);
    }
    k = axis.last;
  } while (k < cols);
}

/// Activations that meet one panel after the other: more would not stay in the second-level cache.
inline constexpr std::uint32_t kPanelElems = 256 * 1024;

/// Computes y[t · stride + n - first] for weight rows n in first..last-1, where first begins a group, and every row t.
template <PackedForms kForms>
void packed_products(const PackedWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                     std::uint64_t stride) noexcept {
  const CodeReader read = code_reader<kForms>(*w.form);
  for (std::uint32_t t = 0; t < x.rows; t += kPanelRows) {
    const std::uint32_t rows = x.rows - t < kPanelRows ? x.rows - t : kPanelRows;
    multiply_by_parts<kTileGroups, kPanelRows, kPanelElems>(
        w, first, last, x.cols, rows, y + t * stride, stride,
        [&](const std::byte* const* group, AxisPart axis, PanelSums sums)
            ZRT_UNROLLED { group_products<kForms>(w, group, x, axis, t, rows, read, sums); });
  }
}

#endif
