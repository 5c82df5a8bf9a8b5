// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/nomic_bert.hpp: folders of Nomic BERT, without and with experts; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/encoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct NomicBertFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"NomicBertModel"});
  static constexpr auto shared_tensors =
      joined(std::to_array<TensorRule>({{"emb_ln", "token_embd_norm"},
                                        {"encoder.layers.*.attn.Wqkv", "blk.*.attn_qkv"},
                                        {"encoder.layers.*.attn.out_proj", "blk.*.attn_output"},
                                        {"encoder.layers.*.mlp.fc2", "blk.*.ffn_down"},
                                        {"encoder.layers.*.norm1", "blk.*.attn_output_norm"},
                                        {"encoder.layers.*.norm2", "blk.*.layer_output_norm"}}),
             kEncoderTensors);
  static constexpr auto tensors =
      joined(shared_tensors, std::to_array<TensorRule>({{"encoder.layers.*.mlp.fc11", "blk.*.ffn_up"},
                                                        {"encoder.layers.*.mlp.fc12", "blk.*.ffn_gate"}}));
  /// Files have no bias of experts.
  static constexpr auto expert_tensors = joined(
      shared_tensors, std::to_array<TensorRule>(
                          {{"encoder.layers.*.mlp.fc1", "blk.*.ffn_up"},
                           {"encoder.layers.*.mlp.router.layer", "blk.*.ffn_gate_inp"},
                           {"encoder.layers.*.mlp.experts.bias"},
                           {"encoder.layers.*.mlp.experts.mlp.w1", "blk.*.ffn_up_exps.weight", {.axes = Axes::experts}},
                           {"encoder.layers.*.mlp.experts.mlp.w2",
                            "blk.*.ffn_down_exps.weight",
                            {.rows = Rows::columns, .axes = Axes::experts}}}));

  /// Folders say more positions than the models were trained on.
  static void add_keys(Settings& in, Keys& out) {
    add_encoder_keys(in, out);
    const std::uint32_t positions = in.count({"n_positions"});
    if (in.count_if({"max_trained_positions"}).value_or(2048) != 2048 || (positions != 8192 && positions != 2048))
      in.refuse(Errc::invalid_metadata, "n_positions is ", positions, ", expected 8192 or 2048, trained on 2048");
    out.of_model("context_length", positions == 8192 ? 2048u : 512u);
  }
  static void add_moe_keys(Settings& in, Keys& out) {
    add_keys(in, out);
    out.of_model("moe_every_n_layers", in.count({"moe_every_n_layers"}));
    out.of_model("expert_used_count", in.count({"moe_top_k"}));
    const std::string_view activation = in.text({"activation_function"});
    if (activation != "gelu")
      in.refuse(Errc::unimplemented, "activation_function is '", detail::Quoted(activation).view(),
                "', expected gelu beside experts");
  }
  [[nodiscard]] static bool has_experts(Settings& in) { return in.count_if({"moe_every_n_layers"}).value_or(0) != 0; }
  [[nodiscard]] static HeadSizes expert_sizes(Settings& in) {
    HeadSizes sizes;
    sizes.experts = in.count({"num_local_experts", "num_experts"});
    return sizes;
  }

  static constexpr HubFamily family{.name = "nomic-bert",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_keys,
                                    .vocabulary = VocabularyFiles::word_piece,
                                    .pools = true,
                                    .add_vocabulary_keys = add_token_type_count};
  /// With experts, and XLM-RoBERTa's vocabulary.
  static constexpr HubFamily moe{.name = "nomic-bert-moe",
                                 .architectures = architectures,
                                 .tensors = expert_tensors,
                                 .add_keys = add_moe_keys,
                                 .vocabulary = VocabularyFiles::unigram,
                                 .pools = true,
                                 .suits = has_experts,
                                 .heads = expert_sizes,
                                 .add_vocabulary_keys = add_token_type_count};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
