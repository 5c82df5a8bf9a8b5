// SPDX-License-Identifier: Apache-2.0
// zrt/model/dense_decoder.hpp: the transformer decoder of attention and MLP in every layer that many families share.
#pragma once

#include <zrt/model/decoder_config.hpp>
#include <zrt/model/tensor_rows.hpp>
#include <zrt/ops/embedding.hpp>
#include <zrt/ops/lm_head_logits.hpp>
#include <zrt/ops/multihead_attention.hpp>
#include <zrt/ops/residual_add.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/swiglu.hpp>
#include <zrt/ops/take.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Whether a family's files hold a tensor.
enum class Has : std::uint8_t { never, maybe, always };

/// The tensors that the files of one family hold and those of another do not.
struct DenseTraits {
  Has qkv_bias = Has::never;
  Has output_bias = Has::never;
  Has mlp_bias = Has::never;  ///< of gate, up and down
  Has qk_norm = Has::never;
  Has post_norm = Has::never;  ///< of each block's output, before the sum
  Has rope_factors = Has::never;
  std::string_view rope_factors_name = "rope_freqs.weight";
  bool fused_qkv = false;      ///< attn_qkv holds the rows of queries, keys and values
  bool fused_gate_up = false;  ///< ffn_up holds the rows of gate and up
};

/// The ops that a dense decoder names.
using DenseOps = boost::mp11::mp_list<ops::Embedding, ops::MultiheadAttention, ops::RmsNorm, ops::ResidualAdd,
                                      ops::Swiglu, ops::Take, ops::LmHeadLogits>;

/// Writes the decoder: embedding, layers of attention and gated MLP around a residual stream, head.
///
/// Ports: inputs tokens, positions si32 [tokens], rows si32 [rows]; output logits f32 [rows, V].
template <class G> constexpr void build_dense_decoder(G& g, const DecoderConfig& c, const DenseTraits& traits) {
  const Dim tokens(1, g.symbol("tokens", 0));
  const Dim rows(1, g.symbol("rows", 0));
  const auto ids = g.input("tokens", {DType::si32, Shape{tokens}});
  const auto positions = g.input("positions", {DType::si32, Shape{tokens}});
  const auto wanted = g.input("rows", {DType::si32, Shape{rows}});
  const auto table = g.weight("token_embd.weight", Shape{c.vocabulary, c.width});
  using Weight = decltype(g.weight(Name(), Shape{}));
  const auto tensor = [&](Has has, const Name& name, const Shape& shape) {
    if (has == Has::never) return Weight{};
    return has == Has::always ? g.weight(name, shape) : g.optional_weight(name, shape);
  };
  const auto factors = tensor(traits.rope_factors, traits.rope_factors_name, Shape{c.rope.n_rot / 2});
  const std::uint32_t q_rows = c.heads * c.key_dim;

  ops::MultiheadAttentionParams attention;
  attention.attention.heads = c.heads;
  attention.attention.key_dim = c.key_dim;
  attention.attention.value_dim = c.value_dim;
  attention.attention.scale = c.attention_scale;
  attention.attention.soft_cap = c.score_cap;
  attention.norm_eps = c.norm_eps;
  ops::SwigluParams mlp;
  mlp.norm_eps = c.norm_eps;
  mlp.gated.act = c.activation;

  auto x = g.template emit<ops::Embedding>({.in = {ids}, .w = {table}, .params = {.scale = c.embedding_scale}})[0];
  for (unsigned layer = 0; layer < c.layers; ++layer) {
    const auto w = [&](Has has, std::string_view name, const Shape& shape) {
      return tensor(has, Name::of("blk.", layer, ".", name), shape);
    };
    // A matrix of its own, or `rows` of a fused one from `first` on.
    const auto part = [&](bool fused, std::string_view own, std::string_view whole, std::uint32_t first,
                          std::uint32_t count, std::uint32_t total) {
      return w(Has::always, fused ? TensorRows::name(whole, first, count, total).view() : own, Shape{count, c.width});
    };
    const auto add_block = [&](auto block, std::string_view post_norm) {
      const auto norm = w(traits.post_norm, post_norm, Shape{c.width});
      if (norm.present())
        block = g.template emit<ops::RmsNorm>(
            {.in = {block}, .w = {norm}, .params = {.eps = c.norm_eps, .dim = c.width}})[0];
      x = g.template emit<ops::ResidualAdd>({.in = {x, block}, .params = {.scale = c.residual_scale}})[0];
    };
    const std::uint32_t kv_heads = c.kv_heads[layer];
    const std::uint32_t k_rows = kv_heads * c.key_dim;
    const std::uint32_t v_rows = kv_heads * c.value_dim;
    const std::uint32_t qkv_rows = q_rows + k_rows + v_rows;
    attention.attention.kv_heads = kv_heads;
    attention.attention.window = c.windowed[layer] != 0 ? c.window : 0;
    attention.rope = c.windowed[layer] != 0 ? c.windowed_rope : c.rope;
    const auto cache = g.state({StateLifecycle::kv_paged, c.kv_dtype, 0, 0, {kv_heads, c.key_dim, c.value_dim, 0}});
    add_block(g.template emit<ops::MultiheadAttention>(
                  {.in = {x, positions},
                   .w = {w(Has::always, "attn_norm.weight", Shape{c.width}),
                         part(traits.fused_qkv, "attn_q.weight", "attn_qkv.weight", 0, q_rows, qkv_rows),
                         part(traits.fused_qkv, "attn_k.weight", "attn_qkv.weight", q_rows, k_rows, qkv_rows),
                         part(traits.fused_qkv, "attn_v.weight", "attn_qkv.weight", q_rows + k_rows, v_rows, qkv_rows),
                         w(Has::always, "attn_output.weight", Shape{c.width, c.heads * c.value_dim}),
                         w(traits.qkv_bias, "attn_q.bias", Shape{q_rows}),
                         w(traits.qkv_bias, "attn_k.bias", Shape{k_rows}),
                         w(traits.qkv_bias, "attn_v.bias", Shape{v_rows}),
                         w(traits.output_bias, "attn_output.bias", Shape{c.width}),
                         w(traits.qk_norm, "attn_q_norm.weight", Shape{c.key_dim}),
                         w(traits.qk_norm, "attn_k_norm.weight", Shape{c.key_dim}),
                         factors,
                         {}},
                   .state = cache,
                   .params = attention})[0],
              "post_attention_norm.weight");
    const std::uint32_t ff = c.ff[layer];
    add_block(g.template emit<ops::Swiglu>(
                  {.in = {x},
                   .w = {w(Has::always, "ffn_norm.weight", Shape{c.width}),
                         part(traits.fused_gate_up, "ffn_gate.weight", "ffn_up.weight", 0, ff, 2 * ff),
                         part(traits.fused_gate_up, "ffn_up.weight", "ffn_up.weight", ff, ff, 2 * ff),
                         w(Has::always, "ffn_down.weight", Shape{c.width, ff}),
                         w(traits.mlp_bias, "ffn_gate.bias", Shape{ff}), w(traits.mlp_bias, "ffn_up.bias", Shape{ff}),
                         w(traits.mlp_bias, "ffn_down.bias", Shape{c.width})},
                   .params = mlp})[0],
              "post_ffw_norm.weight");
  }
  // Only the rows that the batch asks for reach the head.
  x = g.template emit<ops::Take>({.in = {x, wanted}})[0];
  auto head = g.optional_weight("output.weight", Shape{c.vocabulary, c.width});
  if (!head.present()) head = table;
  const auto logits = g.template emit<ops::LmHeadLogits>(
      {.in = {x},
       .w = {g.weight("output_norm.weight", Shape{c.width}), head},
       .params = {.norm_eps = c.norm_eps, .scale = c.logit_scale, .soft_cap = c.logit_cap}})[0];
  g.output("logits", logits);
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
