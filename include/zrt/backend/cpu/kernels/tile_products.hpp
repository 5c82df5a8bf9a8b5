// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/tile_products.hpp: packed weights times rounded activations in AMX tiles, with the bits of the
// order blocks.
//
// A tile is sixteen weight rows by up to sixteen activation rows, and its sums are exact. Blocks of 256 with integer
// factors need one sum each: the factors are multiplied into the weights, as two bytes, when a panel is unpacked. Blocks
// of 32 need a sum and a step of the chain each; those steps take vectors, which are slow between tile instructions, so
// the sums of a few blocks are taken first.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_TILE_PRODUCTS)
#define ZRT_BACKEND_CPU_KERNELS_TILE_PRODUCTS

#include <zrt/backend/cpu/kernels/packed_products.hpp>
#include <zrt/backend/cpu/simd/tiles.hpp>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/tile_products.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)
#if ZRT_VARIANT == 4

/// Whether these activation rows take less time in tiles: not a few, whose codes vectors read without a panel, nor runs of
/// sixteen, whose tiles would be a quarter full. Blocks of 256 take longest to unpack for tiles, most of all with offsets.
[[nodiscard]] inline bool prefers_tiles(const PackedForm& form, std::uint32_t rows) noexcept {
  if (form.part == 0) return form.run != 16 && rows >= 12;
  return rows >= (form.has_offset ? 24 : 16);
}

/// Activation rows that meet a panel: more take their sums out of the first-level cache, and twice the stack.
inline constexpr std::uint32_t kTiledRows = 256;

/// Activations that meet one panel after the other: more would not stay in the second-level cache.
inline constexpr std::uint32_t kTiledElems = 512 * 1024;

/// A tile's sums, as it is stored.
using TileSums = std::int32_t[kMostTileRows][16];

/// Activation rows in tiles of one height. The last may repeat rows of the one before it.
struct RowTiles {
  explicit RowTiles(std::uint32_t count) noexcept
      : rows(count), tiles((count + kMostTileRows - 1) / kMostTileRows), height((count + tiles - 1) / tiles) {}

  /// The first row of a tile, and how many of its rows are not its own.
  [[nodiscard]] std::uint32_t first(std::uint32_t tile) const noexcept {
    const std::uint32_t at = tile * height;
    return at + height <= rows ? at : rows - height;
  }
  [[nodiscard]] std::uint32_t repeated(std::uint32_t tile) const noexcept { return tile * height - first(tile); }

  std::uint32_t rows;
  std::uint32_t tiles;
  std::uint32_t height;
};

// Registers: activations in 0, weights in 1, sums from 2 on.

/// One block of 256 of two groups: weights times their factors, and pairs of factors of the offsets.
struct PartTilePanel {
  static constexpr std::size_t kChunks = 4;  ///< of 64 elements

  alignas(64) std::byte low[2][kChunks][1024];
  alignas(64) std::byte high[2][kChunks][1024];
  alignas(64) std::int32_t offset_pairs[2][8][16];  ///< pair_of factors of offsets
  alignas(64) float scales[2][16];
  alignas(64) float offsets[2][16];

  [[nodiscard]] ZRT_ALWAYS_INLINE I32 offset_pair(std::size_t g, std::size_t j) const noexcept {
    return load_i32(offset_pairs[g][j]);
  }
};

/// A signed byte of each row in both halves of its lane.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 repeat_halves(I32 rows) noexcept {
  return ior(iand(rows, splat_i32(0xffff)), shift_left<16>(rows));
}

inline void fill_part_tiles(const PackedForm& form, const std::byte* block, const std::byte* ahead,
                            const CodeReader& read, std::size_t g, PartTilePanel& panel) noexcept {
  const I32 lowest = repeat_halves(splat_i32(lowest_of(form)));
  const PartFactors<true> factors{form, block};
  const std::size_t words = form.part / 4;  // of 64 bytes
  alignas(64) std::byte codes[1024];
  for (std::size_t chunk = 0; chunk < PartTilePanel::kChunks; ++chunk) {
    fetch(ahead + chunk * form.block_bytes() / 4, form.block_bytes() / 4);
    read(block + 2 * chunk * form.code_bytes(), form.code_bytes(), 2, codes);
    for (std::size_t word = 0; word < 16; word += words) {
      const std::size_t part = (16 * chunk + word) / words;
      const I32 factor = repeat_halves(factors.of_part(part));
      for (std::size_t i = word; i < word + words; ++i) {
        const SplitBytes product = multiply_bytes(load_i32(codes + 64 * i), lowest, factor);
        store_i32(panel.low[g][chunk] + 64 * i, product.low);
        store_i32(panel.high[g][chunk] + 64 * i, product.high);
      }
    }
  }
  store(panel.scales[g], load_scales(form.scale, block + form.scales_at()));
  if (!form.has_offset) return;
  for (std::size_t j = 0; j < 128 / form.part; ++j) store_i32(panel.offset_pairs[g][j], factors.of_offsets(j));
  store(panel.offsets[g], load_scales(form.scale, block + form.offsets_at()));
}

/// The registers of a group's sums.
template <std::size_t kGroup> struct PartSums {
  static constexpr int kLow = 2 + 2 * static_cast<int>(kGroup);
  static constexpr int kHigh = kLow + 1;
};
/// The stored sums of a tile's groups.
struct PartTileSums {
  alignas(64) TileSums low[2];
  alignas(64) TileSums high[2];
};

/// Adds the products of 64 elements of one group.
template <std::size_t kGroup> ZRT_ALWAYS_INLINE void part_dots(const PartTilePanel& panel, std::size_t chunk) noexcept {
  using Sums = PartSums<kGroup>;
  tile_load<1>(panel.low[kGroup][chunk], kTileRowBytes);
  tile_dot<Sums::kLow, 0, 1>();
  tile_load<1>(panel.high[kGroup][chunk], kTileRowBytes);
  tile_dot<Sums::kHigh, 0, 1>();
}
template <std::size_t kGroup> ZRT_ALWAYS_INLINE void zero_part_sums() noexcept {
  tile_zero<PartSums<kGroup>::kLow>();
  tile_zero<PartSums<kGroup>::kHigh>();
}
template <std::size_t kGroup> ZRT_ALWAYS_INLINE void store_part_sums(PartTileSums& to) noexcept {
  tile_store<PartSums<kGroup>::kLow>(to.low[kGroup]);
  tile_store<PartSums<kGroup>::kHigh>(to.high[kGroup]);
}

/// What the steps of a block's chains read of the activation rows of a tile.
struct PartSteps {
  const float* d;           ///< [row][blocks of a row]
  const std::int32_t* sum;  ///< [row][blocks of a row][parts] sums of a part's integers
  std::size_t blocks;       ///< of a row
  std::size_t parts;
};

/// A row's sums of parts times the factors of their offsets.
template <std::size_t kPairs>
ZRT_ALWAYS_INLINE void offset_sums(const PartTilePanel& panel, const std::int32_t* sum,
                                   I32 (&offsets)[kTileGroups]) noexcept {
  ZRT_UNROLL (g, kTileGroups) offsets[g] = splat_i32(0);
  ZRT_UNROLL (j, kPairs) {
    const I32 pair = splat_sums(sum + 2 * j);
    ZRT_UNROLL (g, kTileGroups) offsets[g] = dot2(offsets[g], panel.offset_pair(g, j), pair);
  }
}

/// Advances the chains of rows from..to-1 of a tile.
template <bool kOffset>
ZRT_ALWAYS_INLINE void part_steps(const PartTilePanel& panel, const PartTileSums& tile, std::uint32_t from,
                                  std::uint32_t to, const PartSteps& x, float (*const (&sums)[2])[16]) noexcept {
  for (std::uint32_t r = from; r < to; ++r) {
    const F32 of_row = splat(x.d[r * x.blocks]);
    I32 offsets[kTileGroups];
    if constexpr (kOffset) {
      const std::int32_t* const sum = x.sum + r * x.blocks * x.parts;
      x.parts == 8 ? offset_sums<4>(panel, sum, offsets) : offset_sums<8>(panel, sum, offsets);
    }
    ZRT_UNROLL (g, kTileGroups) {
      const I32 total = iadd(load_i32(tile.low[g][r]), shift_left<8>(load_i32(tile.high[g][r])));
      F32 acc = fma(load(panel.scales[g]) * of_row, to_f32(total), load(sums[g][r]));
      if constexpr (kOffset) acc = fma(load(panel.offsets[g]) * of_row, to_f32(offsets[g]), acc);
      store(sums[g][r], acc);
    }
  }
}

/// Sums of a panel's rows: [group][activation row][16].
using TiledSums = float (*)[kTiledRows][16];

/// Products of block `b` with activation rows first..first+tiles.rows-1. The chains of a tile advance between the
/// products of the next one.
template <bool kOffset>
void part_tiles(const PartTilePanel& panel, std::size_t parts, std::size_t b, const Activations& x, std::uint32_t first,
                const RowTiles& tiles, TiledSums sums) noexcept {
  const std::size_t blocks = x.cols / kWideGroup;
  const std::int8_t* const q = x.wide_q + std::uint64_t{first} * x.cols + b * kWideGroup;
  const std::int32_t* const part_sums = parts == 8 ? x.wide_sum : x.wide_half_sum;
  PartTileSums stored;
  constexpr auto kChunks = static_cast<std::uint32_t>(PartTilePanel::kChunks);
  const std::uint32_t share = (tiles.height + kChunks - 1) / kChunks;
  const auto advance = [&](std::uint32_t tile, std::uint32_t chunk) ZRT_UNROLLED {
    const std::uint32_t row = tiles.first(tile);
    const std::uint32_t repeated = tiles.repeated(tile);
    const std::uint32_t from = chunk * share < repeated ? repeated : chunk * share;
    const std::uint32_t to = (chunk + 1) * share < tiles.height ? (chunk + 1) * share : tiles.height;
    float(*const at[2])[16]{sums[0] + row, sums[1] + row};
    const std::uint64_t block = (std::uint64_t{first} + row) * blocks + b;
    const PartSteps of_rows{x.wide_d + block, part_sums + block * parts, blocks, parts};
    part_steps<kOffset>(panel, stored, from, to, of_rows, at);
  };
  for (std::uint32_t tile = 0; tile < tiles.tiles; ++tile) {
    zero_part_sums<0>();
    zero_part_sums<1>();
    for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      tile_load<0>(q + std::uint64_t{tiles.first(tile)} * x.cols + 64 * chunk, x.cols);
      part_dots<0>(panel, chunk);
      part_dots<1>(panel, chunk);
      if (tile != 0) advance(tile - 1, chunk);
    }
    store_part_sums<0>(stored);
    store_part_sums<1>(stored);
  }
  for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) advance(tiles.tiles - 1, chunk);
}

inline void part_tile_products(const PackedWeight& w, const std::byte* const* group, const Activations& x,
                               AxisPart axis, std::uint32_t first, const RowTiles& tiles, const CodeReader& read,
                               TiledSums sums) noexcept {
  TileSizes sizes;
  sizes.set(0, tiles.height, kTileRowBytes);
  sizes.set(1, kMostTileRows, kTileRowBytes);
  for (std::size_t i = 2; i < 6; ++i) sizes.set(i, tiles.height, kTileRowBytes);
  const Tiles registers(sizes);
  PartTilePanel panel;
  const std::size_t stride = w.form->block_bytes();
  const std::size_t parts = kWideGroup / w.form->part;
  for (std::size_t b = axis.first / kWideGroup; b < axis.last / kWideGroup; ++b) {
    for (std::size_t g = 0; g < kTileGroups; ++g)
      fill_part_tiles(*w.form, group[g] + b * stride, next_of<kTileGroups>(w, group[g], b * stride + kFetchAhead), read,
                      g, panel);
    if (w.form->has_offset)
      part_tiles<true>(panel, parts, b, x, first, tiles, sums);
    else
      part_tiles<false>(panel, parts, b, x, first, tiles, sums);
  }
}

/// A stretch of blocks of two groups: signed bytes.
struct RunTilePanel {
  static constexpr std::size_t kBlocks = 8;

  alignas(64) std::byte integers[2][kBlocks][512];
  alignas(64) float scales[2][kBlocks][16];
  alignas(64) float offsets[2][kBlocks][16];
};

inline void fill_run_tiles(const PackedForm& form, const std::byte* block, std::size_t count, const CodeReader& read,
                           std::size_t g, RunTilePanel& panel) noexcept {
  const std::size_t stride = form.block_bytes();
  read(block, stride, count, panel.integers[g][0]);
  const I32 lowest = splat_u8(static_cast<std::uint32_t>(lowest_of(form)) & 0xff);
  for (std::size_t b = 0; b < count; ++b, block += stride) {
    ZRT_UNROLL (i, 8) {
      std::byte* const word = panel.integers[g][b] + 64 * i;
      store_i32(word, add_to_bytes(load_i32(word), lowest));
    }
    store(panel.scales[g][b], load_scales(form.scale, block + form.scales_at()));
    if (form.has_offset) store(panel.offsets[g][b], load_scales(form.scale, block + form.offsets_at()));
  }
}

/// Stores the sums of `count` blocks of group g with one tile of rows. One block's products are taken while the sums of
/// the one before are stored.
ZRT_ALWAYS_INLINE void run_dots(const RunTilePanel& panel, std::size_t g, std::size_t count, const std::int8_t* q,
                                std::size_t stride, TileSums* to) noexcept {
  const auto products = [&](auto sums, std::size_t b) ZRT_UNROLLED {
    constexpr int kSums = sums.value;
    tile_load<0>(q + b * kGroup, stride);
    tile_load<1>(panel.integers[g][b], kTileRowBytes);
    tile_zero<kSums>();
    tile_dot<kSums, 0, 1>();
  };
  constexpr std::integral_constant<int, 2> kEven{};
  constexpr std::integral_constant<int, 3> kOdd{};
  products(kEven, 0);
  std::size_t b = 1;
  for (; b + 1 < count; b += 2) {
    products(kOdd, b);
    tile_store<kEven.value>(to[b - 1]);
    products(kEven, b + 1);
    tile_store<kOdd.value>(to[b]);
  }
  if (b < count) products(kOdd, b);
  tile_store<kEven.value>(to[b - 1]);
  if (b < count) tile_store<kOdd.value>(to[b]);
}

/// What the steps of one group's chains read: a stretch's sums, and the scales of its blocks and rows.
struct RunSteps {
  const RunTilePanel& panel;
  const TileSums* tile;
  std::size_t g;
  std::size_t count;        ///< blocks
  const float* d;           ///< [row][blocks of a row], at the first of the stretch
  const std::int32_t* sum;  ///< as d
  std::size_t blocks;       ///< of a row
};

/// Advances kRows chains from row `from` of a tile.
template <std::size_t kRows, bool kOffset>
ZRT_ALWAYS_INLINE void run_steps(const RunSteps& s, std::uint32_t from, float (*sums)[16]) noexcept {
  F32 acc[kRows];
  ZRT_UNROLL (r, kRows) acc[r] = load(sums[from + r]);
  for (std::size_t b = 0; b < s.count; ++b) {
    const F32 scale = load(s.panel.scales[s.g][b]);
    ZRT_UNROLL (r, kRows) {
      const F32 of_row = splat(s.d[(from + r) * s.blocks + b]);
      acc[r] = fma(scale * of_row, to_f32(load_i32(s.tile[b][from + r])), acc[r]);
    }
    if constexpr (kOffset)
      ZRT_UNROLL (r, kRows) {
        const std::size_t at = (from + r) * s.blocks + b;
        acc[r] = fma(load(s.panel.offsets[s.g][b]) * splat(s.d[at]), splat(static_cast<float>(s.sum[at])), acc[r]);
      }
  }
  ZRT_UNROLL (r, kRows) store(sums[from + r], acc[r]);
}

template <bool kOffset>
void run_tiles(const RunTilePanel& panel, std::size_t from, std::size_t count, const Activations& x,
               std::uint32_t first, const RowTiles& tiles, TiledSums sums) noexcept {
  const std::size_t blocks = x.cols / kGroup;
  alignas(64) TileSums stored[RunTilePanel::kBlocks];
  for (std::uint32_t tile = 0; tile < tiles.tiles; ++tile) {
    const std::uint64_t row = std::uint64_t{first} + tiles.first(tile);
    for (std::size_t g = 0; g < kTileGroups; ++g) {
      run_dots(panel, g, count, x.q + row * x.cols + from * kGroup, x.cols, stored);
      const std::uint64_t at = row * blocks + from;
      const RunSteps steps{panel, stored, g, count, x.d + at, x.sum + at, blocks};
      float(*const to)[16] = sums[g] + tiles.first(tile);
      std::uint32_t r = tiles.repeated(tile);
      if (r == 0 && tiles.height == kMostTileRows) {
        run_steps<16, kOffset>(steps, 0, to);
        continue;
      }
      for (; r + 4 <= tiles.height; r += 4) run_steps<4, kOffset>(steps, r, to);
      for (; r < tiles.height; ++r) run_steps<1, kOffset>(steps, r, to);
    }
  }
}

inline void run_tile_products(const PackedWeight& w, const std::byte* const* group, const Activations& x, AxisPart axis,
                              std::uint32_t first, const RowTiles& tiles, const CodeReader& read,
                              TiledSums sums) noexcept {
  TileSizes sizes;
  sizes.set(0, tiles.height, kGroup);
  sizes.set(1, kGroup / 4, kTileRowBytes);
  for (std::size_t i = 2; i < 4; ++i) sizes.set(i, tiles.height, kTileRowBytes);
  const Tiles registers(sizes);
  RunTilePanel panel;
  const std::size_t blocks = axis.last / kGroup;
  const std::size_t stride = w.form->block_bytes();
  for (std::size_t from = axis.first / kGroup; from < blocks; from += RunTilePanel::kBlocks) {
    const std::size_t count = blocks - from < RunTilePanel::kBlocks ? blocks - from : RunTilePanel::kBlocks;
    for (std::size_t g = 0; g < kTileGroups; ++g) {
      fetch(next_of<kTileGroups>(w, group[g], from * stride + kFetchAhead), count * stride);
      fill_run_tiles(*w.form, group[g] + from * stride, count, read, g, panel);
    }
    if (w.form->has_offset)
      run_tiles<true>(panel, from, count, x, first, tiles, sums);
    else
      run_tiles<false>(panel, from, count, x, first, tiles, sums);
  }
}

template <PackedForms kForms>
void group_tile_products(const PackedWeight& w, const std::byte* const* group, const Activations& x, AxisPart axis,
                         std::uint32_t first, const RowTiles& tiles, const CodeReader& read, TiledSums sums) noexcept {
  if constexpr ((kForms.part_16 | kForms.part_32) != 0)
    if (w.form->part != 0) return part_tile_products(w, group, x, axis, first, tiles, read, sums);
  if constexpr (kForms.run_32 != 0)
    if (w.form->part == 0) return run_tile_products(w, group, x, axis, first, tiles, read, sums);
}

/// packed_products, with tiles where they take less time.
template <PackedForms kForms>
void tile_products(const PackedWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                   std::uint64_t stride) noexcept {
  if (!prefers_tiles(*w.form, x.rows)) return packed_products<kForms>(w, first, last, x, y, stride);
  const CodeReader read = code_reader<kForms>(*w.form);
  for (std::uint32_t t = 0; t < x.rows; t += kTiledRows) {
    const RowTiles tiles(x.rows - t < kTiledRows ? x.rows - t : kTiledRows);
    multiply_by_parts<kTileGroups, kTiledRows, kTiledElems>(
        w, first, last, x.cols, tiles.rows, y + t * stride, stride,
        [&](const std::byte* const* group, AxisPart axis, TiledSums sums)
            ZRT_UNROLLED { group_tile_products<kForms>(w, group, x, axis, t, tiles, read, sums); });
  }
}

#endif
#endif
