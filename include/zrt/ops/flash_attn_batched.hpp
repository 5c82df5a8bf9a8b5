// SPDX-License-Identifier: Apache-2.0
// zrt/ops/flash_attn_batched.hpp: causal attention of a ragged batch over paged keys and values.
#pragma once

#include <zrt/ops/attention_sum.hpp>
#include <zrt/ops/kv_page.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct FlashAttnBatchedParams {
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t key_dim = 0;
  std::uint32_t value_dim = 0;
  float scale = 1.0f;
  float soft_cap = 0.0f;     ///< scores become cap · tanh(s / cap); 0 for none
  std::uint32_t window = 0;  ///< visible positions, the query's own included; 0 for all
  std::uint32_t chunk = 0;   ///< positions of a chunk, of which a query sees its own alone; 0 for one chunk

  /// The most positions that a query sees; 0 for all before it.
  [[nodiscard]] constexpr std::uint32_t most_visible() const noexcept { return chunk != 0 ? chunk : window; }
  /// The first position that the query at `position` sees.
  [[nodiscard]] constexpr std::uint32_t first_visible(std::uint32_t position) const noexcept {
    if (chunk != 0) return position - position % chunk;
    return window != 0 && position >= window ? position - window + 1 : 0;
  }

  static constexpr std::uint8_t version = 2;
  static constexpr auto fields = field_list(
      Member{&FlashAttnBatchedParams::heads, "heads"}, Member{&FlashAttnBatchedParams::kv_heads, "kv_heads"},
      Member{&FlashAttnBatchedParams::key_dim, "key_dim"}, Member{&FlashAttnBatchedParams::value_dim, "value_dim"},
      Member{&FlashAttnBatchedParams::scale, "scale"}, Member{&FlashAttnBatchedParams::soft_cap, "soft_cap"},
      Member{&FlashAttnBatchedParams::window, "window"}, Member{&FlashAttnBatchedParams::chunk, "chunk"});
};

/// Attention of q f32 [T, heads·key_dim] over the pages of each row's slot -> f32 [T, heads·value_dim].
///
/// A row at position p sees the keys of positions max(0, p - window + 1) .. p of its slot, or with chunks
/// those of p - p % chunk .. p. Weight `sinks` f32 [heads], optional: one more logit per head in the denominator.
/// Sums: keys in steps of 64 positions and segments of 512, both aligned at position 0; scores by
/// chain over the key dim on the pre-scaled query; P·V by chain over tokens; the 64 probabilities by
/// dot16's lanes and tree; segments merge in index order, a sink last (NUMERICS, Attention).
struct FlashAttnBatched {
  using Params = FlashAttnBatchedParams;
  static constexpr Opcode opcode{38};
  static constexpr std::string_view name = "flash_attn_batched";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"q"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"sinks", true}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::kv_paged;

  static constexpr std::uint32_t kStepTokens = kAttentionStep;
  static constexpr std::uint32_t kSegmentTokens = kAttentionSegment;
  /// Bounds the accumulators that kernels keep beside the output.
  static constexpr std::uint32_t kMaxHeadDim = 576;

  /// The rule that every op with attention inside shares.
  template <class O> static constexpr Result<void> check(const Params& p) noexcept {
    if (p.heads == 0 || p.kv_heads == 0 || p.heads % p.kv_heads != 0)
      return bad_params<O>("heads must be a multiple of kv_heads, and neither be 0");
    if (p.key_dim == 0 || p.value_dim == 0 || p.key_dim > kMaxHeadDim || p.value_dim > kMaxHeadDim)
      return bad_params<O>("head dims must be 1..576");
    if (p.window != 0 && p.chunk != 0) return bad_params<O>("attention has a window or chunks, not both");
    if (p.heads > 0xffffffffu / kMaxHeadDim) return bad_params<O>("heads times head dim does not fit 32 bits");
    return {};
  }

  static constexpr Result<void> infer(const TypeCall<FlashAttnBatched>& c,
                                      OutputTypes<FlashAttnBatched>& out) noexcept {
    const Params& p = c.params;
    if (auto r = expect_input<FlashAttnBatched>(c.in[0], "q", DType::f32, 2); !r) return r;
    if (auto r = check<FlashAttnBatched>(p); !r) return r;
    const Shape& q = c.in[0].type.shape;
    if (q.rank != 2 || q[1].symbol != 0 || q[1].extent != p.heads * p.key_dim)
      return bad_shape<FlashAttnBatched>("q", "[tokens, heads * key_dim]", q);
    if (auto r = expect_vector<FlashAttnBatched>(c.w[0], "sinks", p.heads, false); !r) return r;
    if (auto r = expect_kv<FlashAttnBatched>(c.state, p.kv_heads, p.key_dim, p.value_dim); !r) return r;
    if (auto r = expect_kept<FlashAttnBatched>(c.state, p.most_visible()); !r) return r;
    out[0] = {DType::f32, q.with_last(p.heads * p.value_dim)};
    return {};
  }

  static void reference(const HostCall<FlashAttnBatched>& c, const ExecutionContext& step, const Worker&) noexcept {
    const Params& p = c.params;
    for (std::uint32_t t = 0; t < c.in[0].rows(step); ++t)
      for (std::uint32_t head = 0; head < p.heads; ++head)
        one_head(c, step, t, head, c.in[0].as<float>() + (std::uint64_t{t} * p.heads + head) * p.key_dim,
                 c.out[0].as<float>() + (std::uint64_t{t} * p.heads + head) * p.value_dim);
  }

 private:
  static void one_head(const HostCall<FlashAttnBatched>& c, const ExecutionContext& step, std::uint32_t t,
                       std::uint32_t head, const float* q, float* y) noexcept {
    const Params& p = c.params;
    const KvPage page = KvPage::of(c.state.info);
    const std::uint32_t kv_head = head / (p.heads / p.kv_heads);
    const std::uint32_t* pages = step.page_list(c.state.info.group, step.slots[t]);
    const std::uint32_t last = step.positions[t];
    const std::uint32_t first = p.first_visible(last);

    std::array<float, kMaxHeadDim> scaled;
    for (std::uint32_t i = 0; i < p.key_dim; ++i) scaled[i] = q[i] * p.scale;

    std::array<float, kMaxHeadDim> total_values;
    std::array<float, kMaxHeadDim> part_values;
    AttentionSum total(total_values.data(), p.value_dim);
    for (std::uint32_t segment = first / kSegmentTokens; segment <= last / kSegmentTokens; ++segment) {
      AttentionSum part(part_values.data(), p.value_dim);
      for (std::uint32_t s = 0; s < kSegmentTokens; s += kStepTokens) {
        const std::uint32_t begin = segment * kSegmentTokens + s;
        if (begin > last || begin + kStepTokens <= first) continue;
        std::array<float, kStepTokens> scores{};
        std::uint64_t visible = 0;
        for (std::uint32_t j = 0; j < kStepTokens; ++j) {
          const std::uint32_t position = begin + j;
          if (position < first || position > last) continue;
          visible |= std::uint64_t{1} << j;
          const std::byte* at = c.state.unit(pages[position / kPageTokens]);
          float score = 0.0f;
          for (std::uint32_t i = 0; i < p.key_dim; ++i)
            score = __builtin_fmaf(scaled[i], page.load_key(at, kv_head, position % kPageTokens, i), score);
          if (p.soft_cap != 0.0f) score = math::sealed(p.soft_cap * math::tanh(score / p.soft_cap));
          scores[j] = score;
        }
        part.take(scores, visible, [&](std::uint32_t j) {
          const std::uint32_t position = begin + j;
          const std::byte* at = c.state.unit(pages[position / kPageTokens]);
          return [&page, at, kv_head, position](std::uint64_t i) noexcept {
            return page.load_value(at, kv_head, position % kPageTokens, static_cast<std::uint32_t>(i));
          };
        });
      }
      total.merge(part);
    }
    if (c.w[0].present()) {
      AttentionSum sink(part_values.data(), p.value_dim);
      sink.m = c.w[0].f32()[head];
      sink.l = 1.0f;
      sink.empty = false;
      total.merge(sink);
    }
    for (std::uint32_t i = 0; i < p.value_dim; ++i) y[i] = total.o[i] / total.l;
  }
};
static_assert(Op<FlashAttnBatched>);

}  // namespace zrt::inline ZRT_ABI::ops
