// SPDX-License-Identifier: Apache-2.0
// examples/families/granite.hpp: the granite family, which reads four metadata keys of its own.
#pragma once

#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

namespace host {

/// Granite 3, dense: llama with scaled embeddings, block outputs, attention scores and logits.
struct Granite {
  static constexpr std::string_view name = "granite";
  static constexpr zrt::ops::RopeStyle rope_style = zrt::ops::RopeStyle::interleaved;
  using Ops = zrt::model::DenseOps;

  /// What zrt reads of every model, and what only this family reads.
  struct Config : zrt::model::Config {
    float embedding_scale = 1.0f;
    float residual_scale = 1.0f;
    float attention_scale = 0.0f;
    float logit_scale = 1.0f;
  };
  static constexpr std::array<std::string_view, 4> keys{"embedding_scale", "residual_scale", "attention.scale",
                                                        "logit_scale"};

  [[nodiscard]] static zrt::Result<void> read_keys(const zrt::model::ConfigReader& meta, Config& c) noexcept {
    struct Key {
      std::string_view name;
      float Config::* field;
      float fallback;
    };
    const Key list[] = {{keys[0], &Config::embedding_scale, 1.0f},
                        {keys[1], &Config::residual_scale, 1.0f},
                        {keys[2], &Config::attention_scale, zrt::model::attention_scale(c.key_dim)},
                        {keys[3], &Config::logit_scale, 1.0f}};
    for (const Key& key : list) {
      const auto value = meta.number_or(key.name, key.fallback);
      if (!value) return zrt::pass(value);
      c.*key.field = *value;
    }
    return {};
  }

  [[nodiscard]] static constexpr Config canonical() noexcept { return {zrt::model::canonical_dense_config()}; }

  template <class G> static constexpr void build(G& g, const Config& c) {
    using namespace zrt;
    const Dim tokens(1, g.symbol("tokens", 0));
    const Dim rows(1, g.symbol("rows", 0));
    const auto ids = g.input("tokens", {DType::si32, Shape{tokens}});
    const auto positions = g.input("positions", {DType::si32, Shape{tokens}});
    const auto wanted = g.input("rows", {DType::si32, Shape{rows}});
    const auto table = g.weight("token_embd.weight", Shape{c.vocabulary, c.width});

    ops::MultiheadAttentionParams attention;
    attention.attention = {.heads = c.heads,
                           .kv_heads = c.kv_heads,
                           .key_dim = c.key_dim,
                           .value_dim = c.value_dim,
                           .scale = c.attention_scale};
    attention.rope = c.rope;
    attention.norm_eps = c.norm_eps;

    auto x = g.template emit<ops::Embedding>({.in = {ids}, .w = {table}, .params = {.scale = c.embedding_scale}})[0];
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      const auto w = [&](std::string_view name, const Shape& shape) {
        return g.weight(Name::of("blk.", layer, ".", name), shape);
      };
      const auto mixed = g.template emit<ops::MultiheadAttention>(
          {.in = {x, positions},
           .w = {w("attn_norm.weight", Shape{c.width}), w("attn_q.weight", Shape{c.heads * c.key_dim, c.width}),
                 w("attn_k.weight", Shape{c.kv_heads * c.key_dim, c.width}),
                 w("attn_v.weight", Shape{c.kv_heads * c.value_dim, c.width}),
                 w("attn_output.weight", Shape{c.width, c.heads * c.value_dim})},
           .state = g.state({StateLifecycle::kv_paged, c.kv_dtype, 0, 0, {c.kv_heads, c.key_dim, c.value_dim, 0}}),
           .params = attention})[0];
      x = g.template emit<ops::ResidualAdd>({.in = {x, mixed}, .params = {.scale = c.residual_scale}})[0];
      const auto fed = g.template emit<ops::Swiglu>(
          {.in = {x},
           .w = {w("ffn_norm.weight", Shape{c.width}), w("ffn_gate.weight", Shape{c.ff, c.width}),
                 w("ffn_up.weight", Shape{c.ff, c.width}), w("ffn_down.weight", Shape{c.width, c.ff})},
           .params = {.norm_eps = c.norm_eps}})[0];
      x = g.template emit<ops::ResidualAdd>({.in = {x, fed}, .params = {.scale = c.residual_scale}})[0];
    }
    x = g.template emit<ops::Take>({.in = {x, wanted}})[0];
    auto head = g.optional_weight("output.weight", Shape{c.vocabulary, c.width});
    if (!head.present()) head = table;
    g.output("logits", g.template emit<ops::LmHeadLogits>(
                           {.in = {x},
                            .w = {g.weight("output_norm.weight", Shape{c.width}), head},
                            .params = {.norm_eps = c.norm_eps, .scale = 1.0f / c.logit_scale}})[0]);
  }
};
static_assert(zrt::model::CheckArch<Granite>::kOk && zrt::model::ReadsKeys<Granite>);

}  // namespace host
