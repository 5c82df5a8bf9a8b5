// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/deepseek2.hpp: folders of DeepSeek V2 and V3, and of Youtu and Kimi, which are like them; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/deepseek.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Keys and values come of a latent row: attention sees one head of keys, which the matrices of each head unfold.
struct Deepseek2Folder {
  static constexpr auto architectures = std::to_array<std::string_view>(
      {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "YoutuForCausalLM", "YoutuVLForConditionalGeneration",
       "KimiVLForConditionalGeneration", "KimiK25ForConditionalGeneration"});
  static constexpr auto tensors = joined(
      kSharedExpertTensors,
      std::to_array<TensorRule>({{"model.layers.*.self_attn.q_a_proj", "blk.*.attn_q_a"},
                                 {"model.layers.*.self_attn.q_a_layernorm", "blk.*.attn_q_a_norm"},
                                 {"model.layers.*.self_attn.q_b_proj", "blk.*.attn_q_b"},
                                 {"model.layers.*.self_attn.kv_a_proj_with_mqa", "blk.*.attn_kv_a_mqa"},
                                 {"model.layers.*.self_attn.kv_a_layernorm", "blk.*.attn_kv_a_norm"},
                                 {"model.layers.*.self_attn.kv_b_proj", "blk.*.attn_k_b", {Rows::head_keys}},
                                 {"model.layers.*.self_attn.kv_b_proj", "blk.*.attn_v_b", {Rows::head_values}},
                                 {"model.layers.*.mlp.gate.e_score_correction_bias", "blk.*.exp_probs_b.bias"}}));

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    const std::uint32_t latent = in.count_if({"kv_lora_rank"}).value_or(512);
    const std::uint32_t turned = in.count({"qk_rope_head_dim"});
    out.of_model("attention.head_count_kv", std::uint32_t{1});
    out.of_model("attention.layer_norm_rms_epsilon", in.number_if({"rms_norm_eps"}).value_or(1e-6f));
    out.of_model("leading_dense_block_count", leading_layers(in));
    out.of_model("vocab_size", in.count({"vocab_size"}));
    if (const auto rank = in.count_if({"q_lora_rank"})) out.of_model("attention.q_lora_rank", *rank);
    out.of_model("attention.kv_lora_rank", latent);
    out.of_model("attention.key_length", latent + turned);
    out.of_model("attention.value_length", latent);
    out.of_model("attention.key_length_mla", in.count({"qk_nope_head_dim"}) + turned);
    out.of_model("attention.value_length_mla", in.count({"v_head_dim"}));
    out.of_model("rope.dimension_count", turned);
    add_chosen_expert_keys(in, out);
    if (const auto scale = RopeSettings(in).number_if("mscale_all_dim"))
      out.of_model("rope.scaling.yarn_log_multiplier", static_cast<float>(0.1 * *scale));
  }
  static HeadSizes heads(Settings& in) {
    HeadSizes sizes;
    sizes.heads = in.count({"num_attention_heads"});
    sizes.key_rows = in.count({"qk_nope_head_dim"});
    sizes.value_rows = in.count({"v_head_dim"});
    return sizes;
  }

  static constexpr HubFamily family{.name = "deepseek2",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_keys,
                                    .drops_later_layers = true,
                                    .drops_tied_head = true,
                                    .heads = heads};

 private:
  /// Layers without experts: none where there are experts, all where there are none.
  [[nodiscard]] static std::uint32_t leading_layers(Settings& in) {
    if (const auto said = in.count_if({"first_k_dense_replace"})) return *said;
    return in.has({"n_routed_experts"}) ? 0 : in.count({"num_hidden_layers"});
  }
  static void add_chosen_expert_keys(Settings& in, Keys& out) {
    out.of_model("expert_feed_forward_length", in.count({"moe_intermediate_size", "intermediate_size"}));
    if (const auto count = in.count_if({"n_routed_experts"})) out.of_model("expert_count", *count);
    out.of_model("expert_shared_count", in.count_if({"n_shared_experts"}).value_or(0));
    if (const auto scale = in.number_if({"routed_scaling_factor"})) out.of_model("expert_weights_scale", *scale);
    if (in.flag({"norm_topk_prob"})) out.of_model("expert_weights_norm", true);
  }
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
