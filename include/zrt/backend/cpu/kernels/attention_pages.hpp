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

// Elements are read as weights are: F32Row, F16Row, Bf16Row.
inline constexpr std::size_t kHeadStride = ops::FlashAttnBatched::kMaxHeadDim;
inline constexpr std::size_t kScoreStride = ops::FlashAttnBatched::kStepTokens;

/// Scores of kAttentionRows queries, page by page: a page's 16 tokens are the lanes, one chain for each query.
template <class E>
void scores_of_all(const std::byte* const* keys, const float* q, std::uint32_t key_dim, float* scores) noexcept {
  for (std::size_t page = 0; page < kStepPages; ++page) {
    if (keys[page] == nullptr) continue;
    F32 sum[kAttentionRows];
    unroll<kAttentionRows>([&](std::size_t r) ZRT_UNROLLED { sum[r] = splat(0.0f); });
    for (std::uint32_t i = 0; i < key_dim; ++i) {
      const F32 key = E::load16(keys[page], std::uint64_t{i} * kPageTokens);
      unroll<kAttentionRows>([&](std::size_t r)
                                 ZRT_UNROLLED { sum[r] = fma(splat(q[r * kHeadStride + i]), key, sum[r]); });
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
  const std::byte* from[kStepPages];
  F32 sum[kStepPages];
  unroll<kStepPages>([&](std::size_t page) ZRT_UNROLLED {
    from[page] = keys[page] != nullptr ? keys[page] : any;
    sum[page] = splat(0.0f);
  });
  for (std::uint32_t i = 0; i < key_dim; ++i) {
    const F32 query = splat(q[i]);
    unroll<kStepPages>([&](std::size_t page) ZRT_UNROLLED {
      sum[page] = fma(query, E::load16(from[page], std::uint64_t{i} * kPageTokens), sum[page]);
    });
  }
  unroll<kStepPages>([&](std::size_t page) ZRT_UNROLLED { store(scores + page * kPageTokens, sum[page]); });
}

/// Calls f(p, value row) for tokens first..last-1 in order.
template <class F>
ZRT_ALWAYS_INLINE void each_token(const std::byte* const* values, std::uint32_t first, std::uint32_t last,
                                  std::uint32_t value_dim, F&& f) noexcept {
  for (std::uint32_t j = first; j < last;) {
    const std::byte* page = values[j / kPageTokens];
    const std::uint32_t end = (j / kPageTokens + 1) * kPageTokens;
    for (; j < last && j < end; ++j) f(j, page, std::uint64_t{j % kPageTokens} * value_dim);
  }
}

/// The weighted sums of kAttentionRows rows: 16 dims are the lanes, one chain over tokens for each row.
template <class E>
void values_of_all(const std::byte* const* values, const float* p, std::uint32_t first, std::uint32_t last,
                   std::uint32_t value_dim, float* o) noexcept {
  for (std::uint32_t dim = 0; dim < value_dim; dim += 16) {
    const std::size_t count = value_dim - dim < 16 ? value_dim - dim : 16;
    F32 sum[kAttentionRows];
    unroll<kAttentionRows>([&](std::size_t r) ZRT_UNROLLED { sum[r] = load(o + r * kHeadStride + dim); });
    each_token(
        values, first, last, value_dim, [&](std::uint32_t j, const std::byte* page, std::uint64_t at) ZRT_UNROLLED {
          const F32 value = count == 16 ? E::load16(page, at + dim) : E::load_rest(page, at + dim, count);
          unroll<kAttentionRows>([&](std::size_t r)
                                     ZRT_UNROLLED { sum[r] = fma(splat(p[r * kScoreStride + j]), value, sum[r]); });
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
    each_token(values, first, last, value_dim,
               [&](std::uint32_t j, const std::byte* page, std::uint64_t at) ZRT_UNROLLED {
                 const F32 weight = splat(p[j]);
                 unroll<4>([&](std::size_t i)
                               ZRT_UNROLLED { sum[i] = fma(weight, E::load16(page, at + dim + 16 * i), sum[i]); });
               });
    unroll<4>([&](std::size_t i) ZRT_UNROLLED { store(o + dim + 16 * i, sum[i]); });
  }
  for (; dim < value_dim; dim += 16) {
    const std::size_t count = value_dim - dim < 16 ? value_dim - dim : 16;
    F32 sum = load(o + dim);
    each_token(
        values, first, last, value_dim, [&](std::uint32_t j, const std::byte* page, std::uint64_t at) ZRT_UNROLLED {
          sum = fma(splat(p[j]), count == 16 ? E::load16(page, at + dim) : E::load_rest(page, at + dim, count), sum);
        });
    store(o + dim, sum);
  }
}

template <class E>
inline constexpr PageKernels kPageKernels{&scores_of_one<E>, &scores_of_all<E>, &values_of_one<E>, &values_of_all<E>};

#endif
