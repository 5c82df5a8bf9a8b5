// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/flash_attn_varlen.hpp: attention within the spans of a step, sixteen queries of a head at once.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_FLASH_ATTN_VARLEN)
#define ZRT_BACKEND_CPU_OPS_FLASH_ATTN_VARLEN

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/attention_lanes.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/flash_attn_varlen.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::FlashAttnVarlen> {
  exec::HostKernel<HostCall<ops::FlashAttnVarlen>> tiles = nullptr;
};

template <> struct Adapter<ops::FlashAttnVarlen> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::FlashAttnVarlen>& c,
                             const Kernels<ops::FlashAttnVarlen>& k) noexcept {
    return r.push(k.tiles, c);
  }
};
static_assert(Records<ops::FlashAttnVarlen>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/flash_attn_varlen.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Up to sixteen neighbouring rows of a span.
struct VarlenTile {
  std::uint32_t first;  ///< row of the span in the batch
  std::uint32_t keys;   ///< rows of the span
  std::uint32_t query;  ///< first row of the tile in the span
  std::uint32_t count;
};

/// The memory of a worker, and the bucket of each distance to a key behind the query.
struct VarlenSums {
  F32 query[ops::FlashAttnBatched::kMaxHeadDim];
  F32 total[ops::FlashAttnBatched::kMaxHeadDim];
  F32 segment[ops::FlashAttnBatched::kMaxHeadDim];
  std::array<std::uint16_t, ops::kMaxBucketDistance> bucket;
};

/// Which of the tile's rows see key `j` of the span, and what its scores get added.
inline void see_key(const HostCall<ops::FlashAttnVarlen>& c, const VarlenTile& tile, const VarlenSums& memory,
                    std::uint32_t head, std::uint32_t j, Mask& sees, F32& score) noexcept {
  const ops::FlashAttnVarlenParams& p = c.params;
  const bool biased = c.w[0].present();
  float seen[16]{};
  float bias[16]{};
  for (std::uint32_t i = 0; i < tile.count; ++i) {
    const std::uint32_t row = tile.query + i;
    const std::uint32_t distance = j > row ? j - row : row - j;
    seen[i] = p.reach == 0 || distance <= p.reach ? 1.0f : 0.0f;
    if (!biased) continue;
    const std::uint32_t within = memory.bucket[distance < p.max_distance ? distance : p.max_distance - 1];
    const std::uint32_t bucket = within + (j > row ? c.w[0].rows / 2 : 0);
    bias[i] = c.w[0].value(std::uint64_t{bucket} * p.heads + head);
  }
  sees = equal(load(seen), splat(1.0f));
  if (biased) score = score + load(bias);
}

/// One head of a tile.
ZRT_NOINLINE inline void attend_tile(const HostCall<ops::FlashAttnVarlen>& c, const VarlenTile& tile,
                                     std::uint32_t head, VarlenSums& memory) noexcept {
  const ops::FlashAttnVarlenParams& p = c.params;
  const std::uint64_t kv_head = head / (p.heads / p.kv_heads);
  const std::uint64_t key_row = std::uint64_t{p.kv_heads} * p.key_dim;
  const std::uint64_t value_row = std::uint64_t{p.kv_heads} * p.value_dim;
  const std::uint64_t from = std::uint64_t{tile.first} + tile.query;
  const float* q = c.in[0].as<float>() + (from * p.heads + head) * p.key_dim;
  const float* key = c.in[1].as<float>() + tile.first * key_row + kv_head * p.key_dim;
  const float* value = c.in[2].as<float>() + tile.first * value_row + kv_head * p.value_dim;
  for (std::uint32_t d = 0; d < p.key_dim; ++d) {
    float lanes[16]{};
    for (std::uint32_t i = 0; i < tile.count; ++i) lanes[i] = q[std::uint64_t{i} * p.heads * p.key_dim + d];
    memory.query[d] = load(lanes) * splat(p.scale);
  }
  SumOfLanes total;
  SumOfLanes segment;
  StepOfLanes now;
  total.o = memory.total;
  segment.o = memory.segment;
  total.clear(p.value_dim);
  const std::uint32_t last = tile.query + tile.count - 1;
  const std::uint32_t lowest = p.reach != 0 && tile.query > p.reach ? tile.query - p.reach : 0;
  const std::uint32_t highest = p.reach != 0 && tile.keys - last > p.reach ? last + p.reach : tile.keys - 1;
  for (std::uint32_t begin = lowest / ops::kAttentionSegment * ops::kAttentionSegment; begin <= highest;
       begin += ops::kAttentionSegment) {
    segment.clear(p.value_dim);
    for (std::uint32_t first = begin; first <= highest && first < begin + ops::kAttentionSegment;
         first += ops::kAttentionStep) {
      if (first + ops::kAttentionStep <= lowest) continue;
      const std::uint32_t here = std::min(tile.keys - first, ops::kAttentionStep);
      score_keys(key + first * key_row, key_row, p.key_dim, memory.query, here, now.score);
      now.all = p.reach == 0 && !c.w[0].present();
      for (std::uint32_t j = 0; j < here; ++j) {
        if (now.all)
          now.sees[j] = first_lanes(16);
        else
          see_key(c, tile, memory, head, first + j, now.sees[j], now.score[j]);
      }
      take_step(now, here, value + first * value_row, value_row, p.value_dim, segment);
    }
    merge_segment(segment, p.value_dim, total);
  }
  float* y = c.out[0].as<float>() + (from * p.heads + head) * p.value_dim;
  for (std::uint32_t d = 0; d < p.value_dim; ++d) {
    float lanes[16];
    store(lanes, total.o[d] / total.l);
    for (std::uint32_t i = 0; i < tile.count; ++i) y[std::uint64_t{i} * p.heads * p.value_dim + d] = lanes[i];
  }
}

/// Heads of tiles are split.
inline void flash_attn_varlen(const HostCall<ops::FlashAttnVarlen>& c, const ExecutionContext& step,
                              const Worker& worker) noexcept {
  const ops::FlashAttnVarlenParams& p = c.params;
  const std::uint32_t rows = c.in[0].rows(step);
  VarlenSums memory;
  for (std::uint32_t distance = 0; distance < p.max_distance; ++distance)
    memory.bucket[distance] =
        static_cast<std::uint16_t>(ops::relative_bucket(distance, 0, c.w[0].rows, p.max_distance));
  const auto each_tile = [&](const auto& visit) noexcept {
    std::uint64_t tiles = 0;
    for (std::uint32_t first = 0; first < rows;) {
      const std::uint32_t end = ops::FlashAttnVarlen::span_end(step, first, rows);
      for (std::uint32_t at = first; at < end; at += 16, ++tiles)
        visit(tiles, VarlenTile{first, end - first, at - first, end - at < 16 ? end - at : 16});
      first = end;
    }
    return tiles;
  };
  const std::uint64_t tiles = each_tile([](std::uint64_t, const VarlenTile&) noexcept {});
  const Range part = split(tiles * p.heads, 1, worker);
  each_tile([&](std::uint64_t index, const VarlenTile& tile) noexcept {
    for (std::uint32_t head = 0; head < p.heads; ++head) {
      const std::uint64_t unit = index * p.heads + head;
      if (unit >= part.first && unit < part.last) attend_tile(c, tile, head, memory);
    }
  });
}

template <> inline constexpr Kernels<ops::FlashAttnVarlen> kKernels<ops::FlashAttnVarlen>{.tiles = &flash_attn_varlen};

#endif
