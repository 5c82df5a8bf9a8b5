// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/gemma3.hpp: folders of Gemma 3, the decoder alone; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/gemma.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Gemma3Folder {
  static constexpr auto architectures =
      std::to_array<std::string_view>({"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"});

  /// What a configuration leaves out has the values of transformers' Gemma3TextConfig.
  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    const std::uint32_t head = in.count_if({"head_dim"}).value_or(256);
    out.of_model("context_length", in.count_if({"max_position_embeddings"}).value_or(131072));
    out.of_model("attention.head_count", in.count_if({"num_attention_heads"}).value_or(8));
    out.of_model("attention.head_count_kv", in.count_if({"num_key_value_heads"}).value_or(4));
    out.of_model("attention.layer_norm_rms_epsilon", in.number_if({"rms_norm_eps"}).value_or(1e-6f));
    out.of_model("attention.key_length", head);
    out.of_model("attention.value_length", head);
    out.of_model("rope.freq_base", static_cast<float>(RopeSettings(in).base().value_or(1e6)));
    if (const auto cap = in.number_if({"final_logit_softcapping"}); cap && *cap != 0.0f)
      out.of_model("final_logit_softcapping", *cap);
    if (in.count_if({"sliding_window_pattern"}).value_or(0) != 1)
      out.of_model("attention.sliding_window", in.count({"sliding_window"}));
    if (in.has({"attn_logit_softcapping"}))
      in.refuse(Errc::invalid_metadata, "attn_logit_softcapping is set, expected none of Gemma 3");
  }
  static void add_vocabulary_keys(Settings&, const TokenizerFiles&, Keys& out) {
    if (const auto* model = out.find("tokenizer.ggml.model");
        model != nullptr && *model == Keys::Value(std::string("llama")))
      out.set("tokenizer.ggml.add_space_prefix", false);
  }

  static constexpr HubFamily family{.name = "gemma3",
                                    .architectures = architectures,
                                    .tensors = kGemmaTensors,
                                    .add_keys = add_keys,
                                    .vocabulary = VocabularyFiles::sentence_piece_or_bpe,
                                    .add_vocabulary_keys = add_vocabulary_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
