// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/qwen35.hpp: folders of Qwen 3.5, with experts and without, the decoder alone; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/qwen3next.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Qwen35Folder {
  static constexpr auto architectures = std::to_array<std::string_view>(
      {"Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM", "MiniCPMV4_6ForConditionalGeneration"});
  static constexpr auto expert_architectures =
      std::to_array<std::string_view>({"Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM"});
  static constexpr auto tensors = joined(
      kDeltaNetTensors,
      std::to_array<TensorRule>(
          {{"model.layers.*.linear_attn.in_proj_qkv", "blk.*.attn_qkv", {Rows::key_value_heads}},
           {"model.layers.*.linear_attn.in_proj_z", "blk.*.attn_gate", {Rows::value_heads}},
           {"model.layers.*.linear_attn.in_proj_b", "blk.*.ssm_beta", {Rows::value_heads}},
           {"model.layers.*.linear_attn.in_proj_a", "blk.*.ssm_alpha", {Rows::value_heads}},
           {"model.layers.*.linear_attn.conv1d",
            "blk.*.ssm_conv1d",
            {.rows = Rows::key_value_heads, .axes = Axes::squeezed}},
           {"model.layers.*.linear_attn.dt_bias", "blk.*.ssm_dt.bias", {Rows::value_heads}},
           {"model.layers.*.linear_attn.A_log", "blk.*.ssm_a", {Rows::value_heads, ValueChange::minus_exponential}},
           {"model.layers.*.linear_attn.out_proj", "blk.*.ssm_out", {Rows::value_columns}}}));

  static void add_keys(Settings& in, Keys& out) {
    Qwen3NextFolder::add_keys(in, out);
    if (hub::find(in.find({"rope_parameters", "rope_scaling"}), "mrope_section") == nullptr)
      out.of_model("rope.dimension_sections", std::vector<std::int32_t>{11, 11, 10, 0});
  }

  static constexpr HubFamily dense{.name = "qwen35",
                                   .architectures = architectures,
                                   .tensors = tensors,
                                   .add_keys = add_keys,
                                   .heads = delta_net_heads};
  static constexpr HubFamily experts{.name = "qwen35moe",
                                     .architectures = expert_architectures,
                                     .tensors = tensors,
                                     .add_keys = add_keys,
                                     .heads = delta_net_heads};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
