// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/nemotron_h.hpp: folders of Nemotron H and Nemotron 3; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/granitehybrid.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// A layer is a mixer, attention, an MLP, or experts, all by the name of a mixer.
struct NemotronHFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"NemotronHForCausalLM"});
  static constexpr auto tensors = joined(
      std::to_array<TensorRule>({{"model.layers.*.mamba.q_proj", "blk.*.attn_q", {Rows::query_pairs}},
                                 {"model.layers.*.mamba.k_proj", "blk.*.attn_k", {Rows::key_pairs}},
                                 {"model.layers.*.mamba.v_proj", "blk.*.attn_v"},
                                 {"model.layers.*.mamba.o_proj", "blk.*.attn_output"},
                                 {"model.layers.*.mamba.up_proj", "blk.*.ffn_up"},
                                 {"model.layers.*.mamba.down_proj", "blk.*.ffn_down"},
                                 {"model.layers.*.mamba.gate", "blk.*.ffn_gate_inp"},
                                 {"model.layers.*.mamba.gate.e_score_correction_bias", "blk.*.exp_probs_b.bias"},
                                 {"model.layers.*.mamba.fc1_latent_proj", "blk.*.ffn_latent_down"},
                                 {"model.layers.*.mamba.fc2_latent_proj", "blk.*.ffn_latent_up"},
                                 {"model.layers.*.mamba.experts.*.up_proj", "blk.*.ffn_up_exps", {Rows::stacked}},
                                 {"model.layers.*.mamba.experts.*.down_proj", "blk.*.ffn_down_exps", {Rows::stacked}},
                                 {"model.layers.*.mamba.shared_experts.up_proj", "blk.*.ffn_up_shexp"},
                                 {"model.layers.*.mamba.shared_experts.down_proj", "blk.*.ffn_down_shexp"}}),
      kMamba2Tensors);

  /// Layers of one kind: a letter of `hybrid_override_pattern`, or a word of `layers_block_type`.
  [[nodiscard]] static std::vector<bool> layers_of(Settings& in, char letter, std::string_view word) {
    std::vector<bool> layers;
    for (const char each : in.text({"hybrid_override_pattern"})) layers.push_back(each == letter);
    const HubJson* types = in.find({"layers_block_type"});
    if (layers.empty() && types != nullptr && types->is_array())
      for (const HubJson& type : *types) layers.push_back(text_of(&type) == word);
    if (layers.size() != in.count({"num_hidden_layers"}))
      in.refuse(Errc::invalid_metadata, "hybrid_override_pattern has ", layers.size(),
                " layers, expected num_hidden_layers");
    return layers;
  }

  static void add_keys(Settings& in, Keys& out) {
    add_granite_keys(in, out);
    add_layer_keys(in, out,
                   for_layers(layers_of(in, '-', "mlp"), in.count({"intermediate_size", "n_inner", "hidden_dim"})));
  }
  static void add_vocabulary_keys(Settings&, const TokenizerFiles&, Keys& out) {
    out.set("tokenizer.ggml.add_bos_token", true);
  }

  static constexpr HubFamily family{.name = "nemotron_h",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .renamings = kBackboneNames,
                                    .add_keys = add_keys,
                                    .token_multiple = 8,
                                    .suits = [](Settings& in) { return !in.has({"num_experts_per_tok"}); },
                                    .heads = granite_hybrid_heads,
                                    .add_vocabulary_keys = add_vocabulary_keys};

  /// Keys of both families; `inner` says how wide each layer is inside.
  static void add_layer_keys(Settings& in, Keys& out, std::vector<std::int32_t> inner) {
    const std::uint64_t width = in.count({"mamba_head_dim", "hidden_size", "d_model"});
    add_hybrid_keys(in, out, layers_of(in, '*', "attention"), in.count({"num_heads", "mamba_num_heads"}) * width);
    const std::uint32_t head = in.count({"head_dim", "attention_head_dim"});
    out.of_model("attention.key_length", head);
    out.of_model("attention.value_length", head);
    out.of_model("feed_forward_length", std::move(inner));
  }
};

struct NemotronHMoeFolder {
  static void add_keys(Settings& in, Keys& out) {
    add_granite_keys(in, out);
    const std::uint32_t inner = in.count({"moe_intermediate_size"});
    NemotronHFolder::add_layer_keys(in, out, for_layers(NemotronHFolder::layers_of(in, 'E', "moe"), inner));
    out.of_model("expert_used_count", in.count({"num_experts_per_tok"}));
    out.of_model("expert_feed_forward_length", inner);
    out.of_model("expert_shared_feed_forward_length", in.count({"moe_shared_expert_intermediate_size"}));
    out.of_model("expert_count", in.count({"n_routed_experts"}));
    out.of_model("expert_shared_count", in.count({"n_shared_experts"}));
    out.of_model("expert_weights_norm", in.flag({"norm_topk_prob"}));
    out.of_model("expert_weights_scale", in.number({"routed_scaling_factor"}));
    out.of_model("expert_group_count", in.count({"n_group"}));
    if (const auto latent = in.count_if({"moe_latent_size"})) out.of_model("moe_latent_size", *latent);
  }

  static constexpr HubFamily family{.name = "nemotron_h_moe",
                                    .architectures = NemotronHFolder::architectures,
                                    .tensors = NemotronHFolder::tensors,
                                    .renamings = kBackboneNames,
                                    .add_keys = add_keys,
                                    .token_multiple = 8,
                                    .suits = [](Settings& in) { return in.has({"num_experts_per_tok"}); },
                                    .heads = granite_hybrid_heads};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
