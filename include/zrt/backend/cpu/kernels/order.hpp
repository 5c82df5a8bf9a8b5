// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/order.hpp: candidates of a row of logits, and their order.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_ORDER)
#define ZRT_BACKEND_CPU_KERNELS_ORDER

#include <zrt/backend/cpu/kernels/largest.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

namespace zrt::inline ZRT_ABI::cpu {

/// Candidates as keys and ids, and room for as many, into which an ordering moves them.
struct Candidates {
  std::int32_t* key = nullptr;
  std::int32_t* id = nullptr;
  std::int32_t* other_key = nullptr;
  std::int32_t* other_id = nullptr;

  void swap() noexcept {
    std::swap(key, other_key);
    std::swap(id, other_id);
  }
};

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/order.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

// A candidate is a key and an id. Keys are the `ordered` bits of logits, where -0 is +0; candidates go by key,
// descending, then by id, ascending. None is NaN.

/// Lists the elements that are not below `least`, NaN left out, by id; returns how many. n is a multiple of 16.
[[nodiscard]] inline std::uint32_t list_candidates(const float* x, std::uint32_t n, float least,
                                                   Candidates& c) noexcept {
  std::uint32_t count = 0;
  const F32 bound = splat(least);
  for (std::uint32_t i = 0; i < n; i += 16) {
    const F32 v = load(x + i);
    std::uint32_t found = lane_bits(less_equal(bound, v));
    if (found == 0) continue;
    alignas(64) std::int32_t keys[16];
    store_i32(keys, ordered(as_i32(v + splat(0.0f))));
    for (; found != 0; found &= found - 1, ++count) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(found));
      c.key[count] = keys[lane];
      c.id[count] = static_cast<std::int32_t>(i + lane);
    }
  }
  return count;
}

/// Orders `count` candidates that lie by id, each by how many come before it.
inline void order_by_rank(Candidates& c, std::uint32_t count) noexcept {
  const I32 one = splat_i32(1);
  const I32 none = splat_i32(0);
  for (std::uint32_t base = 0; base < count; base += 16) {
    const std::uint32_t end = base + 16 < count ? base + 16 : count;
    const I32 mine = load_i32(c.key + base);
    // Of equal keys, those that lie earlier come before.
    const I32 below = isub(mine, one);
    I32 rank = none;
    const auto meet = [&](std::uint32_t j, I32 bound)
                          ZRT_UNROLLED { rank = iadd(rank, iselect(igreater(splat_i32(c.key[j]), bound), one, none)); };
    for (std::uint32_t j = 0; j < base; ++j) meet(j, below);
    for (std::uint32_t j = base; j < end; ++j) meet(j, iselect(first_lanes(j - base + 1), mine, below));
    for (std::uint32_t j = end; j < count; ++j) meet(j, mine);
    alignas(64) std::int32_t at[16];
    store_i32(at, rank);
    for (std::uint32_t i = base; i < end; ++i) {
      c.other_key[at[i - base]] = c.key[i];
      c.other_id[at[i - base]] = c.id[i];
    }
  }
  c.swap();
}

/// Orders `count` candidates that lie by id, by three digits of eleven bits of the key, the lowest first.
inline void order_by_digits(Candidates& c, std::uint32_t count) noexcept {
  constexpr std::uint32_t kDigits = 3, kBits = 11, kValues = 1u << kBits;
  // Ascending digits are descending keys.
  const auto digit = [](std::int32_t key, std::uint32_t at) noexcept {
    return (static_cast<std::uint32_t>(key) ^ 0x7fffffffu) >> kBits * at & (kValues - 1);
  };
  std::uint32_t begin[kDigits][kValues] = {};
  for (std::uint32_t i = 0; i < count; ++i)
    for (std::uint32_t at = 0; at < kDigits; ++at) ++begin[at][digit(c.key[i], at)];
  for (std::uint32_t at = 0; at < kDigits; ++at) {
    std::uint32_t sum = 0;
    for (std::uint32_t& n : begin[at]) {
      const std::uint32_t before = sum;
      sum += n;
      n = before;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t to = begin[at][digit(c.key[i], at)]++;
      c.other_key[to] = c.key[i];
      c.other_id[to] = c.id[i];
    }
    c.swap();
  }
}

/// Up to this many candidates, counting who comes before takes less time than passes over digits.
inline constexpr std::uint32_t kMostRanked = 160;

/// Orders `count` candidates that lie by id.
inline void order(Candidates& c, std::uint32_t count) noexcept {
  if (count <= kMostRanked)
    order_by_rank(c, count);
  else
    order_by_digits(c, count);
}

/// A bound that at least `k` elements reach, and not many more where the largest lie far apart: the k-th largest of
/// the maxima of kGroups disjoint groups, k <= kGroups <= n. n is a multiple of 16. Overwrites the candidates.
template <std::uint32_t kGroups>
[[nodiscard]] float bound_of_largest(const float* x, std::uint32_t n, std::uint32_t k, Candidates& c) noexcept {
  alignas(64) float top[kGroups];
  const F32 lowest = splat(-std::numeric_limits<float>::infinity());
  for (std::uint32_t j = 0; j < kGroups; j += 16) store(top + j, lowest);
  for (std::uint32_t i = 0; i < n; i += kGroups)
    for (std::uint32_t j = 0; j < kGroups && i + j < n; j += 16) store(top + j, max(load(x + i + j), load(top + j)));
  const std::uint32_t count = list_candidates(top, kGroups, -std::numeric_limits<float>::infinity(), c);
  order(c, count);
  return largest_lane(as_f32(ordered(splat_i32(c.key[k - 1]))));
}

/// Lists the `k` first candidates of n elements in order and returns how many they are: fewer where there are not so
/// many that reach `least`. n is a multiple of 16.
[[nodiscard]] inline std::uint32_t first_candidates(const float* x, std::uint32_t n, std::uint32_t k, float least,
                                                    Candidates& c) noexcept {
  constexpr std::uint32_t kFew = 64, kMany = 512;
  float bound = -std::numeric_limits<float>::infinity();
  if (k <= kFew && n >= 2 * kFew)
    bound = bound_of_largest<kFew>(x, n, k, c);
  else if (k <= kMany && n >= 2 * kMany)
    bound = bound_of_largest<kMany>(x, n, k, c);
  const std::uint32_t count = list_candidates(x, n, bound > least ? bound : least, c);
  order(c, count);
  return k < count ? k : count;
}

#endif
