// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/distil_bert.hpp: folders of DistilBERT; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/encoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// BERT without types of tokens, under names of its own. Its classifiers are left out: they have a relu between their
/// two layers, where files of BERT have a tanh.
struct DistilBertFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"DistilBertModel", "DistilBertForMaskedLM"});
  static constexpr auto renamings = std::to_array<Renaming>({{"distilbert.", ""}, {"transformer.", ""}});
  static constexpr auto tensors =
      joined(std::to_array<TensorRule>({{"layer.*.attention.q_lin", "blk.*.attn_q"},
                                        {"layer.*.attention.k_lin", "blk.*.attn_k"},
                                        {"layer.*.attention.v_lin", "blk.*.attn_v"},
                                        {"layer.*.attention.out_lin", "blk.*.attn_output"},
                                        {"layer.*.sa_layer_norm", "blk.*.attn_output_norm"},
                                        {"layer.*.ffn.lin1", "blk.*.ffn_up"},
                                        {"layer.*.ffn.lin2", "blk.*.ffn_down"},
                                        {"layer.*.output_layer_norm", "blk.*.layer_output_norm"},
                                        {"embeddings.position_embeddings", "position_embd"},
                                        {"embeddings.LayerNorm", "token_embd_norm"},
                                        {"vocab_transform"},
                                        {"vocab_layer_norm"}}),
             kEncoderTensors);

  static void add_keys(Settings& in, Keys& out) {
    constexpr float kEpsilon = 1e-12f;  // no folder says it
    add_encoder_keys(in, out);
    out.of_model("attention.layer_norm_epsilon", kEpsilon);
  }

  static constexpr HubFamily family{.name = "bert",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .renamings = renamings,
                                    .add_keys = add_keys,
                                    .vocabulary = VocabularyFiles::word_piece,
                                    .pools = true,
                                    .add_vocabulary_keys = add_token_type_count};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
