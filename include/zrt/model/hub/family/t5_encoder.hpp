// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/t5_encoder.hpp: folders of encoders of T5; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct T5EncoderFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"T5EncoderModel"});
  static constexpr auto tensors = std::to_array<TensorRule>(
      {{"shared", "token_embd"},
       {"encoder.embed_tokens"},
       {"encoder.final_layer_norm", "enc.output_norm"},
       {"encoder.block.*.layer.0.SelfAttention.q", "enc.blk.*.attn_q"},
       {"encoder.block.*.layer.0.SelfAttention.k", "enc.blk.*.attn_k"},
       {"encoder.block.*.layer.0.SelfAttention.v", "enc.blk.*.attn_v"},
       {"encoder.block.*.layer.0.SelfAttention.o", "enc.blk.*.attn_o"},
       {"encoder.block.*.layer.0.SelfAttention.relative_attention_bias", "enc.blk.*.attn_rel_b"},
       {"encoder.block.*.layer.0.layer_norm", "enc.blk.*.attn_norm"},
       {"encoder.block.*.layer.1.DenseReluDense.wi", "enc.blk.*.ffn_up"},
       {"encoder.block.*.layer.1.DenseReluDense.wi_0", "enc.blk.*.ffn_gate"},
       {"encoder.block.*.layer.1.DenseReluDense.wi_1", "enc.blk.*.ffn_up"},
       {"encoder.block.*.layer.1.DenseReluDense.wo", "enc.blk.*.ffn_down"},
       {"encoder.block.*.layer.1.layer_norm", "enc.blk.*.ffn_norm"}});

  static void add_keys(Settings& in, Keys& out) {
    out.of_model("context_length", in.count_if({"n_positions"}).value_or(512));
    out.of_model("embedding_length", in.count({"d_model"}));
    out.of_model("feed_forward_length", in.count({"d_ff"}));
    out.of_model("block_count", in.count({"num_layers"}));
    out.of_model("attention.head_count", in.count({"num_heads"}));
    out.of_model("attention.key_length", in.count({"d_kv"}));
    out.of_model("attention.value_length", in.count({"d_kv"}));
    out.of_model("attention.layer_norm_epsilon", in.number({"layer_norm_epsilon"}));
    out.of_model("attention.relative_buckets_count", in.count({"relative_attention_num_buckets"}));
    out.of_model("attention.layer_norm_rms_epsilon", in.number({"layer_norm_epsilon"}));
  }

  static constexpr HubFamily family{.name = "t5encoder",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_keys,
                                    .vocabulary = VocabularyFiles::unigram_pieces};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
