// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/attention_pages.hpp: the loops of attention over the elements of pages.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_ATTENTION_PAGES)
#define ZRT_BACKEND_CPU_KERNELS_ATTENTION_PAGES

#include <zrt/backend/cpu/kernels/weight_rows.hpp>
#include <zrt/ops/flash_attn_batched.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

/// Attention handles up to this many rows (queries or heads) that read the same keys together.
inline constexpr std::size_t kAttentionRows = 4;
inline constexpr std::size_t kStepPages = ops::FlashAttnBatched::kStepTokens / kPageTokens;

/// What a page holds of a head's keys or values, and what to fetch while it is read: the line at `at + i + ahead` with the
/// one at `at + i`. Pages lie anywhere, so that a processor does not foresee where reading goes on.
struct PageBlock {
  const std::byte* at = nullptr;
  std::ptrdiff_t ahead = 0;
};

/// The parts of attention that read pages, for one page type.
///
/// Blocks are a head's in each of the step's pages; that of a page without a visible token is null. Rows lie kMaxHeadDim
/// (queries, sums) or kStepTokens (scores) elements apart.
struct PageKernels {
  using Scores = void (*)(const PageBlock* keys, const float* q, std::uint32_t key_dim, float* scores) noexcept;
  /// Adds tokens first..last-1 of the step, weighted by their probabilities, to the running sums.
  using Values = void (*)(const PageBlock* values, const float* p, std::uint32_t first, std::uint32_t last,
                          std::uint32_t value_dim, float* o) noexcept;

  /// Of one row and of kAttentionRows.
  Scores scores[2]{};
  Values values[2]{};
};

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/attention_pages.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

inline constexpr std::size_t kHeadStride = ops::FlashAttnBatched::kMaxHeadDim;
inline constexpr std::size_t kScoreStride = ops::FlashAttnBatched::kStepTokens;

// How a head's numbers are read. `Keys(page, dims, first)` reads the lines of 16 tokens from dim `first` on, up to the
// next multiple of kGroup; `Values(page, dims, first)` reads 16 dims of a token, from dims
// first..first+63; `last` fewer where the dims end. `place` is where they are read, kBytes for 16 numbers.

/// Elements of kSize bytes that are read as weights are: F32Row, F16Row, Bf16Row.
template <class Row, std::uint32_t kSize> struct PlainNumbers {
  static constexpr std::uint32_t kGroup = 1u << 16;
  static constexpr std::uint32_t kBytes = 16 * kSize;

  struct Keys {
    const std::byte* at;
    Keys() noexcept = default;
    ZRT_ALWAYS_INLINE Keys(const std::byte* page, std::uint32_t /*dims*/, std::uint32_t /*first*/) noexcept
        : at(page) {}
    [[nodiscard]] ZRT_ALWAYS_INLINE const std::byte* place(std::uint32_t i) const noexcept {
      return at + std::uint64_t{i} * kBytes;
    }
    [[nodiscard]] ZRT_ALWAYS_INLINE F32 operator()(std::uint32_t i) const noexcept {
      return Row::load16(at, std::uint64_t{i} * kPageTokens);
    }
  };
  struct Values {
    const std::byte* at;
    std::uint32_t dims;
    ZRT_ALWAYS_INLINE Values(const std::byte* page, std::uint32_t dims_of_head, std::uint32_t /*first*/) noexcept
        : at(page), dims(dims_of_head) {}
    [[nodiscard]] ZRT_ALWAYS_INLINE const std::byte* place(std::uint32_t token, std::uint32_t dim) const noexcept {
      return at + (std::uint64_t{token} * dims + dim) * kSize;
    }
    [[nodiscard]] ZRT_ALWAYS_INLINE F32 operator()(std::uint32_t token, std::uint32_t dim) const noexcept {
      return Row::load16(at, std::uint64_t{token} * dims + dim);
    }
    [[nodiscard]] ZRT_ALWAYS_INLINE F32 last(std::uint32_t token, std::uint32_t dim) const noexcept {
      const std::uint64_t element = std::uint64_t{token} * dims + dim;
      return dims - dim < 16 ? Row::load_rest(at, element, dims - dim) : Row::load16(at, element);
    }
  };
};

/// Codes in groups under one scale: q8_0 and q4_0.
template <DType kDType> struct CodedNumbers {
  static constexpr std::uint32_t kGroup = KvPage::kGroup;
  static constexpr bool kNibbles = kDType == DType::q4_0;
  static constexpr std::uint32_t kCodes = kNibbles ? kGroup / 2 : kGroup;  ///< bytes of a token's group
  static constexpr std::uint32_t kBytes = 16;

  [[nodiscard]] ZRT_ALWAYS_INLINE static std::uint64_t code_bytes(std::uint32_t dims) noexcept {
    return std::uint64_t{(dims + kGroup - 1) / kGroup} * kCodes;
  }
  /// The codes of 16 bytes, of which dim `i` is one.
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 codes(const std::byte* at, std::uint32_t i) noexcept {
    const I32 bytes = load_i8(quant::signed_bytes(at));
    if constexpr (!kNibbles) return to_f32(bytes);
    const I32 half = iand(i % kGroup < kCodes ? bytes : shift_right<4>(bytes), splat_i32(15));
    return to_f32(isub(half, splat_i32(8)));
  }

  struct Keys {
    const std::byte* group;
    F32 scale;
    Keys() noexcept = default;
    ZRT_ALWAYS_INLINE Keys(const std::byte* page, std::uint32_t dims, std::uint32_t first) noexcept
        : group(page + std::uint64_t{first / kGroup} * kCodes * kPageTokens),
          scale(load_f16(page + kPageTokens * (code_bytes(dims) + 2 * (first / kGroup)))) {}
    [[nodiscard]] ZRT_ALWAYS_INLINE const std::byte* place(std::uint32_t i) const noexcept {
      return group + i % kCodes * kPageTokens;
    }
    [[nodiscard]] ZRT_ALWAYS_INLINE F32 operator()(std::uint32_t i) const noexcept {
      return codes(place(i), i) * scale;
    }
  };
  struct Values {
    static constexpr std::uint32_t kGroups = 2;
    const std::byte* at;
    std::uint64_t bytes;
    alignas(64) float scales[kGroups][kPageTokens];
    ZRT_ALWAYS_INLINE Values(const std::byte* page, std::uint32_t dims, std::uint32_t first) noexcept
        : at(page), bytes(code_bytes(dims)) {
      const std::byte* from = page + kPageTokens * (bytes + 2 * (first / kGroup));
      for (std::uint32_t g = 0; g < kGroups && (first / kGroup + g) * kGroup < dims; ++g)
        store(scales[(first / kGroup + g) % kGroups], load_f16(from + 2 * kPageTokens * g));
    }
    [[nodiscard]] ZRT_ALWAYS_INLINE const std::byte* place(std::uint32_t token, std::uint32_t dim) const noexcept {
      return at + token * bytes + (kNibbles ? dim / kGroup * kCodes : dim);
    }
    [[nodiscard]] ZRT_ALWAYS_INLINE F32 operator()(std::uint32_t token, std::uint32_t dim) const noexcept {
      return codes(place(token, dim), dim) * splat(scales[dim / kGroup % kGroups][token]);
    }
    [[nodiscard]] ZRT_ALWAYS_INLINE F32 last(std::uint32_t token, std::uint32_t dim) const noexcept {
      return (*this)(token, dim);
    }
  };
};

/// Chains that hide the time of a sum: one vector takes four registers of plain x86-64 and two of AVX2.
inline constexpr std::size_t kAttentionChains = kVectors >= 32 ? 16 : kVectors >= 8 ? 4 : 1;

/// Vectors of 16 tokens or dims that kRows rows take at once, of at most four.
template <std::size_t kRows>
inline constexpr std::size_t kAttentionVectors = kAttentionChains <= kRows      ? 1
                                                 : kAttentionChains < 4 * kRows ? kAttentionChains / kRows
                                                                                : 4;

/// Reads that share a line, of which the first one fetches.
template <class E> inline constexpr std::uint32_t kReadsOfLine = 64 / E::kBytes;

/// Scores of kRows queries: a page's 16 tokens are the lanes, one chain for each query and page.
template <class E, std::size_t kRows>
void scores_of_rows(const PageBlock* keys, const float* q, std::uint32_t key_dim, float* scores) noexcept {
  constexpr std::size_t kPages = kAttentionVectors<kRows>;
  for (std::size_t from = 0; from < kStepPages; from += kPages) {
    PageBlock any;
    for (std::size_t i = 0; i < kPages; ++i) any = keys[from + i].at != nullptr ? keys[from + i] : any;
    if (any.at == nullptr) continue;
    PageBlock block[kPages];
    ZRT_UNROLL (page, kPages) block[page] = keys[from + page].at != nullptr ? keys[from + page] : any;
    F32 sum[kPages][kRows];
    ZRT_UNROLL (i, kPages * kRows) sum[i / kRows][i % kRows] = splat(0.0f);
    for (std::uint32_t i = 0; i < key_dim;) {
      typename E::Keys lines[kPages];
      ZRT_UNROLL (page, kPages) lines[page] = typename E::Keys(block[page].at, key_dim, i);
      const std::uint32_t end = key_dim - i < E::kGroup ? key_dim : i + E::kGroup;
      for (; i < end; ++i) {
        if (i % kReadsOfLine<E> == 0)
          ZRT_UNROLL (page, kPages) __builtin_prefetch(lines[page].place(i) + block[page].ahead);
        ZRT_UNROLL (page, kPages) {
          const F32 key = lines[page](i);
          ZRT_UNROLL (r, kRows) sum[page][r] = fma(splat(q[r * kHeadStride + i]), key, sum[page][r]);
        }
      }
    }
    ZRT_UNROLL (i, kPages * kRows)
      store(scores + i % kRows * kScoreStride + (from + i / kRows) * kPageTokens, sum[i / kRows][i % kRows]);
  }
}

/// Calls f(j, values, token, ahead) for tokens j in first..last-1 in order, of dims from `dim` on.
template <class E, class F>
ZRT_ALWAYS_INLINE void each_token(const PageBlock* values, std::uint32_t first, std::uint32_t last,
                                  std::uint32_t value_dim, std::uint32_t dim, F&& f) noexcept {
  for (std::uint32_t j = first; j < last;) {
    const PageBlock& block = values[j / kPageTokens];
    const typename E::Values of_page(block.at, value_dim, dim);
    const std::uint32_t end = (j / kPageTokens + 1) * kPageTokens;
    for (; j < last && j < end; ++j) f(j, of_page, j % kPageTokens, block.ahead);
  }
}

/// The weighted sums of dims dim..dim+16·kBlocks-1 of kRows rows: 16 dims are the lanes, one chain over tokens for each row
/// and 16 dims. kLast: these may be fewer at the end.
template <class E, std::size_t kRows, std::size_t kBlocks, bool kLast>
ZRT_ALWAYS_INLINE void values_of_dims(const PageBlock* values, const float* p, std::uint32_t first, std::uint32_t last,
                                      std::uint32_t value_dim, std::uint32_t dim, float* o) noexcept {
  F32 sum[kRows][kBlocks];
  ZRT_UNROLL (i, kRows * kBlocks)
    sum[i / kBlocks][i % kBlocks] = load(o + i / kBlocks * kHeadStride + dim + 16 * (i % kBlocks));
  each_token<E>(values, first, last, value_dim, dim,
                [&](std::uint32_t j, const typename E::Values& of_page, std::uint32_t token, std::ptrdiff_t ahead)
                    ZRT_UNROLLED {
                      ZRT_UNROLL (b, kBlocks) {
                        const std::uint32_t at = dim + 16 * static_cast<std::uint32_t>(b);
                        if (b % kReadsOfLine<E> == 0) __builtin_prefetch(of_page.place(token, at) + ahead);
                        const F32 value = kLast ? of_page.last(token, at) : of_page(token, at);
                        ZRT_UNROLL (r, kRows) sum[r][b] = fma(splat(p[r * kScoreStride + j]), value, sum[r][b]);
                      }
                    });
  ZRT_UNROLL (i, kRows * kBlocks)
    store(o + i / kBlocks * kHeadStride + dim + 16 * (i % kBlocks), sum[i / kBlocks][i % kBlocks]);
}

/// The weighted sums of kRows rows, many chains at once as far as there are dims.
template <class E, std::size_t kRows>
void values_of_rows(const PageBlock* values, const float* p, std::uint32_t first, std::uint32_t last,
                    std::uint32_t value_dim, float* o) noexcept {
  std::uint32_t dim = 0;
  if constexpr (kAttentionVectors<kRows> == 4) {
    for (; dim + 64 <= value_dim; dim += 64)
      values_of_dims<E, kRows, 4, false>(values, p, first, last, value_dim, dim, o);
    for (; dim + 32 <= value_dim; dim += 32)
      values_of_dims<E, kRows, 2, false>(values, p, first, last, value_dim, dim, o);
  }
  for (; dim < value_dim; dim += 16) values_of_dims<E, kRows, 1, true>(values, p, first, last, value_dim, dim, o);
}

template <class E>
inline constexpr PageKernels kPageKernels{{&scores_of_rows<E, 1>, &scores_of_rows<E, kAttentionRows>},
                                          {&values_of_rows<E, 1>, &values_of_rows<E, kAttentionRows>}};

#endif
