// SPDX-License-Identifier: Apache-2.0
// zrt/ops/flash_attn_varlen.hpp: attention of each sequence of a step over the step's own rows, in both directions.
#pragma once

#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/relative_buckets.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct FlashAttnVarlenParams {
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t key_dim = 0;
  std::uint32_t value_dim = 0;
  float scale = 1.0f;
  std::uint32_t reach = 0;         ///< positions that a row sees to either side; 0 for all
  std::uint32_t max_distance = 0;  ///< of relative positions with a bias of their own; 0 without `bias`

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(
      Member{&FlashAttnVarlenParams::heads, "heads"}, Member{&FlashAttnVarlenParams::kv_heads, "kv_heads"},
      Member{&FlashAttnVarlenParams::key_dim, "key_dim"}, Member{&FlashAttnVarlenParams::value_dim, "value_dim"},
      Member{&FlashAttnVarlenParams::scale, "scale"}, Member{&FlashAttnVarlenParams::reach, "reach"},
      Member{&FlashAttnVarlenParams::max_distance, "max_distance"});
};

/// Attention within spans: q f32 [T, heads·key_dim], k f32 [T, kv_heads·key_dim], v f32 [T, kv_heads·value_dim]
/// -> f32 [T, heads·value_dim].
///
/// The span of a row is the range of neighbouring rows of its slot, a whole sequence from its first position on. A row
/// sees all rows of its span, or those at most `reach` positions away. Weight `bias` f32, f16 or bf16 [buckets,
/// heads], optional, is added to scores by the distance of key and query (see relative_bucket).
/// Sums: those of flash_attn_batched, with steps and segments aligned at the span's first row; a bias is added last.
struct FlashAttnVarlen {
  using Params = FlashAttnVarlenParams;
  static constexpr Opcode opcode{120};
  static constexpr std::string_view name = "flash_attn_varlen";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"q"}, Role{"k"}, Role{"v"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"bias", true}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<FlashAttnVarlen>& c, OutputTypes<FlashAttnVarlen>& out) noexcept {
    using Self = FlashAttnVarlen;
    const Params& p = c.params;
    for (std::size_t i = 0; i < 3; ++i)
      if (auto r = expect_input<Self>(c.in[i], input_roles[i].name, DType::f32, 2); !r) return r;
    FlashAttnBatchedParams heads;
    heads.heads = p.heads;
    heads.kv_heads = p.kv_heads;
    heads.key_dim = p.key_dim;
    heads.value_dim = p.value_dim;
    if (auto r = FlashAttnBatched::check<Self>(heads); !r) return r;
    const std::uint32_t columns[] = {p.heads * p.key_dim, p.kv_heads * p.key_dim, p.kv_heads * p.value_dim};
    const Shape& q = c.in[0].type.shape;
    for (std::size_t i = 0; i < 3; ++i) {
      const Shape& x = c.in[i].type.shape;
      if (x.rank != 2 || x[0] != q[0] || x[1].symbol != 0 || x[1].extent != columns[i])
        return bad_shape<Self>(input_roles[i].name, "[tokens, its heads * their dim]", x);
    }
    if (c.w[0].present()) {
      const Shape& bias = c.w[0].shape;
      if (c.w[0].dtype != DType::f32 && c.w[0].dtype != DType::f16 && c.w[0].dtype != DType::bf16)
        return fail(Errc::unsupported_weight_type, name, ": weight bias is ", zrt::name(c.w[0].dtype),
                    ", expected f32, f16 or bf16");
      if (bias.rank != 2 || bias[1] != Dim(p.heads) || !buckets_fit(bias[0].extent, p.max_distance))
        return bad_shape<Self>("bias", "[buckets, heads], four buckets or more, fewer than max_distance", bias);
    } else if (p.max_distance != 0) {
      return bad_params<Self>("max_distance must be 0 without a bias");
    }
    out[0] = {DType::f32, q.with_last(p.heads * p.value_dim)};
    return {};
  }

  /// The first row after those of the span that begins at `first`.
  [[nodiscard]] static std::uint32_t span_end(const ExecutionContext& step, std::uint32_t first,
                                              std::uint32_t rows) noexcept {
    std::uint32_t end = first + 1;
    while (end < rows && step.slots[end] == step.slots[first]) ++end;
    return end;
  }

  static void reference(const HostCall<FlashAttnVarlen>& c, const ExecutionContext& step, const Worker&) noexcept {
    const std::uint32_t rows = c.in[0].rows(step);
    for (std::uint32_t first = 0; first < rows;) {
      const std::uint32_t end = span_end(step, first, rows);
      for (std::uint32_t t = first; t < end; ++t)
        for (std::uint32_t head = 0; head < c.params.heads; ++head) one_head(c, first, end - first, t - first, head);
      first = end;
    }
  }

 private:
  /// Row `i` of a span of `keys` rows from row `first` on.
  static void one_head(const HostCall<FlashAttnVarlen>& c, std::uint32_t first, std::uint32_t keys, std::uint32_t i,
                       std::uint32_t head) noexcept {
    const Params& p = c.params;
    const std::uint64_t kv_head = head / (p.heads / p.kv_heads);
    const std::uint64_t key_row = std::uint64_t{p.kv_heads} * p.key_dim;
    const std::uint64_t value_row = std::uint64_t{p.kv_heads} * p.value_dim;
    const float* q = c.in[0].as<float>() + (std::uint64_t{first + i} * p.heads + head) * p.key_dim;
    const float* k = c.in[1].as<float>() + first * key_row + kv_head * p.key_dim;
    const float* v = c.in[2].as<float>() + first * value_row + kv_head * p.value_dim;
    const std::uint32_t buckets = c.w[0].present() ? c.w[0].rows : 0;
    std::array<float, FlashAttnBatched::kMaxHeadDim> scaled;
    for (std::uint32_t d = 0; d < p.key_dim; ++d) scaled[d] = q[d] * p.scale;
    std::array<float, FlashAttnBatched::kMaxHeadDim> total_values;
    std::array<float, FlashAttnBatched::kMaxHeadDim> part_values;
    AttentionSum total(total_values.data(), p.value_dim);
    for (std::uint32_t segment = 0; segment < keys; segment += kAttentionSegment) {
      AttentionSum part(part_values.data(), p.value_dim);
      for (std::uint32_t begin = segment; begin < keys && begin < segment + kAttentionSegment;
           begin += kAttentionStep) {
        std::array<float, kAttentionStep> scores{};
        std::uint64_t visible = 0;
        for (std::uint32_t j = 0; j < kAttentionStep && begin + j < keys; ++j) {
          const std::uint32_t far = begin + j > i ? begin + j - i : i - begin - j;
          if (p.reach != 0 && far > p.reach) continue;
          visible |= std::uint64_t{1} << j;
          scores[j] = quant::chain(scaled.data(), k + (begin + j) * key_row, p.key_dim);
          if (buckets != 0)
            scores[j] +=
                c.w[0].value(std::uint64_t{relative_bucket(i, begin + j, buckets, p.max_distance)} * p.heads + head);
        }
        part.take(scores, visible, [&](std::uint32_t j) {
          return [row = v + (begin + j) * value_row](std::uint64_t d) noexcept { return row[d]; };
        });
      }
      total.merge(part);
    }
    float* y = c.out[0].as<float>() + (std::uint64_t{first + i} * p.heads + head) * p.value_dim;
    for (std::uint32_t d = 0; d < p.value_dim; ++d) y[d] = total.o[d] / total.l;
  }
};
static_assert(Op<FlashAttnVarlen>);

}  // namespace zrt::inline ZRT_ABI::ops
