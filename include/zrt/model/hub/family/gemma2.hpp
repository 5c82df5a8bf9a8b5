// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/gemma2.hpp: folders of Gemma 2; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/gemma.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Gemma2Folder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Gemma2ForCausalLM"});

  static void add_keys(Settings& in, Keys& out) {
    out.of_model("block_count", in.count({"num_hidden_layers"}));
    out.of_model("context_length", in.count({"max_position_embeddings"}));
    out.of_model("embedding_length", in.count({"hidden_size"}));
    out.of_model("feed_forward_length", in.count({"intermediate_size"}));
    out.of_model("attention.head_count", in.count({"num_attention_heads"}));
    out.of_model("attention.head_count_kv", in.count({"num_key_value_heads", "num_attention_heads"}));
    out.of_model("attention.layer_norm_rms_epsilon", in.number({"rms_norm_eps"}));
    out.of_model("attention.key_length", in.count({"head_dim"}));
    out.of_model("attention.value_length", in.count({"head_dim"}));
    out.of_model("attn_logit_softcapping", in.number({"attn_logit_softcapping"}));
    out.of_model("final_logit_softcapping", in.number({"final_logit_softcapping"}));
    out.of_model("attention.sliding_window", in.count({"sliding_window"}));
  }
  static void add_vocabulary_keys(Settings&, const TokenizerFiles&, Keys& out) {
    out.set("tokenizer.ggml.add_space_prefix", false);
  }

  static constexpr HubFamily family{.name = "gemma2",
                                    .architectures = architectures,
                                    .tensors = kGemmaTensors,
                                    .add_keys = add_keys,
                                    .vocabulary = VocabularyFiles::sentence_piece,
                                    .add_vocabulary_keys = add_vocabulary_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
