// SPDX-License-Identifier: Apache-2.0
// zrt/ops/multihead_attention.hpp: the attention block of a transformer layer.
#pragma once

#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/rms_norm_fused_qkv.hpp>
#include <zrt/ops/rms_norm_fused_rope_kv_write.hpp>
#include <zrt/ops/shape_rule.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

struct MultiheadAttentionParams {
  FlashAttnBatchedParams attention{};
  RopeParams rope{};
  float norm_eps = 1e-5f;
  float norm_weight_offset = 0.0f;

  static constexpr std::uint8_t version = 2;
  static constexpr auto fields = field_list(
      Member{&MultiheadAttentionParams::attention, "attention"}, Member{&MultiheadAttentionParams::rope, "rope"},
      Member{&MultiheadAttentionParams::norm_eps, "norm_eps"},
      Member{&MultiheadAttentionParams::norm_weight_offset, "norm_weight_offset"});
};

/// y = W_o · attention(rope(q), rope(k), v) over the paged cache; q, k, v project x, or its norm.
///
/// x f32 [T, d], positions si32 [T] -> f32 [T, d]. With weight `norm` the block normalises its input;
/// with `q_norm` and `k_norm` heads are normalised before the rotation.
struct MultiheadAttention {
  using Params = MultiheadAttentionParams;
  static constexpr Opcode opcode{1};
  static constexpr std::string_view name = "multihead_attention";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"positions"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles =
      std::to_array({Role{"norm", true}, Role{"q"}, Role{"k"}, Role{"v"}, Role{"output"}, Role{"q_bias", true},
                     Role{"k_bias", true}, Role{"v_bias", true}, Role{"output_bias", true}, Role{"q_norm", true},
                     Role{"k_norm", true}, Role{"factors", true}, Role{"sinks", true}});
  enum Weight : std::size_t {
    norm,
    q,
    k,
    v,
    output,
    q_bias,
    k_bias,
    v_bias,
    output_bias,
    q_norm,
    k_norm,
    factors,
    sinks
  };
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::kv_paged;
  using expands_to = boost::mp11::mp_list<RmsNormFusedQkv, Linear, RmsNormFusedRopeKvWrite, FlashAttnBatched>;

  static constexpr Result<void> infer(const TypeCall<MultiheadAttention>& c,
                                      OutputTypes<MultiheadAttention>& out) noexcept {
    using Self = MultiheadAttention;
    const FlashAttnBatchedParams& a = c.params.attention;
    if (auto r = expect_input<Self>(c.in[0], "x", DType::f32, 2); !r) return r;
    if (auto r = expect_input<Self>(c.in[1], "positions", DType::si32, 1); !r) return r;
    if (auto r = FlashAttnBatched::check<Self>(a); !r) return r;
    if (auto r = Rope::check<Self>(c.params.rope, c.in[1], c.w[factors]); !r) return r;
    if (c.params.rope.head_dim != a.key_dim) return bad_params<Self>("rope.head_dim must equal key_dim");
    const Shape& x = c.in[0].type.shape;
    if (x.rank != 2 || x[1].symbol != 0 || x[0] != c.in[1].type.shape[0])
      return bad_shape<Self>("x", "[tokens, width], as many tokens as positions", x);
    const std::uint32_t width = x[1].extent;
    const std::uint32_t rows[4] = {a.heads * a.key_dim, a.kv_heads * a.key_dim, a.kv_heads * a.value_dim, width};
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint32_t cols = i == 3 ? a.heads * a.value_dim : width;
      if (auto r = expect_matrix<Self>(c.w[q + i], weight_roles[q + i].name, cols); !r) return r;
      if (c.w[q + i].shape[0] != Dim(rows[i]))
        return bad_shape<Self>(weight_roles[q + i].name, "the rows of its heads", c.w[q + i].shape);
      if (auto r = expect_vector<Self>(c.w[q_bias + i], weight_roles[q_bias + i].name, rows[i], false); !r) return r;
    }
    if (auto r = expect_vector<Self>(c.w[norm], "norm", width, false); !r) return r;
    if (auto r = expect_vector<Self>(c.w[q_norm], "q_norm", a.key_dim, false); !r) return r;
    if (auto r = expect_vector<Self>(c.w[k_norm], "k_norm", a.key_dim, false); !r) return r;
    if (auto r = expect_vector<Self>(c.w[sinks], "sinks", a.heads, false); !r) return r;
    if (auto r = expect_kv<Self>(c.state, a.kv_heads, a.key_dim, a.value_dim); !r) return r;
    if (auto r = expect_kept<Self>(c.state, a.most_visible()); !r) return r;
    out[0] = c.in[0].type;
    return {};
  }

  template <class G>
  static constexpr Result<Outputs<G, MultiheadAttention>> expand(G& g, const Call<G, MultiheadAttention>& c) {
    const Params& p = c.params;
    const FlashAttnBatchedParams& a = p.attention;
    std::array<typename G::Tensor, 3> qkv{};
    if (c.w[norm].present()) {
      const RmsNormParams norm_params{p.norm_eps, p.norm_weight_offset, g.type_of(c.in[0]).shape.last().extent};
      qkv = g.template emit<RmsNormFusedQkv>(
          {.in = {c.in[0]},
           .w = {c.w[norm], c.w[q], c.w[k], c.w[v], c.w[q_bias], c.w[k_bias], c.w[v_bias]},
           .params = {.norm = norm_params}});
    } else {
      for (std::size_t i = 0; i < 3; ++i)
        qkv[i] = g.template emit<Linear>({.in = {c.in[0]}, .w = {c.w[q + i], c.w[q_bias + i]}})[0];
    }
    const auto turned = g.template emit<RmsNormFusedRopeKvWrite>(
        {.in = {qkv[0], qkv[1], qkv[2], c.in[1]},
         .w = {c.w[q_norm], c.w[k_norm], c.w[factors]},
         .state = c.state,
         .params = {p.norm_eps, p.norm_weight_offset, {a.kv_heads, a.key_dim, a.value_dim}, p.rope}})[0];
    const auto mixed =
        g.template emit<FlashAttnBatched>({.in = {turned}, .w = {c.w[sinks]}, .state = c.state, .params = a})[0];
    return g.template emit<Linear>({.in = {mixed}, .w = {c.w[output], c.w[output_bias]}});
  }
};
static_assert(Op<MultiheadAttention> && !HasReference<MultiheadAttention>);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
