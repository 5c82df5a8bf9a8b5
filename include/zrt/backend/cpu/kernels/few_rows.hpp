// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/few_rows.hpp: packed weights times few activation rows, whose codes are read as they are packed.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_FEW_ROWS)
#define ZRT_BACKEND_CPU_KERNELS_FEW_ROWS

#include <zrt/backend/cpu/kernels/product_tile.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/few_rows.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

#if ZRT_VARIANT != 1
/// Blocks of groups as they are packed, for rows too few to repay a panel. Words: of the codes of 32 elements.
template <std::size_t kRuns, class Words> struct PackedRuns {
  const PackedWeight& w;
  const PackedForm& form;
  const std::byte* const* group;
  const std::int8_t* levels;
  std::size_t stride;
  std::size_t from;  ///< the first block

  ZRT_ALWAYS_INLINE void reach(std::size_t b) const noexcept {
    ZRT_UNROLL (g, kTileGroups) fetch(next_of<kTileGroups>(w, group[g], (from + b) * stride + kFetchAhead), stride);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE Words words(std::size_t g, std::size_t b) const noexcept {
    return {group[g] + (from + b) * stride, levels};
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 scale(std::size_t g, std::size_t i) const noexcept {
    return load_scales(form.scale, at(g, i) + form.scales_at());
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 offset(std::size_t g, std::size_t i) const noexcept {
    return load_scales(form.scale, at(g, i) + form.offsets_at());
  }

 private:
  [[nodiscard]] ZRT_ALWAYS_INLINE const std::byte* at(std::size_t g, std::size_t i) const noexcept {
    return group[g] + (from + i / kRuns) * stride + i % kRuns * form.scale_bytes();
  }
};
/// One packed block of 256 of each group. Words: of the codes of 32 elements, eight.
template <class Words> struct PackedParts {
  using Factors = PartFactors<std::same_as<Words, CodeWords<2, false>>>;

  const PackedForm& form;
  const std::byte* const* block;
  const std::int8_t* levels;

  /// Those of one of the eight times 32 elements.
  [[nodiscard]] ZRT_ALWAYS_INLINE Words words(std::size_t g, std::size_t elems) const noexcept {
    return {block[g] + elems * form.code_bytes(), levels};
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE I32 factor(std::size_t g, std::size_t j) const noexcept {
    return Factors{form, block[g]}.of_products(j);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE I32 offset_pair(std::size_t g, std::size_t j) const noexcept {
    return Factors{form, block[g]}.of_offsets(j);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 scale(std::size_t g) const noexcept {
    return load_scales(form.scale, block[g] + form.scales_at());
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE F32 offset(std::size_t g) const noexcept {
    return load_scales(form.scale, block[g] + form.offsets_at());
  }
};

/// Products of groups of runs with few rows, without a panel.
template <std::size_t kRuns, Codes kCodes, class Words>
void few_runs(const PackedWeight& w, const std::byte* const* group, const Activations& x, AxisPart axis,
              std::uint32_t first, std::uint32_t rows, const std::int8_t* levels, PanelSums sums) noexcept {
  const std::size_t from = axis.first / kGroup, count = axis.last / kGroup - from;
  const PackedRuns<kRuns, Words> runs{w, *w.form, group, levels, w.form->block_bytes(), from};
  each_tile(rows, [&](auto columns, std::uint32_t row) ZRT_UNROLLED {
    run_tile<kTileGroups, columns.value, kRuns, kCodes>(*w.form, runs, from, count, x, first, row, sums);
  });
}

/// Products of groups of blocks of kParts parts with few rows, at most kMost in a tile, without a panel.
template <std::size_t kGroups, std::size_t kMost, std::size_t kParts, Codes kCodes, class Words>
void few_parts(const PackedWeight& w, const std::byte* const* group, const Activations& x, AxisPart axis,
               std::uint32_t first, std::uint32_t rows, const std::int8_t* levels, PanelSums sums) noexcept {
  const std::size_t stride = w.form->block_bytes();
  for (std::size_t b = axis.first / kWideGroup; b < axis.last / kWideGroup; ++b) {
    const std::byte* block[kGroups];
    ZRT_UNROLL (g, kGroups) {
      block[g] = group[g] + b * stride;
      fetch(next_of<kGroups>(w, group[g], b * stride + kFetchAhead), stride);
    }
    const PackedParts<Words> parts{*w.form, block, levels};
    each_tile<kMost>(rows, [&](auto columns, std::uint32_t row) ZRT_UNROLLED {
      part_tile<kGroups, columns.value, kParts, kCodes>(*w.form, parts, b, x, first, row, sums);
    });
  }
}

/// Rows up to which codes are unpacked for each tile; more repay a panel. 0 where even one row does.
[[nodiscard]] consteval std::uint32_t few_rows(int bits, bool levels, bool parts) noexcept {
  if (bits == 1) return 0;
  if (kIsa == Isa::v4) return parts ? 8 : levels || bits == 5 ? 32 : kPanelRows;
  if (parts) return bits == 2 ? 2 : 4;
  return levels || bits == 5 ? 8 : 16;
}

/// Calls products<Words, kCodes, kColumns>() with what reads the form's codes, which are among kCodeSet, and the columns of
/// the widest tile; false where a panel takes less time.
template <std::uint32_t kCodeSet, bool kParts, class F>
[[nodiscard]] bool with_packed_codes(const PackedForm& form, std::uint32_t rows, F&& products) noexcept {
  const auto tried = [&]<int kBits, bool kLevels>() noexcept {
    constexpr std::uint32_t kMost = few_rows(kBits, kLevels, kParts);
    if constexpr (kMost != 0 && has_codes(kCodeSet, kBits, kLevels))
      if (form.bits == kBits && (form.levels != nullptr) == kLevels && rows <= kMost) {
        constexpr std::size_t kColumns = kMost < kTileColumns ? kMost : kTileColumns;
        products.template operator()<CodeWords<kBits, kLevels>, codes_of(kBits, kLevels, kParts), kColumns>();
        return true;
      }
    return false;
  };
  return tried.template operator()<2, false>() || tried.template operator()<3, false>() ||
         tried.template operator()<4, false>() || tried.template operator()<4, true>() ||
         tried.template operator()<5, false>() || tried.template operator()<6, false>() ||
         tried.template operator()<8, false>();
}

/// Products of a tile's groups with few rows, without a panel; false where a panel takes less time.
template <PackedForms kForms>
[[nodiscard]] bool few_products(const PackedWeight& w, const std::byte* const* group, const Activations& x,
                                AxisPart axis, std::uint32_t first, std::uint32_t rows, const CodeReader& read,
                                PanelSums sums) noexcept {
  const PackedForm& form = *w.form;
  const auto runs = [&]<std::size_t kRuns, std::uint32_t kCodeSet>() noexcept {
    return with_packed_codes<kCodeSet, false>(form, rows, [&]<class Words, Codes kCodes, std::size_t>() noexcept {
      few_runs<kRuns, kCodes, Words>(w, group, x, axis, first, rows, read.levels(), sums);
    });
  };
  const auto parts = [&]<std::size_t kParts, std::uint32_t kCodeSet>() noexcept {
    return with_packed_codes<kCodeSet, true>(
        form, rows, [&]<class Words, Codes kCodes, std::size_t kColumns>() noexcept {
          // One row waits for memory, which gives the bytes of one group after the other a quarter faster than of two at once.
          if (kTileGroups == 1 || rows > 1)
            return few_parts<kTileGroups, kColumns, kParts, kCodes, Words>(w, group, x, axis, first, rows,
                                                                           read.levels(), sums);
          for (std::size_t g = 0; g < kTileGroups; ++g)
            few_parts<1, 1, kParts, kCodes, Words>(w, group + g, x, axis, first, rows, read.levels(), sums + g);
        });
  };
  if (form.part == 16) return parts.template operator()<16, kForms.part_16>();
  if (form.part == 32) return parts.template operator()<8, kForms.part_32>();
  return form.run == 16 ? runs.template operator()<2, kForms.run_16>() : runs.template operator()<1, kForms.run_32>();
}

#endif
#endif
