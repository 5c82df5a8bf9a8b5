// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/product_tile.hpp: a tile of weight rows by activation rows, over blocks of weights that lie in a panel or as
// they are packed.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_PRODUCT_TILE)
#define ZRT_BACKEND_CPU_KERNELS_PRODUCT_TILE

#include <zrt/backend/cpu/kernels/code_words.hpp>
#include <zrt/backend/cpu/weight_kernels.hpp>
#include <zrt/quant/layout.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/product_tile.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Groups and activation rows of a tile: as many chains as the registers hold.
inline constexpr std::size_t kTileGroups = kVectors >= 32 ? 2 : 1;
inline constexpr std::size_t kTileColumns = kVectors >= 8 ? 4 : 1;
/// Activation rows whose sums wait beside a panel.
inline constexpr std::uint32_t kPanelRows = 128;

/// Elements first..last-1 of the axis that is summed over: whole blocks.
struct AxisPart {
  std::uint32_t first;
  std::uint32_t last;
};

/// Sums of a panel's rows: [group][activation row][16].
using PanelSums = float (*)[kPanelRows][16];

#if ZRT_VARIANT == 3
/// Words whose products are added in 16 bits, each of which is of two products of a word: once 32,512, twice 16,002 or
/// four times 7,874.
[[nodiscard]] consteval std::size_t words_at_once(Codes codes) noexcept {
  return codes == Codes::any ? 1 : codes == Codes::of_six ? 2 : 4;
}

/// Calls add(g, c, pairs) for sums of the products of words word..word+kWords-1, four elements each, with activations
/// from word `x_word` on as their first.
template <std::size_t kGroups, std::size_t kColumns, std::size_t kWords, Codes kCodes, class Words, class F>
ZRT_ALWAYS_INLINE void tile_pairs(const Words (&w)[kGroups], const std::int8_t* const (&x)[kColumns], std::size_t word,
                                  std::size_t x_word, F&& add) noexcept {
  constexpr std::size_t kAtOnce = words_at_once(kCodes);
  ZRT_UNROLL (part, kWords / kAtOnce) {
    I16x32 pairs[kGroups][kColumns];
    ZRT_UNROLL (step, kAtOnce) {
      const std::size_t i = word + part * kAtOnce + step;
      ZRT_UNROLL (g, kGroups) {
        const I8x64 weights = w[g](i);
        ZRT_UNROLL (c, kColumns) {
          const I8x64 activations = splat_i8x4(x[c] + 4 * (x_word + i));
          const I16x32 products =
              kCodes == Codes::any ? pair_products(weights, activations) : pair_products_unsigned(weights, activations);
          pairs[g][c] = step == 0 ? products : add_pairs(pairs[g][c], products);
        }
      }
    }
    ZRT_UNROLL (g, kGroups) {
      ZRT_UNROLL (c, kColumns) add(g, c, pairs[g][c]);
    }
  }
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
  ZRT_UNROLL (step, kWords) {
    const std::size_t i = word + step;
    I8x64 weights[kGroups];
    ZRT_UNROLL (g, kGroups) weights[g] = w[g](i);
    ZRT_UNROLL (c, kColumns) {
      const I8x64 activations = splat_i8x4(x[c] + 4 * (x_word + i));
      ZRT_UNROLL (g, kGroups)
        sums[g][c] = kByteBias != 0 ? dot4_unsigned(sums[g][c], weights[g], activations)
                                    : dot4(sums[g][c], weights[g], activations);
    }
  }
#endif
}

/// How far ahead of what is read weights are fetched, into the second-level cache: the first one follows no more than a
/// few lines at once. The streams of two groups are more than the hardware follows past the end of a page.
inline constexpr std::size_t kFetchAhead = 4608;
ZRT_ALWAYS_INLINE void fetch(const std::byte* at, std::size_t bytes) noexcept {
  for (std::size_t line = 0; line < bytes; line += 64) __builtin_prefetch(at + line, 0, 2);
}

/// What is read after byte `at` of a group: beyond its end, the group that takes its place in the next panel.
template <std::size_t kGroups>
[[nodiscard]] ZRT_ALWAYS_INLINE const std::byte* next_of(const PackedWeight& w, const std::byte* group,
                                                         std::size_t at) noexcept {
  return group + at + (at < w.group_bytes ? 0 : (kGroups - 1) * w.group_bytes);
}

/// What sums of a tile begin with: `lowest` for each activation. A scalar product leaves the vectors' multipliers to the
/// sums; with GCC a tile of two columns takes longer by it.
template <std::size_t kColumns>
[[nodiscard]] ZRT_ALWAYS_INLINE I32 start_of(std::int32_t lowest, std::int32_t x_sum) noexcept {
  return kColumns == 2 ? imul(splat_i32(lowest), splat_i32(x_sum)) : splat_i32(lowest * x_sum);
}

/// Advances the chains of a tile over blocks from..from+count-1, whose panel has them in front. kRuns: of a block.
template <std::size_t kGroups, std::size_t kColumns, std::size_t kRuns, Codes kCodes, class Panel>
void run_tile(const PackedForm& form, const Panel& panel, std::size_t from, std::size_t count, const Activations& x,
              std::uint32_t first, std::uint32_t row, PanelSums to) noexcept {
  const std::uint64_t groups = x.cols / kGroup;
  const std::int32_t lowest = lowest_of(form);
  const std::int8_t* q[kColumns];
  const float* d[kColumns];
  const std::int32_t* sum[kColumns];
  F32 acc[kGroups][kColumns];
  ZRT_UNROLL (c, kColumns) {
    const std::uint64_t t = first + row + c;
    q[c] = x.q + t * x.cols + from * kGroup;
    d[c] = x.d + t * groups + from;
    sum[c] = (kRuns == 1 ? x.sum : x.half_sum) + (t * groups + from) * kRuns;
    ZRT_UNROLL (g, kGroups) acc[g][c] = load(to[g][row + c]);
  }
  for (std::size_t b = 0; b < count; ++b) {
    using Words = decltype(panel.words(0, 0));
    Words w[kGroups];
    panel.reach(b);
    ZRT_UNROLL (g, kGroups) w[g] = panel.words(g, b);
    ZRT_UNROLL (run, kRuns) {
      I32 sums[kGroups][kColumns];
      ZRT_UNROLL (c, kColumns) {
        const I32 start = start_of<kColumns>(lowest, sum[c][b * kRuns + run]);
        ZRT_UNROLL (g, kGroups) sums[g][c] = start;
      }
      tile_sums<kGroups, kColumns, 8 / kRuns, kCodes>(w, q, run * (8 / kRuns), 0, sums);
#if ZRT_VARIANT == 4
      // Else the compiler moves products past the branch on what scales are, chain behind chain.
      ZRT_UNROLL (c, kColumns) {
        ZRT_UNROLL (g, kGroups) sums[g][c] = sealed(sums[g][c]);
      }
#endif
      F32 scale[kGroups];
      ZRT_UNROLL (g, kGroups) scale[g] = panel.scale(g, b * kRuns + run);
      ZRT_UNROLL (c, kColumns) {
        const F32 of_row = splat(d[c][b]);
        ZRT_UNROLL (g, kGroups) acc[g][c] = fma(scale[g] * of_row, to_f32(sums[g][c]), acc[g][c]);
      }
      if (form.has_offset) {
        F32 offset[kGroups];
        ZRT_UNROLL (g, kGroups) offset[g] = panel.offset(g, b * kRuns + run);
        ZRT_UNROLL (c, kColumns) {
          const F32 of_row = splat(d[c][b]);
          const F32 total = to_f32(splat_i32(sum[c][b * kRuns + run]));
          ZRT_UNROLL (g, kGroups) acc[g][c] = fma(offset[g] * of_row, total, acc[g][c]);
        }
      }
    }
    ZRT_UNROLL (c, kColumns) q[c] += kGroup;
  }
  ZRT_UNROLL (c, kColumns) {
    ZRT_UNROLL (g, kGroups) store(to[g][row + c], acc[g][c]);
  }
}

/// Two integers in the 16-bit halves of a lane, as dot2 takes them; `low` in the lower one.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 pair_of(I32 low, I32 high) noexcept {
  return ior(iand(low, splat_i32(0xffff)), shift_left<16>(high));
}
/// Reads the factors of a packed block's parts, sixteen rows of them. kHalves: they may be half a byte.
template <bool kHalves> struct PartFactors {
  const PackedForm& form;
  const std::byte* block;

  /// Those of part `j`.
  [[nodiscard]] ZRT_ALWAYS_INLINE I32 of_part(std::size_t j) const noexcept {
    const I32 f = load_i8(quant::signed_bytes(block + form.factors_at() + 16 * j));
    return kHalves && form.half_factors ? iand(f, splat_i32(15)) : f;
  }
  /// The same as products take them: with AVX2 one for each half of a lane.
  [[nodiscard]] ZRT_ALWAYS_INLINE I32 of_products(std::size_t j) const noexcept {
    const I32 f = of_part(j);
    return kIsa == Isa::v3 ? pair_of(f, f) : f;
  }
  /// pair_of those of the offsets of parts 2j and 2j + 1.
  [[nodiscard]] ZRT_ALWAYS_INLINE I32 of_offsets(std::size_t j) const noexcept {
    const std::int8_t* at = quant::signed_bytes(block + form.offset_factors_at() + 32 * j);
    const I32 low = load_i8(at), high = load_i8(at + 16);
    if (kHalves && form.half_factors)
      return iand(pair_of(shift_right<4>(low), shift_right<4>(high)), splat_i32(0xf000f));
    return pair_of(low, high);
  }
};

/// Adds the products of the part that begins at word `word` of 32 elements, times its factors, to `total`; x_sum has the
/// sums of activations.
template <std::size_t kGroups, std::size_t kColumns, std::size_t kParts, Codes kCodes, class Panel>
ZRT_ALWAYS_INLINE void add_part(const Panel& panel, std::size_t elems, std::size_t word,
                                const std::int8_t* const (&q)[kColumns],
                                [[maybe_unused]] const std::int32_t* const (&x_sum)[kColumns],
                                [[maybe_unused]] std::int32_t lowest, I32 (&total)[kGroups][kColumns]) noexcept {
  constexpr std::size_t kWords = 64 / kParts;
  using Words = decltype(panel.words(0, 0));
  const std::size_t j = (8 * elems + word) / kWords;
  Words w[kGroups];
  I32 factor[kGroups];
  ZRT_UNROLL (g, kGroups) {
    w[g] = panel.words(g, elems);
    factor[g] = panel.factor(g, j);
  }
#if ZRT_VARIANT == 3
  // A factor serves a pair of sums; the block as a whole gets its lowest value.
  tile_pairs<kGroups, kColumns, kWords, kCodes>(
      w, q, word, 8 * elems, [&](std::size_t g, std::size_t c, I16x32 pairs) ZRT_UNROLLED {
        total[g][c] = add_pair_products(total[g][c], pairs, as_pairs(factor[g]));
      });
#else
  I32 sums[kGroups][kColumns];
  ZRT_UNROLL (c, kColumns) {
    const I32 start = start_of<kColumns>(lowest, x_sum[c][j]);
    ZRT_UNROLL (g, kGroups) sums[g][c] = start;
  }
  tile_sums<kGroups, kColumns, kWords, kCodes>(w, q, word, 8 * elems, sums);
  ZRT_UNROLL (g, kGroups) {
    ZRT_UNROLL (c, kColumns) total[g][c] = iadd(total[g][c], imul(sums[g][c], factor[g]));
  }
#endif
}

/// Two sums of activations of a part, which take 16 bits, in the halves of each lane.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 splat_sums(const std::int32_t* sums) noexcept {
  const auto low = static_cast<std::uint16_t>(sums[0]);
  return splat_i32(static_cast<std::int32_t>(low | static_cast<std::uint32_t>(sums[1]) << 16));
}

/// Adds the products of the lowest value of all codes to `total`.
template <std::size_t kGroups, std::size_t kColumns, std::size_t kParts, class Panel>
ZRT_ALWAYS_INLINE void add_lowest(const Panel& panel, std::int32_t lowest, const std::int32_t* const (&x_sum)[kColumns],
                                  I32 (&total)[kGroups][kColumns]) noexcept {
  ZRT_UNROLL (g, kGroups) {
    I32 sums[kColumns];
    ZRT_UNROLL (c, kColumns) sums[c] = splat_i32(0);
    for (std::size_t j = 0; j < kParts; ++j) {
      const I32 factor = panel.factor(g, j);
      ZRT_UNROLL (c, kColumns) sums[c] = dot2(sums[c], factor, splat_i32(x_sum[c][j] & 0xffff));
    }
    ZRT_UNROLL (c, kColumns) total[g][c] = iadd(total[g][c], imul(splat_i32(lowest), sums[c]));
  }
}

/// Advances the chains of a tile over block `b`. kParts: 8 or 16.
template <std::size_t kGroups, std::size_t kColumns, std::size_t kParts, Codes kCodes, class Panel>
void part_tile(const PackedForm& form, const Panel& panel, std::size_t b, const Activations& x, std::uint32_t first,
               std::uint32_t row, PanelSums to) noexcept {
  const std::size_t blocks = x.cols / kWideGroup;
  const std::int32_t lowest = lowest_of(form);
  const std::int8_t* q[kColumns];
  const std::int32_t* sum[kColumns];
  const float* d[kColumns];
  I32 total[kGroups][kColumns];
  ZRT_UNROLL (c, kColumns) {
    const std::uint64_t at = (std::uint64_t{first} + row + c) * blocks + b;
    q[c] = x.wide_q + at * kWideGroup;
    sum[c] = (kParts == 8 ? x.wide_sum : x.wide_half_sum) + at * kParts;
    d[c] = x.wide_d + at;
    ZRT_UNROLL (g, kGroups) total[g][c] = splat_i32(0);
  }
  for (std::size_t elems = 0; elems < kWideGroup / kGroup; ++elems)
    ZRT_UNROLL (half, kParts / 8)
      add_part<kGroups, kColumns, kParts, kCodes>(panel, elems, 4 * half, q, sum, lowest, total);
  if constexpr (kIsa == Isa::v3)
    if (lowest != 0) add_lowest<kGroups, kColumns, kParts>(panel, lowest, sum, total);
  const auto advance = [&](std::size_t g, F32 scale, const I32(&sums)[kColumns]) ZRT_UNROLLED {
    ZRT_UNROLL (c, kColumns) {
      float* const at = to[g][row + c];
      store(at, fma(scale * splat(*d[c]), to_f32(sums[c]), load(at)));
    }
  };
  ZRT_UNROLL (g, kGroups) advance(g, panel.scale(g), total[g]);
  if (!form.has_offset) return;
  ZRT_UNROLL (g, kGroups) {
    I32 sums[kColumns];
    ZRT_UNROLL (c, kColumns) sums[c] = splat_i32(0);
    for (std::size_t j = 0; j < kParts / 2; ++j) {
      const I32 factors = panel.offset_pair(g, j);
      ZRT_UNROLL (c, kColumns) sums[c] = dot2(sums[c], factors, splat_sums(sum[c] + 2 * j));
    }
    advance(g, panel.offset(g), sums);
  }
}

/// Calls tile(columns, row) for tiles of kMost rows or fewer that hold all rows; `columns` is a constant.
template <std::size_t kMost = kTileColumns, class F>
ZRT_ALWAYS_INLINE void each_tile(std::uint32_t rows, F&& tile) noexcept {
  std::uint32_t row = 0;
  for (; row + kMost <= rows; row += kMost) tile(std::integral_constant<std::size_t, kMost>{}, row);
  if constexpr (kMost > 2)
    for (; row + 2 <= rows; row += 2) tile(std::integral_constant<std::size_t, 2>{}, row);
  if constexpr (kMost > 1)
    for (; row < rows; ++row) tile(std::integral_constant<std::size_t, 1>{}, row);
}

#endif
