// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/nomic_bert.hpp: folders of Nomic BERT; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/encoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct NomicBertFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"NomicBertModel"});
  static constexpr auto tensors =
      joined(std::to_array<TensorRule>({{"emb_ln", "token_embd_norm"},
                                        {"encoder.layers.*.attn.Wqkv", "blk.*.attn_qkv"},
                                        {"encoder.layers.*.attn.out_proj", "blk.*.attn_output"},
                                        {"encoder.layers.*.mlp.fc11", "blk.*.ffn_up"},
                                        {"encoder.layers.*.mlp.fc12", "blk.*.ffn_gate"},
                                        {"encoder.layers.*.mlp.fc2", "blk.*.ffn_down"},
                                        {"encoder.layers.*.norm1", "blk.*.attn_output_norm"},
                                        {"encoder.layers.*.norm2", "blk.*.layer_output_norm"}}),
             kEncoderTensors);

  /// Folders say more positions than the models were trained on.
  static void add_keys(Settings& in, Keys& out) {
    add_encoder_keys(in, out);
    const std::uint32_t positions = in.count({"n_positions"});
    if (in.count_if({"max_trained_positions"}).value_or(2048) != 2048 || (positions != 8192 && positions != 2048))
      in.refuse(Errc::invalid_metadata, "n_positions is ", positions, ", expected 8192 or 2048, trained on 2048");
    out.of_model("context_length", positions == 8192 ? 2048u : 512u);
    if (in.count_if({"moe_every_n_layers"}).value_or(0) != 0)
      in.refuse(Errc::unimplemented, "layers have experts, expected none");
  }

  static constexpr HubFamily family{.name = "nomic-bert",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_keys,
                                    .vocabulary = VocabularyFiles::word_piece,
                                    .pools = true,
                                    .add_vocabulary_keys = add_token_type_count};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
