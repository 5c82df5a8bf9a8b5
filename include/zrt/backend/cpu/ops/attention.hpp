// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/attention.hpp: attention of plain tensors of queries, keys and values.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_ATTENTION)
#define ZRT_BACKEND_CPU_OPS_ATTENTION

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/attention_lanes.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/attention.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace zrt::inline ZRT_ABI::cpu {

/// Elements of a head that the kernel keeps on the stack; larger heads need scratch.
inline constexpr std::uint32_t kAttentionDim = 128;
/// Workers that may compute larger heads at the same time, each with its own scratch.
inline constexpr std::uint32_t kAttentionLanes = 8;

template <> struct Kernels<ops::Attention> {
  exec::HostKernel<HostCall<ops::Attention>> queries = nullptr;
};

template <> struct Adapter<ops::Attention> {
  static constexpr Loops loops = Loops::vector;

  /// For heads that do not fit the stack: a query and two sums of values of sixteen queries, per worker.
  static constexpr CheckedSize scratch(const TypeCall<ops::Attention>& c, const Extents&) noexcept {
    const CheckedSize values = c.in[2].type.shape.last().extent;
    const CheckedSize dims = CheckedSize(c.in[0].type.shape.last().extent) + values + values;
    if (dims.ok() && dims.raw() <= 3 * kAttentionDim) return 0;
    return dims * CheckedSize(16 * sizeof(float)) * CheckedSize(kAttentionLanes) + CheckedSize(64);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::Attention>& c,
                             const Kernels<ops::Attention>& k) noexcept {
    return r.push(k.queries, c);
  }
};
static_assert(Records<ops::Attention>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/attention.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Tiles of sixteen queries are split.
template <class Call> void plain_attention(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const ops::RowMajor q(c.in[0], step);
  const ops::RowMajor k(c.in[1], step);
  const std::size_t lead = q.rank - 2u;
  const std::uint64_t queries = q.extent[lead];
  const std::uint64_t keys = k.extent[lead];
  const std::uint64_t key_dim = q.extent[lead + 1u];
  const std::uint64_t value_dim = ops::RowMajor(c.in[2], step).extent[lead + 1u];
  std::uint64_t batches = 1;
  for (std::size_t axis = 0; axis < lead; ++axis) batches *= q.extent[axis];
  const std::uint64_t tiles = (queries + 15) / 16;
  F32 memory[3 * kAttentionDim];
  F32* query = memory;
  Worker mine = worker;
  if (key_dim + 2 * value_dim > 3 * kAttentionDim) {
    if (worker.index >= kAttentionLanes) return;
    if (mine.count > kAttentionLanes) mine.count = kAttentionLanes;
    const auto address = reinterpret_cast<std::uintptr_t>(worker.scratch.data());
    auto* lanes = reinterpret_cast<F32*>(worker.scratch.data() + (align_up(address, alignof(F32)) - address));
    query = lanes + mine.index * (key_dim + 2 * value_dim);
  }
  const Range part = split(batches * tiles, 1, mine);
  SumOfLanes total;
  SumOfLanes segment;
  StepOfLanes now;
  total.o = query + key_dim;
  segment.o = total.o + value_dim;
  for (std::uint64_t tile = part.first; tile < part.last; ++tile) {
    const std::uint64_t b = tile / tiles;
    const std::uint64_t first_query = tile % tiles * 16;
    const std::size_t count = queries - first_query < 16 ? static_cast<std::size_t>(queries - first_query) : 16;
    const float* rows = c.in[0].template as<float>() + (b * queries + first_query) * key_dim;
    const float* key = c.in[1].template as<float>() + b * keys * key_dim;
    const float* value = c.in[2].template as<float>() + b * keys * value_dim;
    const float* mask =
        c.in[3].present() ? c.in[3].template as<float>() + ops::Attention::mask_offset(c, step, b) + first_query * keys
                          : nullptr;
    for (std::uint64_t d = 0; d < key_dim; ++d) {
      float lanes[16]{};
      for (std::size_t i = 0; i < count; ++i) lanes[i] = rows[i * key_dim + d];
      query[d] = load(lanes) * splat(c.params.scale);
    }
    const auto end_of = [&](std::uint64_t i) noexcept { return c.params.causal != 0 && i + 1 < keys ? i + 1 : keys; };
    const std::uint64_t end = end_of(first_query + count - 1);
    total.clear(value_dim);
    for (std::uint64_t begin = 0; begin < end; begin += ops::kAttentionSegment) {
      segment.clear(value_dim);
      for (std::uint64_t first = begin; first < end && first < begin + ops::kAttentionSegment;
           first += ops::kAttentionStep) {
        const std::uint64_t here = end - first < ops::kAttentionStep ? end - first : ops::kAttentionStep;
        score_keys(key + first * key_dim, key_dim, key_dim, query, here, now.score);
        now.all = mask == nullptr && count == 16 && first + here <= end_of(first_query);
        for (std::uint64_t j = 0; j < here; ++j) {
          if (now.all) {
            now.sees[j] = first_lanes(16);
            continue;
          }
          float seen[16]{};
          float bias[16]{};
          for (std::size_t i = 0; i < count; ++i) {
            if (mask != nullptr) bias[i] = mask[i * keys + first + j];
            const bool hidden = bias[i] == -std::numeric_limits<float>::infinity();
            seen[i] = first + j < end_of(first_query + i) && !hidden ? 1.0f : 0.0f;
          }
          now.sees[j] = equal(load(seen), splat(1.0f));
          if (mask != nullptr) now.score[j] = now.score[j] + load(bias);
        }
        take_step(now, here, value + first * value_dim, value_dim, value_dim, segment);
      }
      merge_segment(segment, value_dim, total);
    }
    float* y = c.out[0].template as<float>() + (b * queries + first_query) * value_dim;
    for (std::uint64_t d = 0; d < value_dim; ++d) {
      float lanes[16];
      store(lanes, total.o[d] / total.l);
      for (std::size_t i = 0; i < count; ++i) y[i * value_dim + d] = lanes[i];
    }
  }
}

template <class L>
inline constexpr Kernels<ops::Attention> kKernels<ops::Attention, L>{.queries =
                                                                         &plain_attention<HostCall<ops::Attention>>};

#endif
