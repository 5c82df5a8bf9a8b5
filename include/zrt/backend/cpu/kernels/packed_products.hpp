// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/packed_products.hpp: packed weights times rounded activations in the order blocks.
//
// Sixteen weight rows are the lanes. A stretch of one or two groups is unpacked into a panel in the first-level cache,
// which then meets all activation rows, a tile of them at a time: a load of weights serves a column of the tile, a load
// of activations its groups. One chain per output runs through all stretches.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_PACKED_PRODUCTS)
#define ZRT_BACKEND_CPU_KERNELS_PACKED_PRODUCTS

#include <zrt/backend/cpu/kernels/planes.hpp>
#include <zrt/backend/cpu/weight_kernels.hpp>
#include <zrt/quant/layout.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/packed_products.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Groups and activation rows of a tile: as many chains as the registers hold.
inline constexpr std::size_t kTileGroups = kIsa == Isa::v4 ? 2 : 1;
inline constexpr std::size_t kTileColumns = kIsa == Isa::v1 ? 1 : 4;
/// Activation rows whose sums wait beside a panel.
inline constexpr std::uint32_t kPanelRows = 128;

/// Sums of a panel's rows: [group][activation row][16].
using PanelSums = float (*)[kPanelRows][16];

/// Words of bytes, as panels have them and packed codes of eight bits.
struct ByteWords {
  const std::byte* at;
  [[nodiscard]] ZRT_ALWAYS_INLINE I8x64 operator()(std::size_t i) const noexcept { return load_i8x64(at + 64 * i); }
};

#if ZRT_VARIANT == 3
/// Words whose products are added in 16 bits, each of which is of two products of a word: once 32,512, twice 16,002 or
/// four times 7,874.
[[nodiscard]] consteval std::size_t words_at_once(Codes codes) noexcept {
  return codes == Codes::any ? 1 : codes == Codes::of_six ? 2 : 4;
}

/// The eight words of packed codes of four bits.
struct NibbleWords {
  const std::byte* at;
  [[nodiscard]] ZRT_ALWAYS_INLINE I8x64 operator()(std::size_t i) const noexcept {
    const I32 bits = load_i32(at + 64 * (i % 4));
    const I32 words = iand(i < 4 ? bits : shift_right<4>(bits), splat_u8(15));
    return {words.low, words.high};
  }
};

/// The eight words of packed codes of two bits.
struct PairWords {
  const std::byte* at;
  [[nodiscard]] ZRT_ALWAYS_INLINE I8x64 operator()(std::size_t i) const noexcept {
    const I32 bits = load_i32(at + 64 * (i % 2));
    const I32 moved = i < 2 ? bits : i < 4 ? shift_right<2>(bits) : i < 6 ? shift_right<4>(bits) : shift_right<6>(bits);
    const I32 words = iand(moved, splat_u8(3));
    return {words.low, words.high};
  }
};

/// Calls add(g, c, pairs) for sums of the products of words word..word+kWords-1, four elements each, with activations
/// from word `x_word` on as their first.
template <std::size_t kGroups, std::size_t kColumns, std::size_t kWords, Codes kCodes, class Words, class F>
ZRT_ALWAYS_INLINE void tile_pairs(const Words (&w)[kGroups], const std::int8_t* const (&x)[kColumns], std::size_t word,
                                  std::size_t x_word, F&& add) noexcept {
  constexpr std::size_t kAtOnce = words_at_once(kCodes);
  unroll<kWords / kAtOnce>([&](std::size_t part) ZRT_UNROLLED {
    I16x32 pairs[kGroups][kColumns];
    unroll<kAtOnce>([&](std::size_t step) ZRT_UNROLLED {
      const std::size_t i = word + part * kAtOnce + step;
      unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED {
        const I8x64 weights = w[g](i);
        unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
          const I8x64 activations = splat_i8x4(x[c] + 4 * (x_word + i));
          const I16x32 products =
              kCodes == Codes::any ? pair_products(weights, activations) : pair_products_unsigned(weights, activations);
          pairs[g][c] = step == 0 ? products : add_pairs(pairs[g][c], products);
        });
      });
    });
    unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED {
      unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED { add(g, c, pairs[g][c]); });
    });
  });
}
#endif

/// Adds the products of words word..word+kWords-1, four elements each; word 0 meets word `x_word` of the activations.
template <std::size_t kGroups, std::size_t kColumns, std::size_t kWords, Codes kCodes, class Words>
ZRT_ALWAYS_INLINE void tile_sums(const Words (&w)[kGroups], const std::int8_t* const (&x)[kColumns], std::size_t word,
                                 std::size_t x_word, I32 (&sums)[kGroups][kColumns]) noexcept {
#if ZRT_VARIANT == 3
  const I16x32 ones = splat_i16(1);
  tile_pairs<kGroups, kColumns, kWords, kCodes>(w, x, word, x_word,
                                                [&](std::size_t g, std::size_t c, I16x32 pairs) ZRT_UNROLLED {
                                                  sums[g][c] = add_pair_products(sums[g][c], pairs, ones);
                                                });
#else
  unroll<kWords>([&](std::size_t step) ZRT_UNROLLED {
    const std::size_t i = word + step;
    I8x64 weights[kGroups];
    unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED { weights[g] = w[g](i); });
    unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
      const I8x64 activations = splat_i8x4(x[c] + 4 * (x_word + i));
      unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED {
        sums[g][c] = kByteBias != 0 ? dot4_unsigned(sums[g][c], weights[g], activations)
                                    : dot4(sums[g][c], weights[g], activations);
      });
    });
  });
#endif
}

/// How far ahead of what is read weights are fetched. The streams of two groups are more than the hardware follows past
/// the end of a page.
inline constexpr std::size_t kFetchAhead = 4608;
ZRT_ALWAYS_INLINE void fetch(const std::byte* at, std::size_t bytes) noexcept {
  for (std::size_t line = 0; line < bytes; line += 64) __builtin_prefetch(at + line, 0, 3);
}

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

/// Advances the chains of a tile over blocks from..from+count-1, whose panel has them in front. kRuns: of a block.
template <std::size_t kGroups, std::size_t kColumns, std::size_t kRuns, Codes kCodes, class Panel>
void run_tile(const PackedForm& form, const Panel& panel, std::size_t from, std::size_t count, const Activations& x,
              std::uint32_t first, std::uint32_t row, PanelSums to) noexcept {
  const std::uint64_t groups = x.cols / kGroup;
  const I32 lowest = splat_i32(lowest_of(form));
  const std::int8_t* q[kColumns];
  const float* d[kColumns];
  const std::int32_t* sum[kColumns];
  F32 acc[kGroups][kColumns];
  unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
    const std::uint64_t t = first + row + c;
    q[c] = x.q + t * x.cols + from * kGroup;
    d[c] = x.d + t * groups + from;
    sum[c] = (kRuns == 1 ? x.sum : x.half_sum) + (t * groups + from) * kRuns;
    unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED { acc[g][c] = load(to[g][row + c]); });
  });
  for (std::size_t b = 0; b < count; ++b) {
    using Words = decltype(panel.words(0, 0));
    Words w[kGroups];
    panel.reach(b);
    unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED { w[g] = panel.words(g, b); });
    unroll<kRuns>([&](std::size_t run) ZRT_UNROLLED {
      I32 sums[kGroups][kColumns];
      unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
        const I32 start = imul(lowest, splat_i32(sum[c][b * kRuns + run]));
        unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED { sums[g][c] = start; });
      });
      tile_sums<kGroups, kColumns, 8 / kRuns, kCodes>(w, q, run * (8 / kRuns), 0, sums);
      F32 scale[kGroups];
      unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED { scale[g] = panel.scale(g, b * kRuns + run); });
      unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
        const F32 of_row = splat(d[c][b]);
        unroll<kGroups>([&](std::size_t g)
                            ZRT_UNROLLED { acc[g][c] = fma(scale[g] * of_row, to_f32(sums[g][c]), acc[g][c]); });
      });
      if (form.has_offset)
        unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
          const F32 of_row = splat(d[c][b]);
          const F32 total = splat(static_cast<float>(sum[c][b * kRuns + run]));
          unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED {
            acc[g][c] = fma(panel.offset(g, b * kRuns + run) * of_row, total, acc[g][c]);
          });
        });
    });
    unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED { q[c] += kGroup; });
  }
  unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
    unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED { store(to[g][row + c], acc[g][c]); });
  });
}

/// One block of 256 of one or two groups.
struct PartPanel {
  alignas(64) std::byte integers[kTileGroups][8][512];
  alignas(64) std::int32_t factors[kTileGroups][16][16];
  alignas(64) std::int32_t offset_factors[kTileGroups][16][16];
  alignas(64) float scales[kTileGroups][16];
  alignas(64) float offsets[kTileGroups][16];

  /// The words from `word` on.
  [[nodiscard]] ZRT_ALWAYS_INLINE ByteWords words(std::size_t g, std::size_t word) const noexcept {
    const std::byte* const bytes = integers[g][0];
    return {bytes + 64 * word};
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE I32 factor(std::size_t g, std::size_t j) const noexcept {
    return load_i32(factors[g][j]);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE I32 offset_factor(std::size_t g, std::size_t j) const noexcept {
    return load_i32(offset_factors[g][j]);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 scale(std::size_t g) const noexcept { return load(scales[g]); }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 offset(std::size_t g) const noexcept { return load(offsets[g]); }
};

/// Factors as products take them: one for each of a pair in 16 bits with AVX2.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 panel_factors(const std::int8_t* factors) noexcept {
  const I32 f = load_i8(factors);
  return kIsa == Isa::v3 ? ior(iand(f, splat_i32(0xffff)), shift_left<16>(f)) : f;
}

inline void fill_part_panel(const PackedWeight& w, const std::byte* block, const std::byte* ahead,
                            const CodeReader& read, std::size_t g, PartPanel& panel) noexcept {
  const PackedForm& form = *w.form;
  const std::size_t share = form.block_bytes() / 4;
  for (std::size_t i = 0; i < 4; ++i) {
    fetch(ahead + i * share, share);
    read(block + 2 * i * form.code_bytes(), form.code_bytes(), 2, panel.integers[g][2 * i]);
  }
  const std::int8_t* factors = quant::signed_bytes(block + form.factors_at());
  const std::size_t parts = 256 / form.part;
  for (std::size_t j = 0; j < parts; ++j) store_i32(panel.factors[g][j], panel_factors(factors + 16 * j));
  store(panel.scales[g], load_scales(form.scale, block + form.scales_at()));
  if (!form.has_offset) return;
  for (std::size_t j = 0; j < parts; ++j)
    store_i32(panel.offset_factors[g][j], panel_factors(factors + form.factor_bytes() + 16 * j));
  store(panel.offsets[g], load_scales(form.scale, block + form.offsets_at()));
}

/// Adds the products of part `j` of a block, times its factors, to `total`; x_sum has the sums of activations.
template <std::size_t kGroups, std::size_t kColumns, std::size_t kParts, Codes kCodes, class Panel>
ZRT_ALWAYS_INLINE void add_part(const Panel& panel, std::size_t j, const std::int8_t* const (&q)[kColumns],
                                [[maybe_unused]] const std::int32_t* const (&x_sum)[kColumns],
                                [[maybe_unused]] I32 lowest, I32 (&total)[kGroups][kColumns]) noexcept {
  constexpr std::size_t kWords = 64 / kParts;
  using Words = decltype(panel.words(0, 0));
  Words w[kGroups];
  I32 factor[kGroups];
  unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED {
    w[g] = panel.words(g, j * kWords);
    factor[g] = panel.factor(g, j);
  });
#if ZRT_VARIANT == 3
  // A factor serves a pair of sums; the block as a whole gets its lowest value.
  tile_pairs<kGroups, kColumns, kWords, kCodes>(
      w, q, 0, j * kWords, [&](std::size_t g, std::size_t c, I16x32 pairs) ZRT_UNROLLED {
        total[g][c] = add_pair_products(total[g][c], pairs, as_pairs(factor[g]));
      });
#else
  I32 sums[kGroups][kColumns];
  unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
    const I32 start = imul(lowest, splat_i32(x_sum[c][j]));
    unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED { sums[g][c] = start; });
  });
  tile_sums<kGroups, kColumns, kWords, kCodes>(w, q, 0, j * kWords, sums);
  unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED {
    unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED { total[g][c] = iadd(total[g][c], imul(sums[g][c], factor[g])); });
  });
#endif
}

/// The sum of a row's sums of parts, times factor(j) as a panel has it.
template <std::size_t kParts, class F>
[[nodiscard]] ZRT_ALWAYS_INLINE I32 sum_of_parts(const std::int32_t* x_sum, F&& factor) noexcept {
  I32 sum = splat_i32(0);
  for (std::size_t j = 0; j < kParts; ++j)
#if ZRT_VARIANT == 3
    sum = add_pair_products(sum, as_pairs(factor(j)), as_pairs(splat_i32(x_sum[j] & 0xffff)));
#else
    sum = iadd(sum, imul(factor(j), splat_i32(x_sum[j])));
#endif
  return sum;
}

/// Advances the chains of a tile over block `b`. kParts: 8 or 16.
template <std::size_t kGroups, std::size_t kColumns, std::size_t kParts, Codes kCodes, class Panel>
void part_tile(const PackedForm& form, const Panel& panel, std::size_t b, const Activations& x, std::uint32_t first,
               std::uint32_t row, PanelSums to) noexcept {
  const std::size_t blocks = x.cols / kWideGroup;
  const I32 lowest = splat_i32(lowest_of(form));
  const std::int8_t* q[kColumns];
  const std::int32_t* sum[kColumns];
  I32 total[kGroups][kColumns];
  unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
    const std::uint64_t at = (std::uint64_t{first} + row + c) * blocks + b;
    q[c] = x.wide_q + at * kWideGroup;
    sum[c] = (kParts == 8 ? x.wide_sum : x.wide_half_sum) + at * kParts;
    unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED { total[g][c] = splat_i32(0); });
  });
  for (std::size_t j = 0; j < kParts; ++j) add_part<kGroups, kColumns, kParts, kCodes>(panel, j, q, sum, lowest, total);
  unroll<kColumns>([&](std::size_t c) ZRT_UNROLLED {
    const F32 d = splat(x.wide_d[(std::uint64_t{first} + row + c) * blocks + b]);
    unroll<kGroups>([&](std::size_t g) ZRT_UNROLLED {
#if ZRT_VARIANT == 3
      if (lowest_of(form) != 0)
        total[g][c] = iadd(
            total[g][c],
            imul(lowest, sum_of_parts<kParts>(sum[c], [&](std::size_t j) ZRT_UNROLLED { return panel.factor(g, j); })));
#endif
      F32 acc = fma(panel.scale(g) * d, to_f32(total[g][c]), load(to[g][row + c]));
      if (form.has_offset)
        acc = fma(
            panel.offset(g) * d,
            to_f32(sum_of_parts<kParts>(sum[c], [&](std::size_t j) ZRT_UNROLLED { return panel.offset_factor(g, j); })),
            acc);
      store(to[g][row + c], acc);
    });
  });
}

/// Calls tile(columns, row) for tiles that hold all rows; `columns` is a constant.
template <class F> ZRT_ALWAYS_INLINE void each_tile(std::uint32_t rows, F&& tile) noexcept {
  std::uint32_t row = 0;
  for (; row + kTileColumns <= rows; row += kTileColumns)
    tile(std::integral_constant<std::size_t, kTileColumns>{}, row);
  if constexpr (kTileColumns > 2)
    for (; row + 2 <= rows; row += 2) tile(std::integral_constant<std::size_t, 2>{}, row);
  for (; row < rows; ++row) tile(std::integral_constant<std::size_t, 1>{}, row);
}

/// What is read after byte `at` of a group: beyond its end, the group that takes its place in the next panel.
template <std::size_t kGroups>
[[nodiscard]] ZRT_ALWAYS_INLINE const std::byte* next_of(const PackedWeight& w, const std::byte* group,
                                                         std::size_t at) noexcept {
  return group + at + (at < w.group_bytes ? 0 : (kGroups - 1) * w.group_bytes);
}

template <std::size_t kGroups, std::size_t kRuns, Codes kCodes>
void run_products(const PackedWeight& w, const std::byte* const* group, const Activations& x, std::uint32_t first,
                  std::uint32_t rows, const CodeReader& read, PanelSums sums) noexcept {
  RunPanel panel;
  const std::size_t blocks = x.cols / kGroup;
  const std::size_t stride = w.form->block_bytes();
  // Few rows wait for memory: what is fetched ahead is spread out.
  const std::size_t stretch = rows < kTileColumns * 2 ? RunPanel::kFewBlocks : RunPanel::kBlocks;
  for (std::size_t from = 0; from < blocks; from += stretch) {
    const std::size_t count = blocks - from < stretch ? blocks - from : stretch;
    for (std::size_t g = 0; g < kGroups; ++g) {
      fetch(next_of<kGroups>(w, group[g], from * stride + kFetchAhead), count * stride);
      fill_run_panel(w, group[g], from, count, read, g, panel);
    }
    each_tile(rows, [&](auto columns, std::uint32_t row) ZRT_UNROLLED {
      run_tile<kGroups, columns.value, kRuns, kCodes>(*w.form, panel, from, count, x, first, row, sums);
    });
  }
}

template <std::size_t kGroups, std::size_t kParts, Codes kCodes>
void part_products(const PackedWeight& w, const std::byte* const* group, const Activations& x, std::uint32_t first,
                   std::uint32_t rows, const CodeReader& read, PanelSums sums) noexcept {
  PartPanel panel;
  const std::size_t stride = w.form->block_bytes();
  for (std::size_t b = 0; b < x.cols / kWideGroup; ++b) {
    for (std::size_t g = 0; g < kGroups; ++g)
      fill_part_panel(w, group[g] + b * stride, next_of<kGroups>(w, group[g], b * stride + kFetchAhead), read, g,
                      panel);
    each_tile(rows, [&](auto columns, std::uint32_t row) ZRT_UNROLLED {
      part_tile<kGroups, columns.value, kParts, kCodes>(*w.form, panel, b, x, first, row, sums);
    });
  }
}

#if ZRT_VARIANT == 3
/// Blocks of a group as they are packed, for rows too few to repay a panel. Words: of the codes of 32 elements.
template <class Words> struct PackedRuns {
  const PackedForm& form;
  const std::byte* group;
  std::size_t stride;

  ZRT_ALWAYS_INLINE void reach(std::size_t b) const noexcept { fetch(group + b * stride + kFetchAhead, stride); }
  [[nodiscard]] ZRT_ALWAYS_INLINE Words words(std::size_t /*g*/, std::size_t b) const noexcept {
    return {group + b * stride};
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 scale(std::size_t /*g*/, std::size_t b) const noexcept {
    return load_scales(form.scale, group + b * stride + form.scales_at());
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 offset(std::size_t /*g*/, std::size_t b) const noexcept {
    return load_scales(form.scale, group + b * stride + form.offsets_at());
  }
};
/// One packed block of 256. Words: of the codes of 32 elements, eight.
template <class Words> struct PackedParts {
  const PackedForm& form;
  const std::byte* block;

  /// Words `word` and up, to the end of their 32 elements.
  struct From {
    Words words;
    std::size_t first;
    [[nodiscard]] ZRT_ALWAYS_INLINE I8x64 operator()(std::size_t i) const noexcept { return words(first + i); }
  };
  [[nodiscard]] ZRT_ALWAYS_INLINE From words(std::size_t /*g*/, std::size_t word) const noexcept {
    return {{block + word / 8 * form.code_bytes()}, word % 8};
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE I32 factor(std::size_t /*g*/, std::size_t j) const noexcept {
    return panel_factors(quant::signed_bytes(block + form.factors_at() + 16 * j));
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE I32 offset_factor(std::size_t /*g*/, std::size_t j) const noexcept {
    return panel_factors(quant::signed_bytes(block + form.factors_at() + form.factor_bytes() + 16 * j));
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 scale(std::size_t /*g*/) const noexcept {
    return load_scales(form.scale, block + form.scales_at());
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 offset(std::size_t /*g*/) const noexcept {
    return load_scales(form.scale, block + form.offsets_at());
  }
};

/// Rows that do not repay a panel.
inline constexpr std::uint32_t kFewRows = 16;

/// Products of one group of runs of 32 with few rows, without a panel.
template <Codes kCodes, class Words>
void few_runs(const PackedWeight& w, const std::byte* group, const Activations& x, std::uint32_t first,
              std::uint32_t rows, PanelSums sums) noexcept {
  const PackedRuns<Words> runs{*w.form, group, w.form->block_bytes()};
  each_tile(rows, [&](auto columns, std::uint32_t row) ZRT_UNROLLED {
    run_tile<1, columns.value, 1, kCodes>(*w.form, runs, 0, x.cols / kGroup, x, first, row, sums);
  });
}

/// Products of one group of blocks of kParts parts with few rows, without a panel.
template <std::size_t kParts, class Words>
void few_parts(const PackedWeight& w, const std::byte* group, const Activations& x, std::uint32_t first,
               std::uint32_t rows, PanelSums sums) noexcept {
  const std::size_t stride = w.form->block_bytes();
  for (std::size_t b = 0; b < x.cols / kWideGroup; ++b) {
    fetch(group + b * stride + kFetchAhead, stride);
    const PackedParts<Words> parts{*w.form, group + b * stride};
    each_tile(rows, [&](auto columns, std::uint32_t row) ZRT_UNROLLED {
      part_tile<1, columns.value, kParts, Codes::of_five>(*w.form, parts, b, x, first, row, sums);
    });
  }
}

/// Products of one group with few rows, without a panel; false for forms whose codes take more than a few instructions
/// to unpack, and for more rows than repay unpacking them for each.
template <PackedForms kForms>
[[nodiscard]] bool few_products(const PackedWeight& w, const std::byte* group, const Activations& x,
                                std::uint32_t first, std::uint32_t rows, PanelSums sums) noexcept {
  const PackedForm& form = *w.form;
  if (form.levels != nullptr) return false;
  if constexpr (kForms.run_32)
    if (form.part == 0 && form.run == 32) {
      if (form.bits == 4) return few_runs<Codes::of_five, NibbleWords>(w, group, x, first, rows, sums), true;
      if (form.bits == 8) return few_runs<Codes::any, ByteWords>(w, group, x, first, rows, sums), true;
    }
  if constexpr (kForms.part_32) {
    if (form.part == 32 && form.bits == 4 && rows <= kTileColumns)
      return few_parts<8, NibbleWords>(w, group, x, first, rows, sums), true;
    if (form.part == 32 && form.bits == 2 && rows <= 2)
      return few_parts<8, PairWords>(w, group, x, first, rows, sums), true;
  }
  if constexpr (kForms.part_16)
    if (form.part == 16 && form.bits == 2 && rows <= 2)
      return few_parts<16, PairWords>(w, group, x, first, rows, sums), true;
  return false;
}
#endif

/// Products of kGroups groups with activation rows first..first+rows-1. The weight's form is one of kForms.
template <std::size_t kGroups, Codes kCodes, PackedForms kForms>
void group_products(const PackedWeight& w, const std::byte* const* group, const Activations& x, std::uint32_t first,
                    std::uint32_t rows, const CodeReader& read, PanelSums sums) noexcept {
  const PackedForm& form = *w.form;
  if constexpr (kForms.part_16)
    if (form.part == 16) return part_products<kGroups, 16, kCodes>(w, group, x, first, rows, read, sums);
  if constexpr (kForms.part_32)
    if (form.part == 32) return part_products<kGroups, 8, kCodes>(w, group, x, first, rows, read, sums);
  if constexpr (kForms.run_16)
    if (form.part == 0 && form.run == 16) return run_products<kGroups, 2, kCodes>(w, group, x, first, rows, read, sums);
  if constexpr (kForms.run_32)
    if (form.part == 0 && form.run == 32) return run_products<kGroups, 1, kCodes>(w, group, x, first, rows, read, sums);
}

/// Products of one group, whose panels have such codes.
template <PackedForms kForms>
void one_group_products(Codes codes, const PackedWeight& w, const std::byte* const* group, const Activations& x,
                        std::uint32_t first, std::uint32_t rows, const CodeReader& read, PanelSums sums) noexcept {
#if ZRT_VARIANT == 3
  if (rows <= kFewRows && few_products<kForms>(w, group[0], x, first, rows, sums)) return;
#endif
  if constexpr (kIsa == Isa::v3) {
    constexpr PackedForms kSix{.part_16 = kForms.part_16};
    constexpr PackedForms kFive{.run_32 = kForms.run_32, .part_16 = kForms.part_16, .part_32 = kForms.part_32};
    if (codes == Codes::of_six) return group_products<1, Codes::of_six, kSix>(w, group, x, first, rows, read, sums);
    if (codes == Codes::of_five) return group_products<1, Codes::of_five, kFive>(w, group, x, first, rows, read, sums);
  }
  group_products<1, Codes::any, kForms>(w, group, x, first, rows, read, sums);
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

/// Computes y[t · stride + n - first] for weight rows n in first..last-1, where first begins a group, and every row t.
template <PackedForms kForms>
void packed_products(const PackedWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                     std::uint64_t stride) noexcept {
  const CodeReader read = code_reader<kForms>(*w.form);
  const Codes codes = codes_of(*w.form);
  alignas(64) float sums[kTileGroups][kPanelRows][16];
  for (std::uint32_t t = 0; t < x.rows; t += kPanelRows) {
    const std::uint32_t rows = x.rows - t < kPanelRows ? x.rows - t : kPanelRows;
    for (std::uint32_t n = first; n < last; n += kTileGroups * kPackedRows) {
      const std::size_t groups = last - n > kPackedRows ? kTileGroups : 1;
      const std::byte* group[kTileGroups];
      for (std::size_t g = 0; g < groups; ++g) {
        group[g] = w.group(n + static_cast<std::uint32_t>(g) * kPackedRows);
        for (std::uint32_t i = 0; i < rows; ++i) store(sums[g][i], splat(0.0f));
      }
      if (groups == kTileGroups && kTileGroups > 1)
        group_products<kTileGroups, Codes::any, kForms>(w, group, x, t, rows, read, sums);
      else
        one_group_products<kForms>(codes, w, group, x, t, rows, read, sums);
      store_group_sums(sums, groups, n, last, rows, y + std::uint64_t{t} * stride + (n - first), stride);
    }
  }
}

#endif
