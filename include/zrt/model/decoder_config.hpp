// SPDX-License-Identifier: Apache-2.0
// zrt/model/decoder_config.hpp: sizes and constants of a transformer decoder, and how files say them, part by part.
#pragma once

#include <zrt/model/family.hpp>
#include <zrt/ops/activation.hpp>
#include <zrt/ops/experts.hpp>
#include <zrt/ops/moe_gate_topk.hpp>
#include <zrt/ops/rope_frequencies.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Each layer has a state, whose number is a byte of the plan, and 255 is none.
inline constexpr std::uint32_t kMaxLayers = 254;

/// A value for each layer.
template <class T> using PerLayer = std::array<T, kMaxLayers>;

/// The experts of layers whose MLP is a mixture of them.
struct ExpertConfig {
  std::uint32_t count = 0;        ///< 0: every layer has an MLP
  std::uint32_t ff = 0;           ///< width of an expert
  std::uint32_t shared_ff = 0;    ///< width of the expert that every token takes; 0: there is none
  std::uint32_t first_layer = 0;  ///< layers before it have an MLP
  ops::MoeGateTopkParams routing{};
};

/// Sizes and constants of a decoder. What a family does not read keeps a value that changes nothing.
struct DecoderConfig : Config {
  std::uint32_t heads = 0;
  PerLayer<std::uint32_t> kv_heads{};
  std::uint32_t key_dim = 0;
  std::uint32_t value_dim = 0;
  PerLayer<std::uint32_t> ff{};
  ExpertConfig experts{};
  Activation activation = Activation::silu;
  float norm_eps = 1e-5f;
  ops::RopeParams rope{};
  std::uint32_t window = 0;           ///< positions that windowed layers see, the query's own included
  PerLayer<std::uint8_t> windowed{};  ///< 1 where a layer has the window
  ops::RopeParams windowed_rope{};    ///< the rotation of windowed layers
  float attention_scale = 1.0f;       ///< of scores
  float score_cap = 0.0f;             ///< scores become cap · tanh(s / cap); 0 for none
  float logit_cap = 0.0f;             ///< the same of logits
  float embedding_scale = 1.0f;
  float residual_scale = 1.0f;  ///< of each block's output
  float logit_scale = 1.0f;
};

/// The square root of `x`, rounded once from f64 by Newton's method, so that it is the same at compile time.
[[nodiscard]] constexpr double root(double x) noexcept {
  double r = x > 1.0 ? x / 2.0 : 1.0;
  for (int i = 0; i < 64; ++i) r = 0.5 * r + 0.5 * x / r;
  return r;
}
/// 1 / sqrt(dim): the usual scale of scores.
[[nodiscard]] constexpr float attention_scale(std::uint32_t dim) noexcept {
  return static_cast<float>(1.0 / root(dim));
}

/// Keys that inform, and change no arithmetic of a decoder.
inline constexpr auto kInformationKeys = std::to_array<NeutralKey>({
    {"vocab_size", Neutral::any},                    // token_embd.weight says it
    {"tensor_data_layout", Neutral::any},            // how attn_q and attn_k were permuted on their way into the file
    {"rope.scaling.finetuned", Neutral::any},        // whether the scaling was trained
    {"rope.scaling.yarn_ext_factor", Neutral::any},  // read where the scaling is yarn
    {"rope.scaling.yarn_attn_factor", Neutral::any},
    {"rope.scaling.yarn_beta_fast", Neutral::any},
    {"rope.scaling.yarn_beta_slow", Neutral::any},
    {"attention.layer_norm_epsilon", Neutral::any},  // of norms that subtract the mean
    {"expert_used_count", Neutral::any},             // expert_count says whether there are any
    {"pooling_type", Neutral::any},                  // of embeddings, behind the decoder
});

/// Keys that change what a decoder computes, with the values that do not.
inline constexpr auto kArithmeticKeys = std::to_array<NeutralKey>({
    {"expert_count"},
    {"expert_shared_feed_forward_length"},
    {"attention.causal", Neutral::yes},
    {"attention.clamp_kqv"},
    {"attention.max_alibi_bias"},
    {"attention.output_scale", Neutral::zero_or_one},
    {"attention.shared_kv_layers"},
    {"attention.temperature_scale"},
    {"attn_logit_softcapping"},
    {"embedding_scale", Neutral::zero_or_one},
    {"final_logit_softcapping"},
    {"logit_scale", Neutral::zero_or_one},
    {"nextn_predict_layers"},
    {"no_rope_layer_step"},
    {"residual_scale", Neutral::zero_or_one},
    {"rope.scaling.yarn_log_multiplier"},
    {"swin_norm"},
    {"use_parallel_residual"},
});

/// What a decoder's files may say unread. A key that a family reads is the family's, whether it stands here or not.
inline constexpr auto kDecoderNeutral = neutral_keys(kInformationKeys, kArithmeticKeys);

/// Reads what every model has: context, width, layers, and the vocabulary from the embedding's rows.
inline void read_sizes(ConfigReader& meta, Config& c) noexcept {
  // The bounds keep every later product of sizes within 64 bits.
  c.context = meta.count("context_length", 1u << 28);
  c.width = meta.count("embedding_length", 1u << 20);
  c.layers = meta.count("block_count", kMaxLayers);
  choose_positions(c);
  const GgufTensor* table = meta.file().find_tensor("token_embd.weight");
  if (table == nullptr || table->rank != 2)
    return meta.refuse(Errc::missing_weight, "the model has no matrix token_embd.weight");
  if (table->dims[1] > 0x7fffffffu) return meta.refuse(Errc::invalid_metadata, "the vocabulary does not fit 31 bits");
  c.vocabulary = static_cast<std::uint32_t>(table->dims[1]);
}

/// Reads the width of the MLP, by layer or for all. With `least` 0 a layer may have none.
inline void read_mlp(ConfigReader& meta, DecoderConfig& c, std::uint32_t least = 1) noexcept {
  constexpr std::string_view key = "feed_forward_length";
  constexpr std::uint32_t most = 1u << 22;
  if (!meta.per_layer(key, most, Span(c.ff).first(c.layers), least)) (void)meta.count(key, most);
}

/// Whether a file counts experts.
[[nodiscard]] inline bool has_experts(const ConfigReader& meta) noexcept {
  const Name key = meta.name_of("expert_count");
  const GgufValue* value = meta.file().find(key.view());
  return value != nullptr && value->as<std::uint32_t>(key.view()).value_or(0u) != 0;
}

/// Reads the experts: how many, how wide, and how tokens choose among them. `ff` is the width for files that name none;
/// with an `ff` of 0 the key is required. `routing` has the family's defaults.
inline void read_experts(ConfigReader& meta, DecoderConfig& c, std::uint32_t ff,
                         const ops::MoeGateTopkParams& routing) noexcept {
  constexpr std::uint32_t most = 1u << 22;
  ExpertConfig& e = c.experts;
  ops::MoeGateTopkParams& p = e.routing = routing;
  e.count = meta.count("expert_count", ops::kMaxExperts);
  p.used = meta.count("expert_used_count", e.count);
  constexpr std::string_view width = "expert_feed_forward_length";
  e.ff = ff == 0 ? meta.count(width, most) : meta.count(width, most, ff);
  e.first_layer = meta.count_or_zero("leading_dense_block_count", c.layers, 0);
  p.scale = meta.scale("expert_weights_scale", p.scale);
  p.normalise = meta.flag("expert_weights_norm", p.normalise != 0) ? 1 : 0;
  p.groups = meta.count("expert_group_count", e.count, p.groups);
  p.groups_used = meta.count("expert_group_used_count", p.groups, p.groups_used);
  // As llama.cpp numbers them, 0 is unknown.
  constexpr std::string_view gating = "expert_gating_func";
  const std::uint32_t function = meta.count_or_zero(gating, 255, 0);
  if (function > 3) meta.refuse(Errc::unimplemented, meta.name_of(gating).view(), " is ", function, ", expected 1..3");
  if (function != 0) p.gating = static_cast<ops::Gating>(function - 1);
}

/// Reads the width of the expert that every token takes, 0 where files have none.
inline void read_shared_expert(ConfigReader& meta, DecoderConfig& c, std::uint32_t fallback) noexcept {
  c.experts.shared_ff = meta.count_or_zero("expert_shared_feed_forward_length", 1u << 22, fallback);
}

/// Reads how many experts as wide as the others every token takes. They are one in files. Read the experts first.
inline void read_shared_count(ConfigReader& meta, DecoderConfig& c) noexcept {
  c.experts.shared_ff = c.experts.ff * meta.count_or_zero("expert_shared_count", 64, 0);
}

/// Reads heads, by layer where keys and values have their own number, and the widths of one head. With `least_kv` 0 a
/// layer may have none, and no attention.
inline void read_heads(ConfigReader& meta, DecoderConfig& c, std::uint32_t least_kv = 1) noexcept {
  constexpr std::uint32_t most = 1u << 12;
  c.heads = meta.count("attention.head_count", most);
  for (std::uint32_t& layer : c.kv_heads) layer = c.heads;
  meta.per_layer("attention.head_count_kv", c.heads, Span(c.kv_heads).first(c.layers), least_kv);
  for (const std::uint32_t kv_heads : Span(c.kv_heads).first(c.layers))
    if (kv_heads != 0 && c.heads % kv_heads != 0)
      meta.refuse(Errc::invalid_metadata, "attention.head_count is ", c.heads, ", expected a multiple of ", kv_heads,
                  " kv heads");
  const std::uint32_t even_split = c.width / c.heads;
  c.key_dim = meta.count("attention.key_length", 512, even_split);
  c.value_dim = meta.count("attention.value_length", 512, even_split);
  c.attention_scale = attention_scale(c.key_dim);
}

/// Reads the epsilon of norms that subtract the mean.
inline void read_layer_norm(ConfigReader& meta, DecoderConfig& c) noexcept {
  c.norm_eps = meta.number("attention.layer_norm_epsilon");
}

/// Reads the epsilon of the RMS norms.
inline void read_norm(ConfigReader& meta, DecoderConfig& c) noexcept {
  c.norm_eps = meta.number("attention.layer_norm_rms_epsilon");
}

/// Reads the rotation of `style`; its defaults are those of llama.cpp. Windowed layers rotate alike. Read the heads
/// first.
///
/// Refuses scaling types other than none, linear and yarn, and `other`, which stands for factors in a tensor.
inline void read_rope(ConfigReader& meta, DecoderConfig& c, ops::RopeStyle style,
                      std::string_view other = {}) noexcept {
  ops::RopeParams& rope = c.rope;
  rope.style = style;
  rope.head_dim = c.key_dim;
  rope.n_rot = meta.count("rope.dimension_count", c.key_dim, c.key_dim);
  rope.base = meta.number("rope.freq_base", 10000.0f);
  // Linear without a type, by the factor or by its old name; a factor of 0 is none.
  const std::string_view scaling = meta.text("rope.scaling.type", "linear");
  const float old_factor = meta.scale("rope.scale_linear", 1.0f);
  rope.factor = meta.scale("rope.scaling.factor", old_factor);
  rope.original_context = meta.count("rope.scaling.original_context_length", 1u << 30, c.context);
  rope.magnitude = meta.number("rope.scaling.attn_factor", 1.0f);
  if (!other.empty() && scaling == other) {
    if (rope.factor != 1.0f)
      meta.refuse(Errc::unimplemented, meta.name_of("rope.scaling.factor").view(), " is not 1, as ", other, " expects");
  } else if (scaling == "none") {
    rope.factor = 1.0f;
  } else if (scaling == "linear") {
    rope.scaling = rope.factor == 1.0f ? ops::RopeScaling::none : ops::RopeScaling::linear;
  } else if (scaling == "yarn") {
    rope.scaling = ops::RopeScaling::yarn;
    rope.magnitude *= meta.number("rope.scaling.yarn_attn_factor", 1.0f);
    rope.beta_fast = meta.number("rope.scaling.yarn_beta_fast", rope.beta_fast);
    rope.beta_slow = meta.number("rope.scaling.yarn_beta_slow", rope.beta_slow);
    // Below 0 is llama.cpp's way to leave it at 1.
    constexpr std::string_view mix_key = "rope.scaling.yarn_ext_factor";
    const float mix = meta.any_number(mix_key, 1.0f);
    if (!(mix < 0.0f) && mix != 1.0f)
      meta.refuse(Errc::unimplemented, meta.name_of(mix_key).view(), " is neither 1 nor below 0");
  } else {
    meta.refuse(Errc::unimplemented, meta.name_of("rope.scaling.type").view(), " is ", scaling,
                ", expected none, linear or yarn");
  }
  c.windowed_rope = rope;
}

/// Reads the attention window and which layers have it. Files without the window's key take `fallback`; with a
/// `fallback` of 0 the key is required. A file may list the layers in an array; otherwise every `period`-th layer has
/// no window.
inline void read_window(ConfigReader& meta, DecoderConfig& c, std::uint32_t fallback, std::uint32_t period) noexcept {
  constexpr std::string_view pattern = "attention.sliding_window_pattern";
  constexpr std::uint32_t most = 1u << 30;
  c.window = fallback == 0 ? meta.count("attention.sliding_window", most)
                           : meta.count("attention.sliding_window", most, fallback);
  if (meta.flag_per_layer(pattern, Span(c.windowed).first(c.layers))) return;
  period = meta.count(pattern, most, period);
  for (std::uint32_t layer = 0; layer < c.layers; ++layer) c.windowed[layer] = layer % period < period - 1 ? 1 : 0;
}

/// The state of a layer's keys and values. Windowed layers have a cache group of their own, whose pages go back behind
/// the window; a window that no slot outgrows is none.
[[nodiscard]] constexpr StateInfo kv_state(const DecoderConfig& c, std::uint32_t layer, std::uint32_t kv_heads,
                                           std::uint32_t key_dim, std::uint32_t value_dim) noexcept {
  const bool slides = c.windowed[layer] != 0 && c.window != 0 && c.window < c.positions;
  const std::uint8_t group = slides ? 1 : 0;
  return {StateLifecycle::kv_paged, c.kv_dtype, group, 0, {kv_heads, key_dim, value_dim, slides ? c.window : 0}};
}

/// Refuses an attention window that is shorter than a slot. For families without windows.
inline void expect_no_window(ConfigReader& meta, const Config& c) noexcept {
  const Name enough = Name::of("0 or at least the ", c.positions, " positions of a slot");
  meta.expect("attention.sliding_window", enough.view(), [&](double x) { return x <= 0.0 || x >= c.positions; });
}

/// Refuses scores that are not scaled by the inverse root of the key length. For families that do not read the scale.
inline void expect_usual_scale(ConfigReader& meta, const DecoderConfig& c) noexcept {
  meta.expect("attention.scale", "0 or the inverse root of the key length", [&](double x) {
    const double square = x * x * c.key_dim;
    return x == 0.0 || (x > 0.0 && square > 0.99999 && square < 1.00001);
  });
}

/// Reads the parts that nearly every decoder has: sizes, MLP, heads, norm and rotation.
inline void read_decoder(ConfigReader& meta, DecoderConfig& c, ops::RopeStyle style) noexcept {
  read_sizes(meta, c);
  read_mlp(meta, c);
  read_heads(meta, c);
  read_norm(meta, c);
  read_rope(meta, c, style);
}

/// Refuses attention with windows or scales of its own.
inline void expect_plain_attention(ConfigReader& meta, const DecoderConfig& c) noexcept {
  expect_usual_scale(meta, c);
  expect_no_window(meta, c);
}

/// Reads a decoder whose attention is plain.
inline void read_plain_decoder(ConfigReader& meta, DecoderConfig& c, ops::RopeStyle style) noexcept {
  read_decoder(meta, c, style);
  expect_plain_attention(meta, c);
}

/// The same with layer norms.
inline void read_layer_norm_decoder(ConfigReader& meta, DecoderConfig& c, ops::RopeStyle style) noexcept {
  read_sizes(meta, c);
  read_mlp(meta, c);
  read_heads(meta, c);
  read_layer_norm(meta, c);
  read_rope(meta, c, style);
  expect_plain_attention(meta, c);
}

/// A small model with every proportion of a real one, for building at compile time.
[[nodiscard]] constexpr DecoderConfig canonical_decoder() noexcept {
  DecoderConfig c;
  c.vocabulary = 96;
  c.context = c.positions = 64;
  c.width = 32;
  c.layers = 2;
  c.ff = {48, 48};
  c.heads = 4;
  c.kv_heads = {2, 2};
  c.key_dim = c.value_dim = 16;
  c.rope.head_dim = c.rope.n_rot = 16;
  c.windowed_rope = c.rope;
  return c;
}

/// Gives a small model experts, in every layer but the first `dense` ones.
constexpr void add_canonical_experts(DecoderConfig& c, std::uint32_t dense = 0) noexcept {
  c.experts.count = 4;
  c.experts.ff = 24;
  c.experts.first_layer = dense;
  c.experts.routing.used = 2;
}

/// A small model with experts in every layer but the first `dense` ones.
[[nodiscard]] constexpr DecoderConfig canonical_experts(DecoderConfig c, std::uint32_t dense = 0) noexcept {
  add_canonical_experts(c, dense);
  return c;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
