// SPDX-License-Identifier: Apache-2.0
// zrt/ops/relative_buckets.hpp: the buckets of relative positions that share a bias of attention scores.
#pragma once

#include <zrt/core/elementary.hpp>

#include <cstdint>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::ops {

/// Positions farther apart than this have one bucket, whatever a model says.
inline constexpr std::uint32_t kMaxBucketDistance = 1024;

/// Whether so many buckets can tell distances below `max_distance` apart: half of them for keys behind the query, of
/// those half for a distance each.
[[nodiscard]] constexpr bool buckets_fit(std::uint32_t buckets, std::uint32_t max_distance) noexcept {
  return buckets >= 4 && buckets % 4 == 0 && buckets <= 4096 && max_distance > buckets / 4 &&
         max_distance <= kMaxBucketDistance;
}

/// The bucket of the key at position `key` as the query at position `query` sees it, of `buckets` in both directions.
///
/// The first half is of keys at or before the query. Within a half, the first half again has a bucket for each distance,
/// the rest grow with the logarithm of the distance up to `max_distance`, and all that is farther is in the last.
/// Source: Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer".
[[nodiscard]] inline std::uint32_t relative_bucket(std::uint32_t query, std::uint32_t key, std::uint32_t buckets,
                                                   std::uint32_t max_distance) noexcept {
  const std::uint32_t half = buckets / 2;
  const std::uint32_t exact = half / 2;
  const std::uint32_t start = key > query ? half : 0;
  const std::uint32_t distance = key > query ? key - query : query - key;
  if (distance < exact) return start + distance;
  const auto log_of = [exact](std::uint32_t x) noexcept {
    return math::log(static_cast<float>(x) / static_cast<float>(exact));
  };
  const float growth = math::sealed(log_of(distance) * static_cast<float>(half - exact)) / log_of(max_distance);
  const auto grown = static_cast<std::uint32_t>(static_cast<float>(exact) + growth);
  return start + (grown < half ? grown : half - 1);
}

}  // namespace zrt::inline ZRT_ABI::ops
ZRT_FP_END
