// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/glm4moe.hpp: folders of GLM 4.5; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/deepseek.hpp>
#include <zrt/model/hub/family/glm4.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Glm4MoeFolder {
  static constexpr auto architectures =
      std::to_array<std::string_view>({"Glm4MoeForCausalLM", "Glm4vMoeForConditionalGeneration"});
  static constexpr auto tensors = joined(
      kSharedExpertTensors,
      std::to_array<TensorRule>({{"model.layers.*.post_attention_layernorm", "blk.*.post_attention_norm"},
                                 {"model.layers.*.mlp.gate.e_score_correction_bias", "blk.*.exp_probs_b.bias"}}));

  static void add_keys(Settings& in, Keys& out) {
    constexpr std::uint32_t kSigmoid = 2;
    Glm4Folder::add_keys(in, out);
    const auto count = [&](std::string_view key, Aliases names) {
      if (const auto value = in.count_if(names)) out.of_model(key, *value);
    };
    count("expert_count", {"n_routed_experts"});
    count("expert_feed_forward_length", {"moe_intermediate_size"});
    count("expert_shared_count", {"n_shared_experts"});
    count("leading_dense_block_count", {"first_k_dense_replace"});
    out.of_model("expert_gating_func", kSigmoid);
    if (const auto scale = in.number_if({"routed_scaling_factor"})) out.of_model("expert_weights_scale", *scale);
    if (in.has({"norm_topk_prob"})) out.of_model("expert_weights_norm", in.flag({"norm_topk_prob"}));
  }

  static void add_vocabulary_keys(Settings& in, const TokenizerFiles& files, Keys& out) {
    set_glm_token(in, files, out, "bos_token_id", "[gMASK]", false);
    set_glm_token(in, files, out, "unknown_token_id", "<|endoftext|>", false);
    set_glm_token(in, files, out, "eot_token_id", "<|user|>");
    set_glm_token(in, files, out, "eom_token_id", "<|observation|>");
    name_glm_pre_tokenizer(out);
  }

  static constexpr HubFamily family{.name = "glm4moe",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_keys,
                                    .drops_later_layers = true,
                                    .add_vocabulary_keys = add_vocabulary_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
