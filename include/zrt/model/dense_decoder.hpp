// SPDX-License-Identifier: Apache-2.0
// zrt/model/dense_decoder.hpp: the pre-norm transformer decoder that many families share.
#pragma once

#include <zrt/model/config.hpp>
#include <zrt/ops/embedding.hpp>
#include <zrt/ops/lm_head_logits.hpp>
#include <zrt/ops/multihead_attention.hpp>
#include <zrt/ops/residual_add.hpp>
#include <zrt/ops/swiglu.hpp>
#include <zrt/ops/take.hpp>

namespace zrt::inline ZRT_ABI::model {

/// Whether a family's files hold a tensor.
enum class Has : std::uint8_t { never, maybe, always };

/// What differs between the families of this shape.
struct DenseTraits {
  Has qkv_bias = Has::never;
  Has output_bias = Has::never;
  Has mlp_bias = Has::never;  ///< of gate, up and down
  Has qk_norm = Has::never;
  Has rope_factors = Has::never;
};

/// 1 / sqrt(dim), rounded once from f64 by Newton's method, so that it is the same at compile time.
[[nodiscard]] constexpr float attention_scale(std::uint32_t dim) noexcept {
  double root = dim > 1 ? dim / 2.0 : 1.0;
  for (int i = 0; i < 64; ++i) root = 0.5 * root + 0.5 * dim / root;
  return static_cast<float>(1.0 / root);
}

/// The ops that a dense decoder names.
using DenseOps = boost::mp11::mp_list<ops::Embedding, ops::MultiheadAttention, ops::ResidualAdd, ops::Swiglu, ops::Take,
                                      ops::LmHeadLogits>;

/// A small model with every proportion of a real one, for building at compile time.
[[nodiscard]] constexpr Config canonical_dense_config() noexcept {
  Config c;
  c.vocabulary = 96;
  c.context = 64;
  c.width = 32;
  c.layers = 2;
  c.ff = 48;
  c.heads = 4;
  c.kv_heads = 2;
  c.key_dim = 16;
  c.value_dim = 16;
  c.rope.head_dim = 16;
  c.rope.n_rot = 16;
  return c;
}

/// Writes the decoder: embedding, layers of attention and gated MLP around a residual stream, head.
///
/// Ports: inputs tokens, positions si32 [tokens], rows si32 [rows]; output logits f32 [rows, V].
template <class G> constexpr void build_dense_decoder(G& g, const Config& c, const DenseTraits& traits) {
  const Dim tokens(1, g.symbol("tokens", 0));
  const Dim rows(1, g.symbol("rows", 0));
  const auto ids = g.input("tokens", {DType::si32, Shape{tokens}});
  const auto positions = g.input("positions", {DType::si32, Shape{tokens}});
  const auto wanted = g.input("rows", {DType::si32, Shape{rows}});
  const auto table = g.weight("token_embd.weight", Shape{c.vocabulary, c.width});
  auto tensor = [&](Has has, const Name& name, const Shape& shape) {
    using Weight = decltype(g.weight(name, shape));
    if (has == Has::never) return Weight{};
    return has == Has::always ? g.weight(name, shape) : g.optional_weight(name, shape);
  };
  const auto factors = tensor(traits.rope_factors, "rope_freqs.weight", Shape{c.rope.n_rot / 2});
  const std::uint32_t q_rows = c.heads * c.key_dim;
  const std::uint32_t k_rows = c.kv_heads * c.key_dim;
  const std::uint32_t v_rows = c.kv_heads * c.value_dim;

  ops::MultiheadAttentionParams attention;
  attention.attention.heads = c.heads;
  attention.attention.kv_heads = c.kv_heads;
  attention.attention.key_dim = c.key_dim;
  attention.attention.value_dim = c.value_dim;
  attention.attention.scale = attention_scale(c.key_dim);
  attention.rope = c.rope;
  attention.norm_eps = c.norm_eps;

  auto x = g.template emit<ops::Embedding>({.in = {ids}, .w = {table}})[0];
  for (unsigned layer = 0; layer < c.layers; ++layer) {
    auto w = [&](Has has, std::string_view name, const Shape& shape) {
      return tensor(has, Name::of("blk.", layer, ".", name), shape);
    };
    const auto cache = g.state({StateLifecycle::kv_paged, c.kv_dtype, 0, 0, {c.kv_heads, c.key_dim, c.value_dim, 0}});
    const auto mixed = g.template emit<ops::MultiheadAttention>(
        {.in = {x, positions},
         .w = {w(Has::always, "attn_norm.weight", Shape{c.width}),
               w(Has::always, "attn_q.weight", Shape{q_rows, c.width}),
               w(Has::always, "attn_k.weight", Shape{k_rows, c.width}),
               w(Has::always, "attn_v.weight", Shape{v_rows, c.width}),
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
         .params = attention})[0];
    x = g.template emit<ops::ResidualAdd>({.in = {x, mixed}})[0];
    const auto fed = g.template emit<ops::Swiglu>(
        {.in = {x},
         .w = {w(Has::always, "ffn_norm.weight", Shape{c.width}),
               w(Has::always, "ffn_gate.weight", Shape{c.ff, c.width}),
               w(Has::always, "ffn_up.weight", Shape{c.ff, c.width}),
               w(Has::always, "ffn_down.weight", Shape{c.width, c.ff}),
               w(traits.mlp_bias, "ffn_gate.bias", Shape{c.ff}), w(traits.mlp_bias, "ffn_up.bias", Shape{c.ff}),
               w(traits.mlp_bias, "ffn_down.bias", Shape{c.width})},
         .params = {.norm_eps = c.norm_eps}})[0];
    x = g.template emit<ops::ResidualAdd>({.in = {x, fed}})[0];
  }
  // Only the rows that the batch asks for reach the head.
  x = g.template emit<ops::Take>({.in = {x, wanted}})[0];
  auto head = g.optional_weight("output.weight", Shape{c.vocabulary, c.width});
  if (!head.present()) head = table;
  const auto logits = g.template emit<ops::LmHeadLogits>(
      {.in = {x}, .w = {g.weight("output_norm.weight", Shape{c.width}), head}, .params = {.norm_eps = c.norm_eps}})[0];
  g.output("logits", logits);
}

}  // namespace zrt::inline ZRT_ABI::model
