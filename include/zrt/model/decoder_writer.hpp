// SPDX-License-Identifier: Apache-2.0
// zrt/model/decoder_writer.hpp: writes a decoder part by part: embedding, blocks around a residual stream, head.
#pragma once

#include <zrt/model/decoder_config.hpp>
#include <zrt/model/tensor_rows.hpp>
#include <zrt/ops/embedding.hpp>
#include <zrt/ops/layer_norm_runs.hpp>
#include <zrt/ops/lm_head_logits.hpp>
#include <zrt/ops/moe.hpp>
#include <zrt/ops/multihead_attention.hpp>
#include <zrt/ops/residual_add.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/swiglu.hpp>
#include <zrt/ops/take.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Whether a family's files hold a tensor.
enum class Has : std::uint8_t { never, maybe, always };

/// How a family's blocks and its head normalise what they read.
enum class NormKind : std::uint8_t { rms, layer };

/// The tensors that the files of one family hold and those of another do not.
struct DecoderTraits {
  Has qkv_bias = Has::never;
  Has output_bias = Has::never;
  Has mlp_bias = Has::never;   ///< of gate, up and down
  Has norm_bias = Has::never;  ///< of layer norms
  Has qk_norm = Has::never;
  Has post_norm = Has::never;       ///< of each block's output, before the sum
  Has sinks = Has::never;           ///< one more logit of each head
  Has expert_bias = Has::never;     ///< of the router, and of each expert's gate, up and down
  Has selection_bias = Has::never;  ///< of scores, where experts are chosen
  Has shared_router = Has::never;   ///< the gate of the expert that every token takes
  Has rope_factors = Has::never;
  std::string_view rope_factors_name = "rope_freqs.weight";
  std::string_view attention_norm = "attn_norm";  ///< of the attention's input; empty for none
  std::string_view mlp_norm = "ffn_norm";         ///< of the MLP's input; empty for none
  std::string_view output_norm = "output_norm";
  bool learned_positions = false;  ///< position_embd holds a vector for each position
  bool parallel = false;           ///< the MLP reads the stream before attention is added to it
  bool gated_mlp = true;
  bool fused_qkv = false;      ///< attn_qkv holds the rows of queries, keys and values
  bool fused_gate_up = false;  ///< ffn_up holds the rows of gate and up
};

/// The ops that the parts of DecoderWriter name, with norms of either kind.
using DecoderOps = boost::mp11::mp_list<ops::Embedding, ops::MultiheadAttention, ops::RmsNorm, ops::ResidualAdd,
                                        ops::Swiglu, ops::Take, ops::LmHeadLogits>;
using LayerNormDecoderOps = boost::mp11::mp_list<ops::Embedding, ops::MultiheadAttention, ops::LayerNormRuns,
                                                 ops::ResidualAdd, ops::Swiglu, ops::Take, ops::LmHead>;
/// The same with those of a mixture of experts.
using ExpertDecoderOps = boost::mp11::mp_push_back<DecoderOps, ops::Moe>;

/// Writes a decoder. The constructor begins with the embedding, a family adds blocks layer by layer, and `finish` ends
/// with the head.
///
/// Ports: inputs tokens, positions si32 [tokens], rows si32 [rows], and where the host asks for it embeddings f32 [tokens,
/// given_width], of which the rows of tokens below 0 count; output logits f32 [rows, V].
template <class G, NormKind kNorm = NormKind::rms> class DecoderWriter {
 public:
  using Value = typename G::Tensor;
  using Weight = typename G::Weight;

  constexpr DecoderWriter(G& g, const DecoderConfig& c, const DecoderTraits& traits)
      : DecoderWriter(g, c, traits, [](Value given, const Shape&) { return given; }) {}
  /// The same where `first` makes the rows of the first layer of the given ones, from their value and shape.
  template <class First>
  constexpr DecoderWriter(G& g, const DecoderConfig& c, const DecoderTraits& traits, const First& first)
      : g_(g), c_(c), traits_(traits) {
    const Dim tokens(1, g.symbol("tokens", 0));
    tokens_ = g.input("tokens", {DType::si32, Shape{tokens}});
    rows_ = Shape{tokens};
    positions_ = g.input("positions", {DType::si32, rows_});
    wanted_ = g.input("rows", {DType::si32, Shape{Dim(1, g.symbol("rows", 0))}});
    table_ = g.weight("token_embd.weight", Shape{c.vocabulary, c.width});
    factors_ = tensor(traits.rope_factors, traits.rope_factors_name, Shape{c.rope.n_rot / 2});
    const Shape rows{tokens, c.given_width()};
    const Value given = c.given_embeddings ? first(g.input("embeddings", {DType::f32, rows}), rows) : Value{};
    x_ = g.template emit<ops::Embedding>(
        {.in = {tokens_, given}, .w = {table_}, .params = {.scale = c.embedding_scale}})[0];
    if (!traits.learned_positions) return;
    const Weight places = g.weight("position_embd.weight", Shape{c.context, c.width});
    const Value place = g.template emit<ops::Embedding>({.in = {positions_}, .w = {places}})[0];
    x_ = g.template emit<ops::ResidualAdd>({.in = {x_, place}})[0];
  }

  /// The residual stream, f32 [tokens, width].
  [[nodiscard]] constexpr Value x() const noexcept { return x_; }
  /// What the layer made of the stream by ops of its own.
  constexpr void set(Value x) noexcept { x_ = x; }
  /// Divides the frequencies of all rotations by `factors`, of a family that does not find them in a tensor.
  constexpr void set_rope_factors(Weight factors) noexcept { factors_ = factors; }
  /// The ids of the step's tokens.
  [[nodiscard]] constexpr Value tokens() const noexcept { return tokens_; }
  /// The positions of the step's tokens.
  [[nodiscard]] constexpr Value positions() const noexcept { return positions_; }
  /// The table of embeddings.
  [[nodiscard]] constexpr Weight table() const noexcept { return table_; }
  /// The shape of a number for each row of a step.
  [[nodiscard]] constexpr const Shape& rows() const noexcept { return rows_; }

  /// A tensor of a layer, absent where `has` says never, or maybe and the file lacks it.
  [[nodiscard]] constexpr Weight weight(unsigned layer, const Name& name, const Shape& shape, Has has = Has::always) {
    return tensor(has, Name::of("blk.", layer, ".", name.view()), shape);
  }

  /// What a block reads: a value, and the norm that the block applies to it itself, if any.
  struct Input {
    Value x{};
    Weight norm{};
  };
  /// The stream as a block reads it, by the norm of that name. Blocks apply root-mean-square norms themselves.
  [[nodiscard]] constexpr Input normed(unsigned layer, std::string_view norm) {
    if (norm.empty()) return {x_, {}};
    const Weight scale = weight(layer, Name::of(norm, ".weight"), Shape{c_.width});
    if constexpr (kNorm == NormKind::rms)
      return {x_, scale};
    else
      return {layer_norm(scale, weight(layer, Name::of(norm, ".bias"), Shape{c_.width}, traits_.norm_bias)), {}};
  }

  /// Adds the output of a block to the stream, after the norm of that name where the files hold one.
  constexpr void add(unsigned layer, Value block, std::string_view post_norm = {}) {
    const Weight norm = post_norm.empty() ? Weight{} : weight(layer, post_norm, Shape{c_.width}, traits_.post_norm);
    if constexpr (kNorm == NormKind::rms)
      if (norm.present())
        block = g_.template emit<ops::RmsNorm>(
            {.in = {block}, .w = {norm}, .params = {.eps = c_.norm_eps, .dim = c_.width}})[0];
    x_ = g_.template emit<ops::ResidualAdd>({.in = {x_, block}, .params = {.scale = c_.residual_scale}})[0];
  }

  /// Attention over the stream.
  [[nodiscard]] constexpr Value attention(unsigned layer) {
    return g_.template emit<ops::MultiheadAttention>(attention_call(layer))[0];
  }
  /// What `attention` emits, for a family that emits the parts of it with ops of its own between them.
  [[nodiscard]] constexpr Call<G, ops::MultiheadAttention> attention_call(unsigned layer) {
    const DecoderConfig& c = c_;
    const std::uint32_t kv_heads = c.kv_heads[layer];
    const std::uint32_t q_rows = c.heads * c.key_dim;
    const std::uint32_t k_rows = kv_heads * c.key_dim;
    const std::uint32_t v_rows = kv_heads * c.value_dim;
    const std::uint32_t all_rows = q_rows + k_rows + v_rows;
    const auto matrix = [&](std::string_view own, std::uint32_t first, std::uint32_t count) {
      return weight(layer, part(traits_.fused_qkv, own, "attn_qkv", ".weight", first, count, all_rows),
                    Shape{count, c.width});
    };
    const auto bias = [&](std::string_view own, std::uint32_t first, std::uint32_t count) {
      return weight(layer, part(traits_.fused_qkv, own, "attn_qkv", ".bias", first, count, all_rows), Shape{count},
                    traits_.qkv_bias);
    };
    const auto [x, norm] = normed(layer, traits_.attention_norm);
    ops::MultiheadAttentionParams p;
    p.attention = {.heads = c.heads,
                   .kv_heads = kv_heads,
                   .key_dim = c.key_dim,
                   .value_dim = c.value_dim,
                   .scale = c.attention_scale,
                   .soft_cap = c.score_cap,
                   .window = c.windowed[layer] != 0 ? c.window : 0};
    p.rope = c.windowed[layer] != 0 ? c.windowed_rope : c.rope;
    p.norm_eps = c.norm_eps;
    const auto cache = g_.state(kv_state(c, layer, kv_heads, c.key_dim, c.value_dim));
    return {.in = {x, positions_},
            .w = {norm, matrix("attn_q", 0, q_rows), matrix("attn_k", q_rows, k_rows),
                  matrix("attn_v", q_rows + k_rows, v_rows),
                  weight(layer, "attn_output.weight", Shape{c.width, c.heads * c.value_dim}), bias("attn_q", 0, q_rows),
                  bias("attn_k", q_rows, k_rows), bias("attn_v", q_rows + k_rows, v_rows),
                  weight(layer, "attn_output.bias", Shape{c.width}, traits_.output_bias),
                  weight(layer, "attn_q_norm.weight", Shape{c.key_dim}, traits_.qk_norm),
                  weight(layer, "attn_k_norm.weight", Shape{c.key_dim}, traits_.qk_norm), factors_,
                  weight(layer, "attn_sinks.weight", Shape{c.heads}, traits_.sinks)},
            .state = cache,
            .params = p};
  }

  /// An MLP over the stream.
  [[nodiscard]] constexpr Value mlp(unsigned layer) { return mlp(layer, normed(layer, traits_.mlp_norm)); }
  /// An MLP over `input`.
  [[nodiscard]] constexpr Value mlp(unsigned layer, const Input& input) {
    const std::uint32_t ff = c_.ff[layer];
    const std::uint32_t width = c_.width;
    const auto matrix = [&](std::string_view own, std::uint32_t first) {
      return weight(layer, part(traits_.fused_gate_up, own, "ffn_up", ".weight", first, ff, 2 * ff), Shape{ff, width});
    };
    const auto bias = [&](std::string_view name, std::uint32_t size) {
      return weight(layer, name, Shape{size}, traits_.mlp_bias);
    };
    ops::SwigluParams p;
    p.norm_eps = c_.norm_eps;
    p.gated.act = c_.activation;
    return g_.template emit<ops::Swiglu>(
        {.in = {input.x},
         .w = {input.norm, traits_.gated_mlp ? matrix("ffn_gate", 0) : Weight{}, matrix("ffn_up", ff),
               weight(layer, "ffn_down.weight", Shape{width, ff}),
               traits_.gated_mlp ? bias("ffn_gate.bias", ff) : Weight{}, bias("ffn_up.bias", ff),
               bias("ffn_down.bias", width)},
         .params = p})[0];
  }

  /// A mixture of experts over the stream.
  [[nodiscard]] constexpr Value experts(unsigned layer) {
    const ExpertConfig& e = c_.experts;
    const std::uint32_t width = c_.width;
    const auto matrices = [&](std::string_view name, std::uint32_t rows, std::uint32_t cols) {
      return weight(layer, name, Shape{e.count, rows, cols});
    };
    const auto bias = [&](std::string_view name, std::uint32_t size) {
      return weight(layer, name, Shape{e.count, size}, traits_.expert_bias);
    };
    const auto shared = [&](std::string_view name, const Shape& shape, Has has = Has::always) {
      return weight(layer, name, shape, e.shared_ff == 0 ? Has::never : has);
    };
    const ops::MoeParams p{.norm_eps = c_.norm_eps, .routing = e.routing, .gated = {c_.activation}};
    const auto [x, norm] = normed(layer, traits_.mlp_norm);
    return g_.template emit<ops::Moe>({.in = {x, {}},
                                       .w = {norm,
                                             weight(layer, "ffn_gate_inp.weight", Shape{e.count, width}),
                                             weight(layer, "ffn_gate_inp.bias", Shape{e.count}, traits_.expert_bias),
                                             weight(layer, "exp_probs_b.bias", Shape{e.count}, traits_.selection_bias),
                                             matrices("ffn_gate_exps.weight", e.ff, width),
                                             matrices("ffn_up_exps.weight", e.ff, width),
                                             bias("ffn_gate_exps.bias", e.ff),
                                             bias("ffn_up_exps.bias", e.ff),
                                             matrices("ffn_down_exps.weight", width, e.ff),
                                             bias("ffn_down_exps.bias", width),
                                             {},
                                             shared("ffn_gate_shexp.weight", Shape{e.shared_ff, width}),
                                             shared("ffn_up_shexp.weight", Shape{e.shared_ff, width}),
                                             shared("ffn_down_shexp.weight", Shape{width, e.shared_ff}),
                                             shared("ffn_gate_inp_shexp.weight", Shape{width}, traits_.shared_router)},
                                       .params = p})[0];
  }

  /// The head, or the last norm where hidden states are wanted: only the rows that the batch asks for reach it. Returns
  /// the logits or the hidden states.
  constexpr Value finish() {
    x_ = g_.template emit<ops::Take>({.in = {x_, wanted_}})[0];
    if (c_.embeddings) return finish_hidden();
    Weight head = g_.optional_weight("output.weight", Shape{c_.vocabulary, c_.width});
    if (!head.present()) head = table_;
    const Weight scale = g_.weight(Name::of(traits_.output_norm, ".weight"), Shape{c_.width});
    Value logits{};
    if constexpr (kNorm == NormKind::rms) {
      logits = g_.template emit<ops::LmHeadLogits>(
          {.in = {x_},
           .w = {scale, head},
           .params = {.norm_eps = c_.norm_eps, .scale = c_.logit_scale, .soft_cap = c_.logit_cap}})[0];
    } else {
      const Weight bias = tensor(traits_.norm_bias, Name::of(traits_.output_norm, ".bias"), Shape{c_.width});
      logits = g_.template emit<ops::LmHead>({.in = {layer_norm(scale, bias)},
                                              .w = {head},
                                              .params = {.scale = c_.logit_scale, .soft_cap = c_.logit_cap}})[0];
    }
    g_.output("logits", logits);
    return logits;
  }

 private:
  constexpr Value finish_hidden() {
    // Files of decoders hold a head all the same.
    (void)g_.optional_weight("output.weight", Shape{c_.vocabulary, c_.width});
    const Weight scale = g_.weight(Name::of(traits_.output_norm, ".weight"), Shape{c_.width});
    Value hidden{};
    if constexpr (kNorm == NormKind::rms) {
      hidden = g_.template emit<ops::RmsNorm>(
          {.in = {x_}, .w = {scale}, .params = {.eps = c_.norm_eps, .dim = c_.width}})[0];
    } else {
      const Weight bias = tensor(traits_.norm_bias, Name::of(traits_.output_norm, ".bias"), Shape{c_.width});
      hidden = layer_norm(scale, bias);
    }
    g_.output("hidden", hidden);
    return hidden;
  }

  [[nodiscard]] constexpr Weight tensor(Has has, const Name& name, const Shape& shape) {
    if (has == Has::never) return Weight{};
    return has == Has::always ? g_.weight(name, shape) : g_.optional_weight(name, shape);
  }
  /// The name of a tensor of its own, or of `count` rows of a fused one of `total` from `first` on.
  [[nodiscard]] static constexpr Name part(bool fused, std::string_view own, std::string_view whole,
                                           std::string_view end, std::uint32_t first, std::uint32_t count,
                                           std::uint32_t total) noexcept {
    return fused ? TensorRows::name(Name::of(whole, end).view(), first, count, total) : Name::of(own, end);
  }
  [[nodiscard]] constexpr Value layer_norm(Weight scale, Weight bias) {
    return g_.template emit<ops::LayerNormRuns>(
        {.in = {x_}, .w = {scale, bias}, .params = {.eps = c_.norm_eps, .dim = c_.width}})[0];
  }

  G& g_;
  const DecoderConfig& c_;
  const DecoderTraits& traits_;
  Value x_{};
  Value tokens_{};
  Shape rows_{};
  Value positions_{};
  Value wanted_{};
  Weight table_{};
  Weight factors_{};
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
