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

/// The parts of attention that read pages, for one page type.
///
/// `keys` and `values` point to a head's block in each of the step's pages; a page without a visible
/// token is null. Rows lie kMaxHeadDim (queries, sums) or kStepTokens (scores) elements apart.
struct PageKernels {
  using Scores = void (*)(const std::byte* const* keys, const float* q, std::uint32_t key_dim, float* scores) noexcept;
  /// Adds tokens first..last-1 of the step, weighted by their probabilities, to the running sums.
  using Values = void (*)(const std::byte* const* values, const float* p, std::uint32_t first, std::uint32_t last,
                          std::uint32_t value_dim, float* o) noexcept;

  Scores scores_of_one = nullptr;
  Scores scores_of_all = nullptr;  ///< kAttentionRows rows
  Values values_of_one = nullptr;
  Values values_of_all = nullptr;
};

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/attention_pages.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

inline constexpr std::size_t kHeadStride = ops::FlashAttnBatched::kMaxHeadDim;
inline constexpr std::size_t kScoreStride = ops::FlashAttnBatched::kStepTokens;

// How a head's numbers are read. `Keys(page, dims, first)` reads the lines of 16 tokens from dim `first` on, up to the
// next multiple of kGroup; `Values(page, dims, first)` reads 16 dims of a token, from dims
// first..first+63; `last` fewer where the dims end.

/// Elements that are read as weights are: F32Row, F16Row, Bf16Row.
template <class Row> struct PlainNumbers {
  static constexpr std::uint32_t kGroup = 1u << 16;

  struct Keys {
    const std::byte* at;
    Keys() noexcept = default;
    ZRT_ALWAYS_INLINE Keys(const std::byte* page, std::uint32_t /*dims*/, std::uint32_t /*first*/) noexcept
        : at(page) {}
    [[nodiscard]] ZRT_ALWAYS_INLINE F32 operator()(std::uint32_t i) const noexcept {
      return Row::load16(at, std::uint64_t{i} * kPageTokens);
    }
  };
  struct Values {
    const std::byte* at;
    std::uint32_t dims;
    ZRT_ALWAYS_INLINE Values(const std::byte* page, std::uint32_t dims_of_head, std::uint32_t /*first*/) noexcept
        : at(page), dims(dims_of_head) {}
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
    [[nodiscard]] ZRT_ALWAYS_INLINE F32 operator()(std::uint32_t i) const noexcept {
      return codes(group + i % kCodes * kPageTokens, i) * scale;
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
    [[nodiscard]] ZRT_ALWAYS_INLINE F32 operator()(std::uint32_t token, std::uint32_t dim) const noexcept {
      const std::uint32_t byte = kNibbles ? dim / kGroup * kCodes : dim;
      return codes(at + token * bytes + byte, dim) * splat(scales[dim / kGroup % kGroups][token]);
    }
    [[nodiscard]] ZRT_ALWAYS_INLINE F32 last(std::uint32_t token, std::uint32_t dim) const noexcept {
      return (*this)(token, dim);
    }
  };
};

/// Scores of kAttentionRows queries, page by page: a page's 16 tokens are the lanes, one chain for each query.
template <class E>
void scores_of_all(const std::byte* const* keys, const float* q, std::uint32_t key_dim, float* scores) noexcept {
  for (std::size_t page = 0; page < kStepPages; ++page) {
    if (keys[page] == nullptr) continue;
    F32 sum[kAttentionRows];
    unroll<kAttentionRows>([&](std::size_t r) ZRT_UNROLLED { sum[r] = splat(0.0f); });
    for (std::uint32_t i = 0; i < key_dim;) {
      const typename E::Keys lines(keys[page], key_dim, i);
      const std::uint32_t end = key_dim - i < E::kGroup ? key_dim : i + E::kGroup;
      for (; i < end; ++i) {
        const F32 key = lines(i);
        unroll<kAttentionRows>([&](std::size_t r)
                                   ZRT_UNROLLED { sum[r] = fma(splat(q[r * kHeadStride + i]), key, sum[r]); });
      }
    }
    unroll<kAttentionRows>([&](std::size_t r)
                               ZRT_UNROLLED { store(scores + r * kScoreStride + page * kPageTokens, sum[r]); });
  }
}

/// Scores of one query, four pages at once.
template <class E>
void scores_of_one(const std::byte* const* keys, const float* q, std::uint32_t key_dim, float* scores) noexcept {
  const std::byte* any = nullptr;
  for (std::size_t page = 0; page < kStepPages; ++page) any = keys[page] != nullptr ? keys[page] : any;
  F32 sum[kStepPages];
  unroll<kStepPages>([&](std::size_t page) ZRT_UNROLLED { sum[page] = splat(0.0f); });
  for (std::uint32_t i = 0; i < key_dim;) {
    typename E::Keys lines[kStepPages];
    unroll<kStepPages>([&](std::size_t page) ZRT_UNROLLED {
      lines[page] = typename E::Keys(keys[page] != nullptr ? keys[page] : any, key_dim, i);
    });
    const std::uint32_t end = key_dim - i < E::kGroup ? key_dim : i + E::kGroup;
    for (; i < end; ++i) {
      const F32 query = splat(q[i]);
      unroll<kStepPages>([&](std::size_t page) ZRT_UNROLLED { sum[page] = fma(query, lines[page](i), sum[page]); });
    }
  }
  unroll<kStepPages>([&](std::size_t page) ZRT_UNROLLED { store(scores + page * kPageTokens, sum[page]); });
}

/// Calls f(j, values, token) for tokens j in first..last-1 in order, of dims from `dim` on.
template <class E, class F>
ZRT_ALWAYS_INLINE void each_token(const std::byte* const* values, std::uint32_t first, std::uint32_t last,
                                  std::uint32_t value_dim, std::uint32_t dim, F&& f) noexcept {
  for (std::uint32_t j = first; j < last;) {
    const typename E::Values of_page(values[j / kPageTokens], value_dim, dim);
    const std::uint32_t end = (j / kPageTokens + 1) * kPageTokens;
    for (; j < last && j < end; ++j) f(j, of_page, j % kPageTokens);
  }
}

/// The weighted sums of kAttentionRows rows: 16 dims are the lanes, one chain over tokens for each row.
template <class E>
void values_of_all(const std::byte* const* values, const float* p, std::uint32_t first, std::uint32_t last,
                   std::uint32_t value_dim, float* o) noexcept {
  for (std::uint32_t dim = 0; dim < value_dim; dim += 16) {
    F32 sum[kAttentionRows];
    unroll<kAttentionRows>([&](std::size_t r) ZRT_UNROLLED { sum[r] = load(o + r * kHeadStride + dim); });
    each_token<E>(values, first, last, value_dim, dim,
                  [&](std::uint32_t j, const typename E::Values& of_page, std::uint32_t token) ZRT_UNROLLED {
                    const F32 value = of_page.last(token, dim);
                    unroll<kAttentionRows>([&](std::size_t r) ZRT_UNROLLED {
                      sum[r] = fma(splat(p[r * kScoreStride + j]), value, sum[r]);
                    });
                  });
    unroll<kAttentionRows>([&](std::size_t r) ZRT_UNROLLED { store(o + r * kHeadStride + dim, sum[r]); });
  }
}

/// The weighted sums of one row, 64 dims at once.
template <class E>
void values_of_one(const std::byte* const* values, const float* p, std::uint32_t first, std::uint32_t last,
                   std::uint32_t value_dim, float* o) noexcept {
  std::uint32_t dim = 0;
  for (; dim + 64 <= value_dim; dim += 64) {
    F32 sum[4];
    unroll<4>([&](std::size_t i) ZRT_UNROLLED { sum[i] = load(o + dim + 16 * i); });
    each_token<E>(values, first, last, value_dim, dim,
                  [&](std::uint32_t j, const typename E::Values& of_page, std::uint32_t token) ZRT_UNROLLED {
                    const F32 weight = splat(p[j]);
                    unroll<4>([&](std::size_t i) ZRT_UNROLLED {
                      sum[i] = fma(weight, of_page(token, dim + 16 * static_cast<std::uint32_t>(i)), sum[i]);
                    });
                  });
    unroll<4>([&](std::size_t i) ZRT_UNROLLED { store(o + dim + 16 * i, sum[i]); });
  }
  for (; dim < value_dim; dim += 16) {
    F32 sum = load(o + dim);
    each_token<E>(values, first, last, value_dim, dim,
                  [&](std::uint32_t j, const typename E::Values& of_page, std::uint32_t token)
                      ZRT_UNROLLED { sum = fma(splat(p[j]), of_page.last(token, dim), sum); });
    store(o + dim, sum);
  }
}

template <class E>
inline constexpr PageKernels kPageKernels{&scores_of_one<E>, &scores_of_all<E>, &values_of_one<E>, &values_of_all<E>};

#endif
