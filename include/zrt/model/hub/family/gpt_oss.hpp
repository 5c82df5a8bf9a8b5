// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/gpt_oss.hpp: folders of gpt-oss, with experts in MXFP4 and whole; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct GptOssFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"GptOssForCausalLM"});
  /// Rows of gates and of what they gate take turns. Whole experts lie transposed.
  static constexpr auto tensors = std::to_array<TensorRule>(
      {{"model.layers.*.post_attention_layernorm", "blk.*.post_attention_norm"},
       {"model.layers.*.self_attn.sinks", "blk.*.attn_sinks.weight"},
       {"model.layers.*.mlp.router", "blk.*.ffn_gate_inp"},
       {"model.layers.*.mlp.experts.gate_up_proj_blocks",
        "blk.*.ffn_gate_exps.weight",
        {Rows::even, ValueChange::mxfp4}},
       {"model.layers.*.mlp.experts.gate_up_proj_scales",
        "blk.*.ffn_gate_exps.weight",
        {Rows::even, ValueChange::mxfp4},
        1},
       {"model.layers.*.mlp.experts.gate_up_proj_blocks", "blk.*.ffn_up_exps.weight", {Rows::odd, ValueChange::mxfp4}},
       {"model.layers.*.mlp.experts.gate_up_proj_scales",
        "blk.*.ffn_up_exps.weight",
        {Rows::odd, ValueChange::mxfp4},
        1},
       {"model.layers.*.mlp.experts.gate_up_proj_bias", "blk.*.ffn_gate_exps.bias", {Rows::even_values}},
       {"model.layers.*.mlp.experts.gate_up_proj_bias", "blk.*.ffn_up_exps.bias", {Rows::odd_values}},
       {"model.layers.*.mlp.experts.gate_up_proj", "blk.*.ffn_gate_exps.weight", {Rows::even_columns}},
       {"model.layers.*.mlp.experts.gate_up_proj", "blk.*.ffn_up_exps.weight", {Rows::odd_columns}},
       {"model.layers.*.mlp.experts.down_proj_blocks", "blk.*.ffn_down_exps.weight", {.values = ValueChange::mxfp4}},
       {"model.layers.*.mlp.experts.down_proj_scales", "blk.*.ffn_down_exps.weight", {.values = ValueChange::mxfp4}, 1},
       {"model.layers.*.mlp.experts.down_proj_bias", "blk.*.ffn_down_exps.bias"},
       {"model.layers.*.mlp.experts.down_proj", "blk.*.ffn_down_exps.weight", {Rows::columns}}});

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    out.of_model("attention.sliding_window", in.count({"sliding_window"}));
    out.of_model("expert_feed_forward_length", in.count({"intermediate_size"}));
  }

  static constexpr HubFamily family{
      .name = "gpt-oss", .architectures = architectures, .tensors = tensors, .add_keys = add_keys, .takes_mxfp4 = true};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
