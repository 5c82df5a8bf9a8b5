// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/bert.hpp: folders of BERT, RoBERTa and XLM-RoBERTa, as encoders and classifiers; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/encoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct BertFolder {
  static constexpr auto architectures =
      std::to_array<std::string_view>({"BertModel", "BertForMaskedLM", "BertForSequenceClassification"});
  static constexpr auto roberta_architectures =
      std::to_array<std::string_view>({"XLMRobertaModel", "XLMRobertaForSequenceClassification", "CamembertModel"});
  static constexpr auto bpe_architectures =
      std::to_array<std::string_view>({"RobertaModel", "RobertaForSequenceClassification"});
  /// Of older folders, too.
  static constexpr auto renamings =
      std::to_array<Renaming>({{"roberta.", ""}, {"bert.", ""}, {".gamma", ".weight"}, {".beta", ".bias"}});
  static constexpr auto layer_tensors =
      std::to_array<TensorRule>({{"encoder.layer.*.attention.self.query", "blk.*.attn_q"},
                                 {"encoder.layer.*.attention.self.key", "blk.*.attn_k"},
                                 {"encoder.layer.*.attention.self.value", "blk.*.attn_v"},
                                 {"encoder.layer.*.attention.output.dense", "blk.*.attn_output"},
                                 {"encoder.layer.*.attention.output.LayerNorm", "blk.*.attn_output_norm"},
                                 {"encoder.layer.*.intermediate.dense", "blk.*.ffn_up"},
                                 {"encoder.layer.*.output.dense", "blk.*.ffn_down"},
                                 {"encoder.layer.*.output.LayerNorm", "blk.*.layer_output_norm"},
                                 {"embeddings.LayerNorm", "token_embd_norm"},
                                 {"cls.predictions.transform.dense"},
                                 {"cls.predictions.transform.LayerNorm"},
                                 {"cls.predictions.decoder"},
                                 {"cls.predictions.bias"},
                                 {"cls.seq_relationship"}});
  static constexpr auto tensors =
      joined(layer_tensors,
             joined(std::to_array<TensorRule>({{"embeddings.position_embeddings", "position_embd"}}), kEncoderTensors));
  /// Positions begin behind that of padding.
  static constexpr auto roberta_tensors = joined(
      layer_tensors,
      joined(std::to_array<TensorRule>({{"embeddings.position_embeddings", "position_embd", {Rows::behind_padding}}}),
             kEncoderTensors));

  static void add_roberta_keys(Settings& in, Keys& out) {
    add_encoder_keys(in, out);
    const std::uint32_t positions = in.count({"max_position_embeddings"});
    const std::uint32_t padding = in.count({"pad_token_id"});
    if (padding >= positions)
      return in.refuse(Errc::invalid_metadata, "pad_token_id is ", padding, ", expected less than ", positions,
                       " positions");
    out.of_model("context_length", positions - padding - 1);
  }
  static HeadSizes roberta_heads(Settings& in) {
    HeadSizes sizes;
    sizes.left_out = std::uint64_t{in.count({"pad_token_id"})} + 1;
    return sizes;
  }

  static constexpr HubFamily family{.name = "bert",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .renamings = renamings,
                                    .add_keys = add_encoder_keys,
                                    .vocabulary = VocabularyFiles::word_piece,
                                    .pools = true,
                                    .add_vocabulary_keys = add_token_type_count};
  static constexpr HubFamily roberta{.name = "bert",
                                     .architectures = roberta_architectures,
                                     .tensors = roberta_tensors,
                                     .renamings = renamings,
                                     .add_keys = add_roberta_keys,
                                     .vocabulary = VocabularyFiles::unigram,
                                     .pools = true,
                                     .heads = roberta_heads,
                                     .add_vocabulary_keys = add_token_type_count};
  /// The older one, whose vocabulary is GPT-2's.
  static constexpr HubFamily bpe_roberta = [] {
    HubFamily made = roberta;
    made.architectures = bpe_architectures;
    made.vocabulary = VocabularyFiles::bpe;
    return made;
  }();
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
