// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/flash_attn_batched.hpp: attention with the loops of the pages' type.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_FLASH_ATTN_BATCHED)
#define ZRT_BACKEND_CPU_OPS_FLASH_ATTN_BATCHED

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/activations.hpp>
#include <zrt/backend/cpu/kernels/attention_pages.hpp>
#include <zrt/backend/cpu/kernels/largest.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/flash_attn_batched.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace zrt::inline ZRT_ABI::cpu {

struct FlashAttnArgs {
  HostCall<ops::FlashAttnBatched> call{};
  PageKernels pages{};
};

template <> struct Kernels<ops::FlashAttnBatched> {
  exec::HostKernel<FlashAttnArgs> bundles = nullptr;
  std::array<PageKernels, kPageTypes.size()> pages{};  ///< in the order of kPageTypes

  /// The kernels of a page type that KvPage stores.
  [[nodiscard]] constexpr const PageKernels& pages_of(DType dtype) const noexcept {
    std::size_t i = 0;
    while (kPageTypes[i] != dtype && i + 1 < kPageTypes.size()) ++i;
    return pages[i];
  }
};

template <> struct Adapter<ops::FlashAttnBatched> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::FlashAttnBatched>& c,
                             const Kernels<ops::FlashAttnBatched>& k) noexcept {
    return r.push(k.bundles, FlashAttnArgs{c, k.pages_of(c.state.info.dtype)});
  }
};
static_assert(Records<ops::FlashAttnBatched>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/flash_attn_batched.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// One query of one head while its keys pass: visible positions, running maximum and sum of a segment
/// and of the segments before it.
struct AttentionRow {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t head;
  float* y;
  float m;
  float l;
  float total_m;
  float total_l;
  bool any;
};

/// A bundle of rows that read the same keys; sums of values lie kHeadStride apart.
struct AttentionBundle {
  AttentionRow rows[kAttentionRows];
  std::size_t count;
  std::uint32_t kv_head;
  const std::uint32_t* pages;
  alignas(64) float q[kAttentionRows * kHeadStride];
  alignas(64) float o[kAttentionRows * kHeadStride];
  alignas(64) float total[kAttentionRows * kHeadStride];
  alignas(64) float p[kAttentionRows * kScoreStride];
};

/// into = into merged with (m, l, o), as FlashAttnBatched::merge does; o null for a sink.
ZRT_NOINLINE inline void merge_partial(float& into_m, float& into_l, float* into, float m, float l, const float* o,
                                       std::uint32_t dims) noexcept {
  const float top = m > into_m ? m : into_m;
  float factors[16];
  store(factors, exp(select(first_lanes(1), splat(into_m), splat(m)) - splat(top)));
  into_l = __builtin_fmaf(into_l, factors[0], l * factors[1]);
  const F32 a = splat(factors[0]);
  const F32 b = splat(factors[1]);
  for (std::uint32_t i = 0; i < dims; i += 16) {
    const F32 next = o == nullptr ? splat(0.0f) : load(o + i);
    store(into + i, fma(load(into + i), a, next * b));
  }
  into_m = top;
}

/// Rows that take keys and values together; fewer read them one after the other.
inline constexpr std::size_t kLeastTogether = kIsa == Isa::v4 ? 2 : 3;

/// Tokens of a step that a row sees, first..last-1.
struct SeenTokens {
  std::uint32_t first;
  std::uint32_t last;

  [[nodiscard]] bool none() const noexcept { return first >= last; }
};

/// The tokens of one of the step's pages that a row sees, as lanes.
[[nodiscard]] ZRT_ALWAYS_INLINE Mask seen_lanes(SeenTokens seen, std::size_t page) noexcept {
  const auto begin = static_cast<std::uint32_t>(page * kPageTokens);
  const std::uint32_t from = seen.first > begin ? seen.first - begin : 0;
  const std::uint32_t to = seen.last > begin ? seen.last - begin : 0;
  return both(first_lanes(to < 16 ? to : 16), invert(first_lanes(from < 16 ? from : 16)));
}

/// Turns the scores of a step into probabilities, and rescales the sums, of the rows that see some of it. Each phase takes
/// all rows before the next begins, so that their chains overlap.
inline void weigh_step(const ops::FlashAttnBatchedParams& params, AttentionBundle& bundle,
                       const SeenTokens* seen) noexcept {
  static_assert(kAttentionRows <= 16);
  alignas(64) float before[16] = {};
  alignas(64) float now[16] = {};
  for (std::size_t r = 0; r < bundle.count; ++r) {
    if (seen[r].none()) continue;
    float* p = bundle.p + r * kScoreStride;
    F32 top = splat(bundle.rows[r].m);
    ZRT_UNROLL (page, kStepPages) {
      F32 score = load(p + page * kPageTokens);
      if (params.soft_cap != 0.0f) store(p + page * kPageTokens, score = soft_capped(score, params.soft_cap));
      top = max(select(seen_lanes(seen[r], page), score, splat(-std::numeric_limits<float>::infinity())), top);
    }
    before[r] = bundle.rows[r].m;
    now[r] = bundle.rows[r].m = largest_lane(top);
  }
  float rescale[16];
  store(rescale, exp(load(before) - load(now)));
  for (std::size_t r = 0; r < bundle.count; ++r) {
    if (seen[r].none()) continue;
    AttentionRow& row = bundle.rows[r];
    float* p = bundle.p + r * kScoreStride;
    F32 sum = splat(0.0f);
    ZRT_UNROLL (page, kStepPages) {
      float* at = p + page * kPageTokens;
      const F32 probability = select(seen_lanes(seen[r], page), exp(load(at) - splat(row.m)), splat(0.0f));
      store(at, probability);
      sum = sum + probability;
    }
    row.l = __builtin_fmaf(row.l, rescale[r], reduce_tree(sum));
    // NaN is not 1.
    if (rescale[r] == 1.0f) continue;
    float* o = bundle.o + r * kHeadStride;
    for (std::uint32_t i = 0; i < params.value_dim; i += 16) store(o + i, load(o + i) * splat(rescale[r]));
  }
}

/// Adds the values of a step to the rows' sums: each row's in order, those of the tokens that all see for all rows at once.
inline void add_values(const FlashAttnArgs& a, AttentionBundle& bundle, const PageBlock* values, const SeenTokens* seen,
                       SeenTokens by_all) noexcept {
  const std::uint32_t dims = a.call.params.value_dim;
  const auto of_row = [&](std::size_t r, std::uint32_t first, std::uint32_t last) noexcept {
    if (first < last)
      a.pages.values[0](values, bundle.p + r * kScoreStride, first, last, dims, bundle.o + r * kHeadStride);
  };
  const bool together = bundle.count >= kLeastTogether && !by_all.none();
  for (std::size_t r = 0; r < bundle.count; ++r) of_row(r, seen[r].first, together ? by_all.first : seen[r].last);
  if (!together) return;
  a.pages.values[1](values, bundle.p, by_all.first, by_all.last, dims, bundle.o);
  for (std::size_t r = 0; r < bundle.count; ++r) of_row(r, by_all.last, seen[r].last);
}

/// One step of 64 positions from `begin`, for the rows that see some of it; `last_seen` is the last that a row sees.
inline void attend_step(const FlashAttnArgs& a, AttentionBundle& bundle, std::uint32_t begin,
                        std::uint32_t last_seen) noexcept {
  const ops::FlashAttnBatchedParams& params = a.call.params;
  constexpr auto kTokens = static_cast<std::uint32_t>(kScoreStride);
  SeenTokens seen[kAttentionRows];
  SeenTokens by_any{kTokens, 0};
  SeenTokens by_all{0, kTokens};
  for (std::size_t r = 0; r < bundle.count; ++r) {
    const AttentionRow& row = bundle.rows[r];
    const std::uint32_t end = row.last >= begin ? row.last - begin + 1 : 0;
    const SeenTokens s = seen[r] = {row.first > begin ? row.first - begin : 0, end < kTokens ? end : kTokens};
    by_all = {s.first > by_all.first ? s.first : by_all.first, s.last < by_all.last ? s.last : by_all.last};
    if (s.none()) continue;
    by_any = {s.first < by_any.first ? s.first : by_any.first, s.last > by_any.last ? s.last : by_any.last};
  }
  if (by_any.none()) return;
  const KvPage page = KvPage::of(a.call.state.info);
  const std::uint32_t* pages = bundle.pages + begin / kPageTokens;
  const std::uint32_t behind = last_seen / kPageTokens - begin / kPageTokens;
  const auto unit = [&](std::uint32_t i) noexcept { return a.call.state.unit(pages[i]); };
  const std::uint64_t keys_at = page.keys_at(bundle.kv_head);
  const std::uint64_t values_at = page.values_at(bundle.kv_head);
  PageBlock keys[kStepPages];
  PageBlock values[kStepPages];
  for (std::uint32_t i = by_any.first / kPageTokens; i * kPageTokens < by_any.last; ++i) {
    keys[i] = {unit(i) + keys_at, static_cast<std::ptrdiff_t>(values_at - keys_at)};
    values[i].at = unit(i) + values_at;
    if (i + kStepPages <= behind) values[i].ahead = unit(i + kStepPages) + keys_at - values[i].at;
  }
  if (bundle.count >= kLeastTogether) {
    a.pages.scores[1](keys, bundle.q, params.key_dim, bundle.p);
  } else {
    for (std::size_t r = 0; r < bundle.count; ++r)
      a.pages.scores[0](keys, bundle.q + r * kHeadStride, params.key_dim, bundle.p + r * kScoreStride);
  }
  weigh_step(params, bundle, seen);
  add_values(a, bundle, values, seen, by_all);
}

/// All segments of a bundle, then the sink and the division.
ZRT_NOINLINE inline void attend(const FlashAttnArgs& a, AttentionBundle& bundle) noexcept {
  using Attention = ops::FlashAttnBatched;
  const ops::FlashAttnBatchedParams& params = a.call.params;
  const float lowest = -std::numeric_limits<float>::infinity();
  const std::size_t dims = (params.value_dim + 15) / 16 * 16;
  std::uint32_t first = bundle.rows[0].first;
  std::uint32_t last = bundle.rows[0].last;
  for (std::size_t r = 0; r < bundle.count; ++r) {
    bundle.rows[r].any = false;
    first = bundle.rows[r].first < first ? bundle.rows[r].first : first;
    last = bundle.rows[r].last > last ? bundle.rows[r].last : last;
  }
  for (std::uint32_t segment = first / Attention::kSegmentTokens; segment <= last / Attention::kSegmentTokens;
       ++segment) {
    for (std::size_t r = 0; r < bundle.count; ++r) {
      bundle.rows[r].m = lowest;
      bundle.rows[r].l = 0.0f;
    }
    for (std::size_t r = 0; r < kAttentionRows; ++r) std::memset(bundle.o + r * kHeadStride, 0, dims * sizeof(float));
    for (std::uint32_t s = 0; s < Attention::kSegmentTokens; s += Attention::kStepTokens) {
      const std::uint32_t begin = segment * Attention::kSegmentTokens + s;
      if (begin <= last && begin + Attention::kStepTokens > first) attend_step(a, bundle, begin, last);
    }
    for (std::size_t r = 0; r < bundle.count; ++r) {
      AttentionRow& row = bundle.rows[r];
      if (row.first / Attention::kSegmentTokens > segment || row.last / Attention::kSegmentTokens < segment) continue;
      float* total = bundle.total + r * kHeadStride;
      const float* o = bundle.o + r * kHeadStride;
      if (row.any) {
        merge_partial(row.total_m, row.total_l, total, row.m, row.l, o, params.value_dim);
      } else {
        std::memcpy(total, o, dims * sizeof(float));
        row.total_m = row.m;
        row.total_l = row.l;
        row.any = true;
      }
    }
  }
  for (std::size_t r = 0; r < bundle.count; ++r) {
    AttentionRow& row = bundle.rows[r];
    float* total = bundle.total + r * kHeadStride;
    if (a.call.w[0].present())
      merge_partial(row.total_m, row.total_l, total, a.call.w[0].f32()[row.head], 1.0f, nullptr, params.value_dim);
    const F32 divisor = splat(row.total_l);
    map(total, row.y, 0, params.value_dim, [&](F32 v) noexcept { return v / divisor; });
  }
}

/// Adds head `head` of row `t` to the bundle.
ZRT_NOINLINE inline void add_row(const FlashAttnArgs& a, const ExecutionContext& step, AttentionBundle& bundle,
                                 std::uint64_t t, std::uint32_t head) noexcept {
  const ops::FlashAttnBatchedParams& p = a.call.params;
  AttentionRow& row = bundle.rows[bundle.count];
  row.last = step.positions[t];
  row.first = p.first_visible(row.last);
  row.head = head;
  row.y = a.call.out[0].as<float>() + (t * p.heads + head) * p.value_dim;
  const F32 scale = splat(p.scale);
  map(a.call.in[0].as<float>() + (t * p.heads + head) * p.key_dim, bundle.q + bundle.count * kHeadStride, 0, p.key_dim,
      [&](F32 v) noexcept { return v * scale; });
  ++bundle.count;
}

/// Heads of a token that share a key head go in bundles, and with them those of the slot's next tokens where few heads
/// share one. Bundles are split.
inline void flash_attn(const FlashAttnArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const ops::FlashAttnBatchedParams& p = a.call.params;
  constexpr auto kRows = static_cast<std::uint32_t>(kAttentionRows);
  const std::uint64_t rows = a.call.in[0].rows(step);
  const std::uint32_t shared = p.heads / p.kv_heads;
  const std::uint32_t heads = shared < kRows ? shared : kRows;
  const std::uint32_t parts = (shared + kRows - 1) / kRows;
  const std::uint64_t tokens = kRows / heads;
  const std::uint64_t groups = (rows + tokens - 1) / tokens;
  AttentionBundle bundle;
  // A bundle may have fewer rows than its loops compute.
  std::memset(bundle.q, 0, sizeof bundle.q);
  std::memset(bundle.p, 0, sizeof bundle.p);
  const Range part = split(groups * p.kv_heads * parts, 1, worker);
  for (std::uint64_t unit = part.first; unit < part.last; ++unit) {
    // Tokens go fastest, so that neighbours find the keys of one head in the cache.
    const auto which = static_cast<std::uint32_t>(unit / groups);
    bundle.kv_head = which / parts;
    const std::uint32_t first = bundle.kv_head * shared + which % parts * kRows;
    const std::uint32_t behind = (bundle.kv_head + 1) * shared;
    const std::uint32_t last = first + heads < behind ? first + heads : behind;
    const std::uint64_t from = unit % groups * tokens;
    const std::uint64_t to = from + tokens < rows ? from + tokens : rows;
    for (std::uint64_t t = from; t < to;) {
      const std::uint32_t slot = step.slots[t];
      bundle.count = 0;
      bundle.pages = step.page_list(a.call.state.info.group, slot);
      for (; t < to && step.slots[t] == slot; ++t)
        for (std::uint32_t head = first; head < last; ++head) add_row(a, step, bundle, t, head);
      attend(a, bundle);
    }
  }
}

template <>
inline constexpr Kernels<ops::FlashAttnBatched> kKernels<ops::FlashAttnBatched>{
    .bundles = &flash_attn,
    .pages = {kPageKernels<PlainNumbers<F32Row, 4>>, kPageKernels<PlainNumbers<F16Row, 2>>,
              kPageKernels<PlainNumbers<Bf16Row, 2>>, kPageKernels<CodedNumbers<DType::q8_0>>,
              kPageKernels<CodedNumbers<DType::q4_0>>}};

#endif
