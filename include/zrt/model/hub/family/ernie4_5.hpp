// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/ernie4_5.hpp: folders of ERNIE 4.5; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Ernie45Folder {
  static constexpr auto architectures =
      std::to_array<std::string_view>({"Ernie4_5_ForCausalLM", "Ernie4_5ForCausalLM"});
  static constexpr auto tensors =
      std::to_array<TensorRule>({{"model.layers.*.self_attn.qkv_proj", "blk.*.attn_q", {Rows::fused_query}},
                                 {"model.layers.*.self_attn.qkv_proj", "blk.*.attn_k", {Rows::fused_key}},
                                 {"model.layers.*.self_attn.qkv_proj", "blk.*.attn_v", {Rows::fused_value}},
                                 {"model.layers.*.mlp.up_gate_proj", "blk.*.ffn_gate", {Rows::first_half}},
                                 {"model.layers.*.mlp.up_gate_proj", "blk.*.ffn_up", {Rows::second_half}}});

  static void add_vocabulary_keys(Settings&, const TokenizerFiles& files, Keys& out) {
    if (const HubJson* space = hub::find(&files.config, "add_prefix_space"); space != nullptr && space->is_boolean())
      out.set("tokenizer.ggml.add_space_prefix", space->get<bool>());
  }

  static constexpr HubFamily family{.name = "ernie4_5",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_decoder_keys,
                                    .vocabulary = VocabularyFiles::sentence_piece,
                                    .heads = decoder_heads,
                                    .add_vocabulary_keys = add_vocabulary_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
