// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/decoder.hpp: tensors and keys that most decoders share; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/hub/family.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Tensors by the names that most decoders have.
inline constexpr auto kDecoderTensors = std::to_array<TensorRule>({
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
    {"model.layers.*.input_layernorm", "blk.*.attn_norm"},
    {"model.layers.*.self_attn.q_proj", "blk.*.attn_q"},
    {"model.layers.*.self_attn.k_proj", "blk.*.attn_k"},
    {"model.layers.*.self_attn.v_proj", "blk.*.attn_v"},
    {"model.layers.*.self_attn.o_proj", "blk.*.attn_output"},
    {"model.layers.*.self_attn.qkv_proj", "blk.*.attn_qkv"},
    {"model.layers.*.self_attn.q_norm", "blk.*.attn_q_norm"},
    {"model.layers.*.self_attn.k_norm", "blk.*.attn_k_norm"},
    {"model.layers.*.self_attn.rotary_emb.inv_freq"},
    {"model.layers.*.post_attention_layernorm", "blk.*.ffn_norm"},
    {"model.layers.*.mlp.gate_proj", "blk.*.ffn_gate"},
    {"model.layers.*.mlp.up_proj", "blk.*.ffn_up"},
    {"model.layers.*.mlp.down_proj", "blk.*.ffn_down"},
    {"model.layers.*.mlp.gate_up_proj", "blk.*.ffn_up"},
    {"model.layers.*.mlp.gate", "blk.*.ffn_gate_inp"},
    {"model.layers.*.mlp.experts.*.gate_proj", "blk.*.ffn_gate_exps", {Rows::stacked}},
    {"model.layers.*.mlp.experts.*.up_proj", "blk.*.ffn_up_exps", {Rows::stacked}},
    {"model.layers.*.mlp.experts.*.down_proj", "blk.*.ffn_down_exps", {Rows::stacked}},
    {"model.layers.*.mlp.experts.gate_up_proj", "blk.*.ffn_gate_exps.weight", {Rows::first_half}},
    {"model.layers.*.mlp.experts.gate_up_proj", "blk.*.ffn_up_exps.weight", {Rows::second_half}},
    {"model.layers.*.mlp.experts.down_proj", "blk.*.ffn_down_exps.weight"},
    {"model.layers.*.mlp.shared_expert.gate_proj", "blk.*.ffn_gate_shexp"},
    {"model.layers.*.mlp.shared_expert.up_proj", "blk.*.ffn_up_shexp"},
    {"model.layers.*.mlp.shared_expert.down_proj", "blk.*.ffn_down_shexp"},
    {"model.layers.*.mlp.shared_expert_gate", "blk.*.ffn_gate_inp_shexp", {.axes = Axes::squeezed}},
});

/// For families whose files turn neighbours, where the folder turns values half a head apart.
inline constexpr auto kPairedTensors = std::to_array<TensorRule>({
    {"model.layers.*.self_attn.q_proj", "blk.*.attn_q", {Rows::query_pairs}},
    {"model.layers.*.self_attn.k_proj", "blk.*.attn_k", {Rows::key_pairs}},
});

/// For families that norm what attention and the MLP give, and not what they read.
inline constexpr auto kPostNormTensors = std::to_array<TensorRule>({
    {"model.layers.*.post_attention_layernorm", "blk.*.post_attention_norm"},
    {"model.layers.*.post_feedforward_layernorm", "blk.*.post_ffw_norm"},
});

/// Joins lists of rules. Every rule that fits a tensor makes one of it, in order.
template <std::size_t A, std::size_t B>
[[nodiscard]] constexpr std::array<TensorRule, A + B> joined(const std::array<TensorRule, A>& a,
                                                             const std::array<TensorRule, B>& b) noexcept {
  std::array<TensorRule, A + B> all{};
  for (std::size_t i = 0; i < A; ++i) all[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) all[A + i] = b[i];
  return all;
}

/// Heads of `num_attention_heads` and `num_key_value_heads`.
[[nodiscard]] inline HeadSizes decoder_heads(Settings& in) {
  HeadSizes sizes;
  sizes.heads = in.count({"num_attention_heads", "n_heads", "n_head"});
  sizes.kv_heads = in.count_if({"num_key_value_heads", "n_kv_heads"}).value_or(static_cast<std::uint32_t>(sizes.heads));
  const std::uint32_t width = in.count({"hidden_size", "n_embd", "dim"});
  if (const auto own = in.count_if({"head_dim"}))
    sizes.head_dim = *own;
  else if (sizes.heads != 0)
    sizes.head_dim = width / sizes.heads;
  return sizes;
}

/// The size of a head.
[[nodiscard]] inline std::uint32_t head_dim(Settings& in) {
  return static_cast<std::uint32_t>(decoder_heads(in).head_dim);
}

/// A part of `size`, from 0 to 1, as a whole number.
[[nodiscard]] inline std::uint32_t part_of(Settings& in, double part, std::uint32_t size) {
  if (part >= 0.0 && part <= 1.0) return static_cast<std::uint32_t>(part * static_cast<double>(size));
  in.refuse(Errc::invalid_metadata, "partial_rotary_factor is not between 0 and 1");
  return 0;
}

/// How many pairs of a head turn by each part of a position: time, height, width and a spare one.
inline void add_rope_sections(Settings& in, Keys& out) {
  const HubJson* said = hub::find(in.find({"rope_parameters", "rope_scaling"}), "mrope_section");
  if (said == nullptr || !said->is_array()) return;
  std::vector<std::int32_t> sections;
  for (const HubJson& section : *said)
    if (std::uint32_t pairs = 0; is_count(&section, pairs) && pairs < 1u << 16)
      sections.push_back(static_cast<std::int32_t>(pairs));
  if (sections.size() != said->size() || sections.size() > 4)
    in.refuse(Errc::invalid_metadata, "mrope_section is no list of at most 4 counts");
  sections.resize(4);
  out.of_model("rope.dimension_sections", std::move(sections));
}

/// How positions turn: base, type, factors.
inline void add_rope_keys(Settings& in, Keys& out) {
  const RopeSettings rope(in);
  const auto scaled = [&](std::string_view type) {
    out.of_model("rope.scaling.type", std::string(type));
    if (type != "longrope") out.of_model("rope.scaling.factor", static_cast<float>(rope.number("factor")));
  };
  const auto number = [&](std::string_view key, std::string_view name) {
    const auto value = rope.number_if(name);
    if (value) out.of_model(key, static_cast<float>(*value));
    return value.has_value();
  };
  const std::string_view type = rope.type();
  if (type == "linear") {
    scaled("linear");
  } else if (type == "yarn") {
    scaled("yarn");
    out.of_model("rope.scaling.original_context_length", rope.original_context());
    (void)number("rope.scaling.yarn_ext_factor", "extrapolation_factor");
    if (!number("rope.scaling.yarn_attn_factor", "attention_factor"))
      (void)number("rope.scaling.yarn_attn_factor", "attn_factor");
    (void)number("rope.scaling.yarn_beta_fast", "beta_fast");
    (void)number("rope.scaling.yarn_beta_slow", "beta_slow");
  } else if (type == "su" || type == "longrope") {
    scaled("longrope");
  } else if (!type.empty() && type != "default" && type != "mrope" && type != "llama3" && type != "dynamic" &&
             type != "proportional") {
    in.refuse(Errc::invalid_metadata, "rope_scaling is of type '", detail::Quoted(type).view(),
              "', expected linear, yarn, longrope or llama3");
  }
  add_rope_sections(in, out);
  if (const auto base = rope.base()) out.of_model("rope.freq_base", static_cast<float>(*base));
  if (const auto base = rope.windowed_base()) out.of_model("rope.freq_base_swa", static_cast<float>(*base));
}

/// Experts: how many, how many a token takes, how they are chosen.
inline void add_expert_keys(Settings& in, Keys& out) {
  const auto count = [&](std::string_view key, Aliases names) {
    if (const auto value = in.count_if(names)) out.of_model(key, *value);
  };
  count("expert_count", {"num_local_experts", "num_experts"});
  count("expert_used_count", {"num_experts_per_tok", "num_experts_per_token", "top_k_experts"});
  count("expert_group_count", {"n_group"});
  count("expert_group_used_count", {"topk_group"});
  const std::string_view scores = in.text({"score_function", "scoring_func", "score_func", "moe_router_activation",
                                           "moe_router_activation_func", "expert_selection_fn"});
  constexpr std::uint32_t kSoftmax = 1;
  constexpr std::uint32_t kSigmoid = 2;
  if (scores == "softmax" || scores == "sigmoid")
    out.of_model("expert_gating_func", scores == "softmax" ? kSoftmax : kSigmoid);
  else if (!scores.empty())
    in.refuse(Errc::invalid_metadata, "experts are chosen by '", detail::Quoted(scores).view(),
              "', expected softmax or sigmoid");
}

/// Sizes, norms, positions and experts of a decoder.
inline void add_decoder_keys(Settings& in, Keys& out) {
  const auto count = [&](std::string_view key, Aliases names) {
    if (const auto value = in.count_if(names)) out.of_model(key, *value);
  };
  const auto number = [&](std::string_view key, Aliases names) {
    if (const auto value = in.number_if(names)) out.of_model(key, *value);
  };
  out.of_model("block_count", in.count({"num_hidden_layers", "n_layers", "n_layer", "num_layers"}));
  count("context_length",
        {"max_position_embeddings", "n_ctx", "n_positions", "max_length", "max_sequence_length", "model_max_length"});
  count("embedding_length", {"hidden_size", "n_embd", "dim"});
  count("feed_forward_length", {"prefix_dense_intermediate_size", "intermediate_size", "n_inner", "hidden_dim"});
  count("attention.head_count", {"num_attention_heads", "n_head", "n_heads"});
  count("attention.head_count_kv", {"num_key_value_heads", "n_kv_heads"});
  add_rope_keys(in, out);
  number("attention.layer_norm_rms_epsilon", {"rms_norm_eps", "norm_eps"});
  number("attention.layer_norm_epsilon", {"layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"});
  add_expert_keys(in, out);
  count("attention.key_length", {"head_dim"});
  count("attention.value_length", {"head_dim"});
}

/// The width of what experts have inside, and of the one that all tokens take.
inline void add_expert_width_keys(Settings& in, Keys& out) {
  if (const auto value = in.count_if({"moe_intermediate_size"})) out.of_model("expert_feed_forward_length", *value);
  if (const auto value = in.count_if({"shared_expert_intermediate_size"}))
    out.of_model("expert_shared_feed_forward_length", *value);
}

/// Factors of Llama 3's positions, a tensor of one for each pair of a head.
inline void add_llama3_factors(Settings& in, Keys&, std::vector<MadeTensor>& tensors) {
  const RopeSettings rope(in);
  if (rope.type() != "llama3") return;
  const std::uint32_t dim = head_dim(in);
  const double base = rope.base().value_or(10000.0);
  const auto factor = static_cast<float>(rope.number_if("factor").value_or(8.0));
  const auto low = static_cast<float>(rope.number_if("low_freq_factor").value_or(1.0));
  const auto high = static_cast<float>(rope.number_if("high_freq_factor").value_or(4.0));
  const auto context = static_cast<float>(rope.number_if("original_max_position_embeddings").value_or(8192.0));
  std::vector<float> factors;
  for (std::uint32_t i = 0; i < dim; i += 2) {
    const float frequency = 1.0f / static_cast<float>(math::pow64(
                                       base, static_cast<double>(static_cast<float>(i) / static_cast<float>(dim))));
    const float wave = static_cast<float>(2.0 * 3.14159265358979323846) / frequency;
    const float smooth = (context / wave - low) / (high - low);
    float value = 1.0f / ((1.0f - smooth) / factor + smooth);
    if (wave < context / high) value = 1.0f;
    if (wave > context / low) value = factor;
    factors.push_back(value);
  }
  tensors.push_back(MadeTensor::of_values("rope_freqs.weight", std::move(factors)));
}

/// Which layers have a window, from `layer_types`, as the lists of files say.
[[nodiscard]] inline std::vector<bool> windowed_layers(Settings& in) {
  std::vector<bool> windowed;
  if (const HubJson* types = in.find({"layer_types"}); types != nullptr && types->is_array())
    for (const HubJson& type : *types) windowed.push_back(text_of(&type) == "sliding_attention");
  return windowed;
}

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
