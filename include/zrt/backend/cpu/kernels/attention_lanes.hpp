// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/attention_lanes.hpp: attention of sixteen queries at once, a lane each, over rows of keys and values.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_ATTENTION_LANES)
#define ZRT_BACKEND_CPU_KERNELS_ATTENTION_LANES

#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/ops/attention_sum.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/attention_lanes.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Weighted sums of values of sixteen queries, as ops::AttentionSum is that of one.
struct SumOfLanes {
  F32* o;  ///< one vector per dim of a value
  F32 m;
  F32 l;
  Mask taken;  ///< lanes that have seen a key

  void clear(std::uint64_t dims) noexcept {
    for (std::uint64_t d = 0; d < dims; ++d) o[d] = splat(0.0f);
    m = splat(-std::numeric_limits<float>::infinity());
    l = splat(0.0f);
    taken = first_lanes(0);
  }
};

/// A step of keys: scores, which become probabilities, and the lanes that see each key.
struct StepOfLanes {
  F32 score[ops::kAttentionStep];
  Mask sees[ops::kAttentionStep];
  bool all;  ///< every lane sees every key
};

/// scores of `count` keys by chain over the head's dims; keys lie `stride` apart, and `q` holds a vector of queries per
/// dim.
inline void score_keys(const float* key, std::uint64_t stride, std::uint64_t dims, const F32* q, std::uint64_t count,
                       F32* score) noexcept {
  constexpr std::size_t kKeys = kVectors >= 32 ? 8 : kVectors >= 8 ? 4 : 1;
  std::uint64_t j = 0;
  for (; j + kKeys <= count; j += kKeys) {
    const float* k = key + j * stride;
    F32 sum[kKeys];
    ZRT_UNROLL (i, kKeys) sum[i] = splat(0.0f);
    for (std::uint64_t d = 0; d < dims; ++d) {
      const F32 query = q[d];
      ZRT_UNROLL (i, kKeys) sum[i] = fma(query, splat(k[i * stride + d]), sum[i]);
    }
    ZRT_UNROLL (i, kKeys) score[j + i] = sum[i];
  }
  for (; j < count; ++j) {
    F32 sum = splat(0.0f);
    for (std::uint64_t d = 0; d < dims; ++d) sum = fma(q[d], splat(key[j * stride + d]), sum);
    score[j] = sum;
  }
}

/// Takes a step of `count` keys into the sums; their values lie `stride` apart.
inline void take_step(StepOfLanes& keys, std::uint64_t count, const float* value, std::uint64_t stride,
                      std::uint64_t dims, SumOfLanes& sum) noexcept {
  const F32 zero = splat(0.0f);
  F32 top = sum.m;
  for (std::uint64_t j = 0; j < count; ++j) top = select(keys.sees[j], max(keys.score[j], top), top);
  const F32 rescale = select(equal(sum.m, top), splat(1.0f), exp(sum.m - top));
  F32 lanes[16];
  for (F32& lane : lanes) lane = zero;
  for (std::uint64_t j = 0; j < count; ++j) {
    keys.score[j] = select(keys.sees[j], exp(keys.score[j] - top), zero);
    lanes[j % 16] = lanes[j % 16] + keys.score[j];
    sum.taken = either(sum.taken, keys.sees[j]);
  }
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lanes[i] = lanes[i] + lanes[i + half];
  sum.l = fma(sum.l, rescale, lanes[0]);
  sum.m = top;
  constexpr std::size_t kDims = kVectors >= 32 ? 8 : kVectors >= 8 ? 4 : 1;
  const auto add = [&]<std::size_t kCount>(std::index_sequence<kCount>, std::uint64_t d) noexcept {
    F32 o[kCount];
    ZRT_UNROLL (i, kCount) o[i] = sealed(sum.o[d + i] * rescale);
    for (std::uint64_t j = 0; j < count; ++j) {
      const float* v = value + j * stride + d;
      const F32 p = keys.score[j];
      if (keys.all) {
        ZRT_UNROLL (i, kCount) o[i] = fma(p, splat(v[i]), o[i]);
      } else {
        // A key that is not seen is part of no sum, whatever its value.
        const Mask sees = keys.sees[j];
        ZRT_UNROLL (i, kCount) o[i] = select(sees, fma(p, splat(v[i]), o[i]), o[i]);
      }
    }
    ZRT_UNROLL (i, kCount) sum.o[d + i] = o[i];
  };
  std::uint64_t d = 0;
  for (; d + kDims <= dims; d += kDims) add(std::index_sequence<kDims>{}, d);
  for (; d < dims; ++d) add(std::index_sequence<1>{}, d);
}

/// Adds the sums of a later segment.
inline void merge_segment(const SumOfLanes& next, std::uint64_t dims, SumOfLanes& sum) noexcept {
  const F32 top = max(next.m, sum.m);
  const F32 a = exp(sum.m - top);
  const F32 b = exp(next.m - top);
  const Mask both_taken = both(sum.taken, next.taken);
  const auto merged = [&](F32 mine, F32 later, F32 sum_of_both) noexcept {
    return select(both_taken, sum_of_both, select(next.taken, later, mine));
  };
  sum.l = merged(sum.l, next.l, fma(sum.l, a, sealed(next.l * b)));
  for (std::uint64_t d = 0; d < dims; ++d)
    sum.o[d] = merged(sum.o[d], next.o[d], fma(sum.o[d], a, sealed(next.o[d] * b)));
  sum.m = merged(sum.m, next.m, top);
  sum.taken = either(sum.taken, next.taken);
}

#endif
