// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/deepseek.hpp: folders of DeepSeek MoE; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Experts that every token takes, as one MLP.
inline constexpr auto kSharedExpertTensors =
    std::to_array<TensorRule>({{"model.layers.*.mlp.shared_experts.gate_proj", "blk.*.ffn_gate_shexp"},
                               {"model.layers.*.mlp.shared_experts.up_proj", "blk.*.ffn_up_shexp"},
                               {"model.layers.*.mlp.shared_experts.down_proj", "blk.*.ffn_down_shexp"}});

struct DeepseekFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"DeepseekForCausalLM"});
  static constexpr auto tensors = joined(kPairedTensors, kSharedExpertTensors);

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    out.of_model("rope.dimension_count", head_dim(in));
    out.of_model("rope.scaling.type", std::string("none"));
    out.of_model("leading_dense_block_count", in.count({"first_k_dense_replace"}));
    out.of_model("vocab_size", in.count({"vocab_size"}));
    out.of_model("expert_feed_forward_length", in.count({"moe_intermediate_size"}));
    out.of_model("expert_weights_scale", 1.0f);
    out.of_model("expert_count", in.count({"n_routed_experts"}));
    out.of_model("expert_shared_count", in.count({"n_shared_experts"}));
  }

  static constexpr HubFamily family{.name = "deepseek",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_keys,
                                    .vocabulary = VocabularyFiles::sentence_piece_or_bpe,
                                    .heads = decoder_heads};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
