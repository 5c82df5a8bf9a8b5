// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/modern_bert.hpp: folders of ModernBERT; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/encoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct ModernBertFolder {
  static constexpr auto architectures = std::to_array<std::string_view>(
      {"ModernBertModel", "ModernBertForMaskedLM", "ModernBertForSequenceClassification"});
  static constexpr auto renamings = std::to_array<Renaming>({{"model.", ""}});
  static constexpr auto tensors = std::to_array<TensorRule>({{"embeddings.tok_embeddings", "token_embd"},
                                                             {"embeddings.norm", "token_embd_norm"},
                                                             {"final_norm", "output_norm"},
                                                             {"layers.*.attn_norm", "blk.*.attn_norm"},
                                                             {"layers.*.mlp_norm", "blk.*.ffn_norm"},
                                                             {"layers.*.attn.Wqkv", "blk.*.attn_qkv"},
                                                             {"layers.*.attn.Wo", "blk.*.attn_output"},
                                                             {"layers.*.mlp.Wi", "blk.*.ffn_up"},
                                                             {"layers.*.mlp.Wo", "blk.*.ffn_down"},
                                                             {"head.dense", "cls"},
                                                             {"head.norm", "cls.norm"},
                                                             {"classifier", "cls.output"},
                                                             {"decoder"}});

  static void add_keys(Settings& in, Keys& out) {
    add_encoder_keys(in, out);
    out.of_model("attention.sliding_window", in.count({"local_attention"}));
    if (const auto every = in.count_if({"global_attn_every_n_layers"}))
      out.of_model("attention.sliding_window_pattern", *every);
    out.of_model("rope.scaling.type", std::string("none"));
    out.of_model("vocab_size", in.count({"vocab_size"}));
    if (const std::string_view act = in.text({"hidden_activation"}); !act.empty())
      out.of_model("hidden_activation", std::string(act));
  }
  /// Texts have a token on both sides, whatever else stands between two of them.
  static void add_vocabulary_keys(Settings&, const TokenizerFiles&, Keys& out) {
    for (const std::string_view key :
         {"tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token", "tokenizer.ggml.add_sep_token"})
      if (out.find(key) == nullptr) out.set(key, true);
  }

  static constexpr HubFamily family{.name = "modern-bert",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .renamings = renamings,
                                    .add_keys = add_keys,
                                    .pools = true,
                                    .add_vocabulary_keys = add_vocabulary_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
