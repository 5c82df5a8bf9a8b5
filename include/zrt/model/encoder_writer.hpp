// SPDX-License-Identifier: Apache-2.0
// zrt/model/encoder_writer.hpp: writes an encoder part by part: embedding, blocks in which every token sees the text, head.
#pragma once

#include <zrt/model/decoder_writer.hpp>
#include <zrt/ops/bias_act.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/flash_attn_varlen.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/rope.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Sizes and constants of an encoder. `window` counts the positions to both sides, without the query's own.
struct EncoderConfig : DecoderConfig {
  std::uint32_t token_types = 0;  ///< rows of token_types.weight
  std::uint32_t labels = 1;       ///< of the classification head
  std::uint32_t buckets = 0;      ///< of relative positions, each with a bias of scores
};

/// Keys that change what an encoder computes, with the values that do not.
inline constexpr auto kEncoderNeutral = neutral_keys(kInformationKeys, std::to_array<NeutralKey>({
                                                                           {"attention.causal"},
                                                                           {"attention.clamp_kqv"},
                                                                           {"attention.max_alibi_bias"},
                                                                           {"attention.scale"},
                                                                           {"attention.sliding_window"},
                                                                           {"classifier.output_labels", Neutral::any},
                                                                           {"expert_count"},
                                                                           {"moe_every_n_layers"},
                                                                       }));

/// What families of encoders have in common.
struct EncoderFamily {
  using Config = EncoderConfig;
  static constexpr auto neutral = kEncoderNeutral;

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    Config c;
    static_cast<DecoderConfig&>(c) = canonical_decoder();
    c.kv_heads = {4, 4};
    c.embeddings = c.whole_texts = true;
    c.token_types = 2;
    c.buckets = 8;
    c.window = 4;
    c.windowed = {0, 1};
    return {c};
  }
};

/// Reads sizes, MLP and heads of an encoder, and what the sizes of tensors say.
inline void read_encoder(ConfigReader& meta, EncoderConfig& c) noexcept {
  c.embeddings = c.whole_texts = true;
  read_sizes(meta, c);
  read_mlp(meta, c);
  read_heads(meta, c);
  constexpr std::string_view types = "tokenizer.ggml.token_type_count";
  if (meta.file().find(types) != nullptr) {
    const auto count = meta.file().get<std::uint32_t>(types);
    if (!count || *count > 1u << 20) return meta.refuse(Errc::invalid_metadata, types, " is no number up to 2^20");
    c.token_types = *count;
  }
  if (const GgufTensor* head = meta.file().find_tensor("cls.output.weight"); head != nullptr && head->rank == 2)
    c.labels = static_cast<std::uint32_t>(head->dims[1] < 1u << 20 ? head->dims[1] : 0);
}

/// Refuses slots longer than the positions that the model has vectors for.
inline void expect_learned_positions(ConfigReader& meta, const Config& c) noexcept {
  if (c.positions > c.context)
    meta.refuse(Errc::invalid_argument, "a slot of ", c.positions, " positions is asked for, the model has ",
                c.context);
}

/// Relative positions farther apart than this share a bucket: files have no key for it.
inline constexpr std::uint32_t kBucketDistance = 128;

/// The tensors that the files of one family of encoders hold and those of another do not.
struct EncoderTraits {
  std::string_view prefix = "blk.";  ///< of the names of a layer's tensors
  std::string_view attention_out = "attn_output";
  Has attention_bias = Has::never;  ///< of queries, keys, values and the output
  Has mlp_bias = Has::never;
  Has norm_bias = Has::never;
  bool fused_qkv = false;      ///< attn_qkv holds the rows of queries, keys and values
  bool fused_gate_up = false;  ///< ffn_up holds the rows of gate and up
  bool turned = false;         ///< queries and keys are rotated by their positions
};

/// The ops that the parts of EncoderWriter name.
using EncoderOps = boost::mp11::mp_list<ops::Embedding, ops::Linear, ops::Rope, ops::FlashAttnVarlen,
                                        ops::LayerNormRuns, ops::RmsNorm, ops::ResidualAdd, ops::Swiglu, ops::Take,
                                        ops::Constant, ops::Reshape, ops::BiasAct, ops::ElementwiseUnary>;

/// Writes an encoder. The constructor begins with the embedding, a family adds blocks layer by layer, and `finish` ends
/// with the rows that the batch asks for.
///
/// Ports: inputs tokens, positions si32 [tokens], rows si32 [rows]; output hidden f32 [rows, width], and scores f32
/// [rows, labels] where the file holds a classification head.
template <class G, NormKind kNorm = NormKind::layer> class EncoderWriter {
 public:
  using Value = typename G::Tensor;
  using Weight = typename G::Weight;

  constexpr EncoderWriter(G& g, const EncoderConfig& c, const EncoderTraits& traits) : g_(g), c_(c), traits_(traits) {
    const Dim tokens(1, g.symbol("tokens", 0));
    const Value ids = g.input("tokens", {DType::si32, Shape{tokens}});
    positions_ = g.input("positions", {DType::si32, Shape{tokens}});
    wanted_ = g.input("rows", {DType::si32, Shape{Dim(1, g.symbol("rows", 0))}});
    x_ = g.template emit<ops::Embedding>(
        {.in = {ids}, .w = {g.weight("token_embd.weight", Shape{c.vocabulary, c.width})}})[0];
  }

  [[nodiscard]] constexpr Value x() const noexcept { return x_; }
  constexpr void set(Value x) noexcept { x_ = x; }

  /// A tensor of a layer, absent where `has` says never, or maybe and the file lacks it.
  [[nodiscard]] constexpr Weight weight(unsigned layer, const Name& name, const Shape& shape, Has has = Has::always) {
    return tensor(Name::of(traits_.prefix, layer, ".", name.view()), shape, has);
  }
  [[nodiscard]] constexpr Weight tensor(const Name& name, const Shape& shape, Has has = Has::always) {
    if (has == Has::never) return Weight{};
    return has == Has::always ? g_.weight(name, shape) : g_.optional_weight(name, shape);
  }

  /// Adds the vector of token type 0, which every token has, where the file holds one.
  constexpr void add_token_type() {
    if (c_.token_types == 0) return;
    const Weight type =
        tensor(TensorRows::name("token_types.weight", 0, 1, c_.token_types), Shape{1, c_.width}, Has::maybe);
    if (!type.present()) return;
    const Value row = g_.template emit<ops::Constant>({.in = {}, .w = {type}})[0];
    const Value vector = g_.template emit<ops::Reshape>({.in = {row}, .params = {ShapeParams::of(Shape{c_.width})}})[0];
    x_ = g_.template emit<ops::BiasAct>({.in = {x_, vector}, .params = {.axis = 1}})[0];
  }
  /// Adds the vector of each position.
  constexpr void add_learned_positions() {
    const Weight places = g_.weight("position_embd.weight", Shape{c_.context, c_.width});
    x_ = sum(x_, g_.template emit<ops::Embedding>({.in = {positions_}, .w = {places}})[0]);
  }

  [[nodiscard]] constexpr Value sum(Value a, Value b) { return g_.template emit<ops::ResidualAdd>({.in = {a, b}})[0]; }
  /// `x` by the norm whose tensors begin with `name`, as it is where the file lacks an optional one.
  [[nodiscard]] constexpr Value normed(const Name& name, Value x, Has has = Has::always) {
    const Weight scale = tensor(Name::of(name.view(), ".weight"), Shape{c_.width}, has);
    if (!scale.present()) return x;
    if constexpr (kNorm == NormKind::rms) {
      return g_.template emit<ops::RmsNorm>(
          {.in = {x}, .w = {scale}, .params = {.eps = c_.norm_eps, .dim = c_.width}})[0];
    } else {
      const Weight bias = tensor(Name::of(name.view(), ".bias"), Shape{c_.width}, traits_.norm_bias);
      return g_.template emit<ops::LayerNormRuns>(
          {.in = {x}, .w = {scale, bias}, .params = {.eps = c_.norm_eps, .dim = c_.width}})[0];
    }
  }
  [[nodiscard]] constexpr Value normed(unsigned layer, std::string_view name, Value x, Has has = Has::always) {
    return normed(Name::of(traits_.prefix, layer, ".", name), x, has);
  }

  /// Attention of `x` over the whole text, or over the window of a layer that has one. `bias` [buckets, heads], optional,
  /// is added to scores by distance.
  [[nodiscard]] constexpr Value attention(unsigned layer, Value x, Weight bias = {}) {
    const EncoderConfig& c = c_;
    const std::uint32_t kv_heads = c.kv_heads[layer];
    const bool windowed = c.windowed[layer] != 0;
    const std::uint32_t rows[] = {c.heads * c.key_dim, kv_heads * c.key_dim, kv_heads * c.value_dim};
    constexpr std::string_view names[] = {"attn_q", "attn_k", "attn_v"};
    Value qkv[3]{};
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto part = [&](std::string_view end) {
        const Name own = Name::of(names[i], end);
        return traits_.fused_qkv
                   ? TensorRows::name(Name::of("attn_qkv", end).view(), first, rows[i], rows[0] + rows[1] + rows[2])
                   : own;
      };
      qkv[i] = g_.template emit<ops::Linear>(
          {.in = {x},
           .w = {weight(layer, part(".weight"), Shape{rows[i], c.width}),
                 weight(layer, part(".bias"), Shape{rows[i]}, traits_.attention_bias)}})[0];
      if (traits_.turned && i < 2)
        qkv[i] = g_.template emit<ops::Rope>(
            {.in = {qkv[i], positions_}, .w = {Weight{}}, .params = windowed ? c.windowed_rope : c.rope})[0];
      first += rows[i];
    }
    ops::FlashAttnVarlenParams p;
    p.heads = c.heads;
    p.kv_heads = kv_heads;
    p.key_dim = c.key_dim;
    p.value_dim = c.value_dim;
    p.scale = c.attention_scale;
    p.reach = windowed ? c.window / 2 : 0;
    p.max_distance = bias.present() ? kBucketDistance : 0;
    const Value mixed =
        g_.template emit<ops::FlashAttnVarlen>({.in = {qkv[0], qkv[1], qkv[2]}, .w = {bias}, .params = p})[0];
    return g_.template emit<ops::Linear>(
        {.in = {mixed},
         .w = {weight(layer, Name::of(traits_.attention_out, ".weight"), Shape{c.width, c.heads * c.value_dim}),
               weight(layer, Name::of(traits_.attention_out, ".bias"), Shape{c.width}, traits_.attention_bias)}})[0];
  }

  /// An MLP of `x`, gated or not.
  [[nodiscard]] constexpr Value mlp(unsigned layer, Value x, bool gated) {
    const std::uint32_t ff = c_.ff[layer];
    const Name gate =
        traits_.fused_gate_up ? TensorRows::name("ffn_up.weight", 0, ff, 2 * ff) : Name::of("ffn_gate.weight");
    return mlp(layer, x, gated ? weight(layer, gate, Shape{ff, c_.width}) : Weight{}, c_.activation);
  }
  /// An MLP of `x` with this gate, which may be absent, and this activation.
  [[nodiscard]] constexpr Value mlp(unsigned layer, Value x, Weight gate, Activation activation) {
    const std::uint32_t ff = c_.ff[layer];
    const Name up =
        traits_.fused_gate_up ? TensorRows::name("ffn_up.weight", ff, ff, 2 * ff) : Name::of("ffn_up.weight");
    ops::SwigluParams p;
    p.norm_eps = c_.norm_eps;
    p.gated.act = activation;
    return g_.template emit<ops::Swiglu>(
        {.in = {x},
         .w = {Weight{}, gate, weight(layer, up, Shape{ff, c_.width}),
               weight(layer, Name::of("ffn_down.weight"), Shape{c_.width, ff}), Weight{},
               weight(layer, Name::of("ffn_up.bias"), Shape{ff}, traits_.mlp_bias),
               weight(layer, Name::of("ffn_down.bias"), Shape{c_.width}, traits_.mlp_bias)},
         .params = p})[0];
  }

  /// Experts of `x` without a gate.
  [[nodiscard]] constexpr Value experts(unsigned layer, Value x) {
    const ExpertConfig& e = c_.experts;
    const auto matrices = [&](std::string_view name, std::uint32_t rows, std::uint32_t cols) {
      return weight(layer, Name::of(name), Shape{e.count, rows, cols});
    };
    Call<G, ops::Moe> call{.in = {x, {}}, .params = {.routing = e.routing, .gated = {c_.activation}}};
    call.w[ops::Moe::router] = weight(layer, Name::of("ffn_gate_inp.weight"), Shape{e.count, c_.width});
    call.w[ops::Moe::up] = matrices("ffn_up_exps.weight", e.ff, c_.width);
    call.w[ops::Moe::down] = matrices("ffn_down_exps.weight", c_.width, e.ff);
    return g_.template emit<ops::Moe>(call)[0];
  }

  /// The hidden states of the rows that the batch asks for, from the stream as it is.
  constexpr Value finish() {
    const Value rows = g_.template emit<ops::Take>({.in = {x_, wanted_}})[0];
    g_.output("hidden", rows);
    return rows;
  }

  /// The mean of the hidden states of the text that a row is of, for the rows that the batch asks for: attention whose
  /// scores are all 0. The width must be a multiple of the heads.
  [[nodiscard]] constexpr Value means() {
    ops::FlashAttnVarlenParams p;
    p.heads = p.kv_heads = c_.heads;
    p.key_dim = p.value_dim = c_.width / c_.heads;
    p.scale = 0.0f;
    const Value mean = g_.template emit<ops::FlashAttnVarlen>({.in = {x_, x_, x_}, .w = {Weight{}}, .params = p})[0];
    return g_.template emit<ops::Take>({.in = {mean, wanted_}})[0];
  }

  /// The classification head on `rows`, as far as the file holds one: tanh of a layer, then the labels.
  constexpr void classify(Value rows) {
    const Weight dense = tensor("cls.weight", Shape{c_.width, c_.width}, Has::maybe);
    const Weight dense_bias = tensor("cls.bias", Shape{c_.width}, dense.present() ? Has::maybe : Has::never);
    const Weight out = tensor("cls.output.weight", Shape{c_.labels, c_.width}, Has::maybe);
    const Weight out_bias = tensor("cls.output.bias", Shape{c_.labels}, out.present() ? Has::maybe : Has::never);
    if (!dense.present() && !out.present()) return;
    if (dense.present()) {
      rows = g_.template emit<ops::Linear>({.in = {rows}, .w = {dense, dense_bias}})[0];
      rows = g_.template emit<ops::ElementwiseUnary>({.in = {rows}, .params = {ops::UnaryKind::tanh}})[0];
    }
    if (out.present()) rows = g_.template emit<ops::Linear>({.in = {rows}, .w = {out, out_bias}})[0];
    g_.output("scores", rows);
  }

 private:
  G& g_;
  const EncoderConfig& c_;
  const EncoderTraits& traits_;
  Value x_{};
  Value positions_{};
  Value wanted_{};
};

/// Writes the layers of an encoder that `w` has begun, each with its norms behind the sums of its blocks, of which
/// `second(layer)` gives what follows attention. Returns the hidden states of the rows that the batch asks for.
template <class Writer, class Second>
constexpr auto finish_post_norm_encoder(Writer& w, const EncoderConfig& c, const Second& second) {
  w.set(w.normed(Name::of("token_embd_norm"), w.x()));
  for (unsigned layer = 0; layer < c.layers; ++layer) {
    w.set(w.normed(layer, "attn_output_norm", w.sum(w.attention(layer, w.x()), w.x())));
    w.set(w.normed(layer, "layer_output_norm", w.sum(second(layer), w.x())));
  }
  return w.finish();
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
