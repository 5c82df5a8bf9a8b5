// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/gemma4.hpp: the gemma4 family.
#pragma once

#include <zrt/model/gemma_decoder.hpp>
#include <zrt/ops/head_columns.hpp>
#include <zrt/ops/weight_scale.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Gemma 4, text: windowed and full layers with heads of their own sizes, normalised values, layers that read another's
/// keys and values, vectors of each token for each layer, and experts beside the MLP.
struct Gemma4 {
  static constexpr std::array<std::string_view, 1> names{"gemma4"};

  struct Config : DecoderConfig {
    std::uint32_t windowed_dim = 0;   ///< of a head of a windowed layer; key_dim is that of the others
    std::uint32_t shared_layers = 0;  ///< last layers, which have no keys and values of their own
    std::uint32_t token_dims = 0;     ///< of a token's vector for one layer; 0 for none

    [[nodiscard]] constexpr std::uint32_t head_dim(unsigned layer) const noexcept {
      return windowed[layer] != 0 ? windowed_dim : key_dim;
    }
  };

  static constexpr auto neutral = kDecoderNeutral;
  using Ops = boost::mp11::mp_append<
      ExpertDecoderOps, boost::mp11::mp_list<ops::Linear, ops::Rope, ops::HeadColumns, ops::RmsNormFusedRopeKvWrite,
                                             ops::FlashAttnBatched, ops::GatedAct, ops::WeightScale>>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_decoder(meta, c, ops::RopeStyle::neox);
    read_window(meta, c, 0, 6);
    c.activation = Activation::gelu_tanh;
    c.embedding_scale = static_cast<float>(root(c.width));
    c.attention_scale = 1.0f;
    c.logit_cap = meta.number_or_zero("final_logit_softcapping", 0.0f);
    c.windowed_dim = meta.count("attention.key_length_swa", 512);
    c.windowed_rope = {.head_dim = c.windowed_dim,
                       .n_rot = meta.count("rope.dimension_count_swa", c.windowed_dim, c.windowed_dim),
                       .base = meta.number("rope.freq_base_swa", 10000.0f),
                       .style = ops::RopeStyle::neox};
    c.shared_layers = meta.count_or_zero("attention.shared_kv_layers", c.layers, 0);
    c.token_dims = meta.count_or_zero("embedding_length_per_layer_input", 1u << 14, 0);
    if (c.token_dims != 0 && c.given_embeddings)
      meta.refuse(Errc::unimplemented, "each layer has vectors of tokens, which given embeddings have not");
    if (c.value_dim != c.key_dim || meta.count("attention.value_length_swa", 512, c.windowed_dim) != c.windowed_dim)
      meta.refuse(Errc::unimplemented, "values are of another length than keys, expected the same");
    expect_own_layers(meta, c);
    if (has_experts(meta)) read_experts(meta, c, 0, {.normalise = 1});
  }

  /// Plain, with the vectors of tokens and shared layers, and with experts.
  [[nodiscard]] static constexpr std::array<Config, 3> canonical() noexcept {
    Config c{canonical_gemma()};
    c.attention_scale = 1.0f;
    c.layers = 4;
    c.windowed = {1, 0, 1, 0};
    c.ff = {48, 48, 48, 48};
    c.kv_heads = {2, 1, 2, 1};
    c.windowed_dim = 8;
    c.windowed_rope.head_dim = c.windowed_rope.n_rot = 8;
    Config more = c;
    more.shared_layers = 2;
    more.kv_heads = {2, 2, 2, 2};
    more.token_dims = 4;
    Config experts = c;
    add_canonical_experts(experts);
    return {c, more, experts};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    DecoderWriter<G> w(g, c, kTraits);
    const auto token_vectors = c.token_dims == 0 ? typename G::Tensor{} : vectors(g, w, c);
    std::array<typename G::State, 2> caches{};  // of the last full and the last windowed layer
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      w.add(layer, attention(g, w, c, layer, caches), "post_attention_norm.weight");
      w.add(layer, c.experts.count == 0 ? w.mlp(layer) : mlp_and_experts(g, w, c, layer), "post_ffw_norm.weight");
      if (c.token_dims != 0) w.add(layer, token_block(g, w, c, layer, token_vectors));
      const auto scale = w.weight(layer, "layer_output_scale.weight", Shape{1}, Has::maybe);
      if (scale.present()) w.set(g.template emit<ops::WeightScale>({.in = {w.x()}, .w = {scale}})[0]);
    }
    w.finish();
  }

 private:
  static constexpr DecoderTraits kTraits{.post_norm = Has::always};

  /// Layers that share keys and values need a layer of their kind before them, which has its own.
  static void expect_own_layers(ConfigReader& meta, const Config& c) noexcept {
    std::array<bool, 2> own{};
    for (std::uint32_t layer = 0; layer < c.layers; ++layer) {
      bool& mine = own[c.windowed[layer] != 0 ? 1 : 0];
      if (layer >= c.layers - c.shared_layers && !mine)
        return meta.refuse(Errc::invalid_metadata, "layer ", layer,
                           " shares keys and values, expected a layer before it that has windows as it has");
      mine = true;
    }
  }

  template <class G> static constexpr auto linear(G& g, typename G::Tensor x, typename G::Weight weight) {
    return g.template emit<ops::Linear>({.in = {x}, .w = {weight, {}}})[0];
  }
  template <class G>
  static constexpr auto norm(G& g, typename G::Tensor x, typename G::Weight weight, float eps, std::uint32_t dim) {
    return g.template emit<ops::RmsNorm>({.in = {x}, .w = {weight}, .params = {.eps = eps, .dim = dim}})[0];
  }

  template <class G>
  static constexpr typename G::Tensor attention(G& g, DecoderWriter<G>& w, const Config& c, unsigned layer,
                                                std::array<typename G::State, 2>& caches) {
    const bool windowed = c.windowed[layer] != 0;
    const std::uint32_t dim = c.head_dim(layer);
    const std::uint32_t kv_heads = c.kv_heads[layer];
    const ops::RopeParams& rope = windowed ? c.windowed_rope : c.rope;
    const auto factors =
        windowed ? typename G::Weight{} : g.optional_weight("rope_freqs.weight", Shape{c.rope.n_rot / 2});
    const auto matrix = [&](std::string_view name, std::uint32_t rows, Has has = Has::always) {
      return w.weight(layer, name, Shape{rows, c.width}, has);
    };
    auto& cache = caches[windowed ? 1 : 0];
    const auto x = norm(g, w.x(), w.weight(layer, "attn_norm.weight", Shape{c.width}), c.norm_eps, c.width);
    const auto q = linear(g, x, matrix("attn_q.weight", c.heads * dim));
    const auto q_norm = w.weight(layer, "attn_q_norm.weight", Shape{dim});
    typename G::Tensor query{};
    if (layer < c.layers - c.shared_layers) {
      cache = g.state(kv_state(c, layer, kv_heads, dim, dim));
      const auto k = linear(g, x, matrix("attn_k.weight", kv_heads * dim));
      const auto own = matrix("attn_v.weight", kv_heads * dim, Has::maybe);
      const auto v = norm(g, own.present() ? linear(g, x, own) : k, {}, c.norm_eps, dim);
      query = g.template emit<ops::RmsNormFusedRopeKvWrite>(
          {.in = {q, k, v, w.positions()},
           .w = {q_norm, w.weight(layer, "attn_k_norm.weight", Shape{dim}), factors},
           .state = cache,
           .params = {.eps = c.norm_eps, .kv = {kv_heads, dim, dim}, .rope = rope}})[0];
    } else {
      query = g.template emit<ops::Rope>(
          {.in = {norm(g, q, q_norm, c.norm_eps, dim), w.positions()}, .w = {factors}, .params = rope})[0];
    }
    const auto mixed = g.template emit<ops::FlashAttnBatched>({.in = {query},
                                                               .state = cache,
                                                               .params = {.heads = c.heads,
                                                                          .kv_heads = kv_heads,
                                                                          .key_dim = dim,
                                                                          .value_dim = dim,
                                                                          .scale = c.attention_scale,
                                                                          .window = windowed ? c.window : 0}})[0];
    return linear(g, mixed, w.weight(layer, "attn_output.weight", Shape{c.width, c.heads * dim}));
  }

  /// The MLP and the experts side by side. The router reads the stream divided by its length, in its own scale.
  template <class G>
  static constexpr typename G::Tensor mlp_and_experts(G& g, DecoderWriter<G>& w, const Config& c, unsigned layer) {
    const std::uint32_t width = c.width;
    const ExpertConfig& e = c.experts;
    const auto vector = [&](std::string_view name) { return w.weight(layer, name, Shape{width}); };
    const auto normed = [&](auto x, std::string_view name) { return norm(g, x, vector(name), c.norm_eps, width); };
    const auto mlp = normed(w.mlp(layer), "post_ffw_norm_1.weight");
    const float inverse = attention_scale(width);
    const auto seen = g.template emit<ops::WeightScale>(
        {.in = {normed(w.x(), "ffn_gate_inp.scale")}, .w = {g.constant(Span<const float>(&inverse, 1))}})[0];
    Call<G, ops::Moe> moe;
    moe.in = {w.x(), seen};
    moe.w[ops::Moe::norm] = vector("pre_ffw_norm_2.weight");
    moe.w[ops::Moe::router] = w.weight(layer, "ffn_gate_inp.weight", Shape{e.count, width});
    moe.w[ops::Moe::up] = w.weight(layer, "ffn_gate_up_exps.weight", Shape{e.count, 2 * e.ff, width});
    moe.w[ops::Moe::down] = w.weight(layer, "ffn_down_exps.weight", Shape{e.count, width, e.ff});
    moe.w[ops::Moe::down_scale] = w.weight(layer, "ffn_down_exps.scale", Shape{e.count}, Has::maybe);
    moe.params = {.norm_eps = c.norm_eps, .routing = e.routing, .gated = {c.activation}, .fused = 1};
    const auto experts = normed(g.template emit<ops::Moe>(moe)[0], "post_ffw_norm_2.weight");
    return g.template emit<ops::ResidualAdd>({.in = {mlp, experts}})[0];
  }

  /// Each token's vectors for all layers, f32 [T, layers · token_dims], times the root of 2.
  template <class G> static constexpr typename G::Tensor vectors(G& g, DecoderWriter<G>& w, const Config& c) {
    const std::uint32_t all = c.layers * c.token_dims;
    const auto own =
        g.template emit<ops::Embedding>({.in = {w.tokens()},
                                         .w = {g.weight("per_layer_token_embd.weight", Shape{c.vocabulary, all})},
                                         .params = {.scale = static_cast<float>(root(c.token_dims))}})[0];
    const auto projected = linear(g, w.x(), g.weight("per_layer_model_proj.weight", Shape{all, c.width}));
    // The norm of what is divided by the root of the width is that with an epsilon times the width.
    const auto scaled = norm(g, projected, g.weight("per_layer_proj_norm.weight", Shape{c.token_dims}),
                             c.norm_eps * static_cast<float>(c.width), c.token_dims);
    return g.template emit<ops::ResidualAdd>({.in = {scaled, own}})[0];
  }

  /// The stream gates the tokens' vectors of this layer.
  template <class G>
  static constexpr typename G::Tensor token_block(G& g, DecoderWriter<G>& w, const Config& c, unsigned layer,
                                                  typename G::Tensor token_vectors) {
    const std::uint32_t dims = c.token_dims;
    const auto gate = linear(g, w.x(), w.weight(layer, "inp_gate.weight", Shape{dims, c.width}));
    const auto mine = g.template emit<ops::HeadColumns>(
        {.in = {token_vectors, {}}, .params = {1, c.layers * dims, layer * dims, dims}})[0];
    const auto gated =
        g.template emit<ops::GatedAct>({.in = {gate, mine}, .params = {.act = Activation::gelu_tanh}})[0];
    const auto back = linear(g, gated, w.weight(layer, "proj.weight", Shape{c.width, dims}));
    // What is divided by the root of 2, as the vectors are to be, has half the square.
    return norm(g, back, w.weight(layer, "post_norm.weight", Shape{c.width}), 2.0f * c.norm_eps, c.width);
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
