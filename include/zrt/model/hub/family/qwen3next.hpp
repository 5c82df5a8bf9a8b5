// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/qwen3next.hpp: folders of Qwen 3 Next; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/qwen2moe.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Layers of a delta net, of which the folder has norms around 0, as those of attention.
inline constexpr auto kDeltaNetTensors = std::to_array<TensorRule>({
    {"model.norm", "output_norm", {.values = ValueChange::plus_one}},
    {"model.layers.*.input_layernorm", "blk.*.attn_norm", {.values = ValueChange::plus_one}},
    {"model.layers.*.post_attention_layernorm", "blk.*.post_attention_norm", {.values = ValueChange::plus_one}},
    {"model.layers.*.self_attn.q_norm", "blk.*.attn_q_norm", {.values = ValueChange::plus_one}},
    {"model.layers.*.self_attn.k_norm", "blk.*.attn_k_norm", {.values = ValueChange::plus_one}},
    {"model.layers.*.linear_attn.norm", "blk.*.ssm_norm"},
});

/// Sizes of a delta net.
inline void add_delta_net_keys(Settings& in, Keys& out) {
  out.of_model("ssm.conv_kernel", in.count({"linear_conv_kernel_dim"}));
  out.of_model("ssm.state_size", in.count({"linear_key_head_dim"}));
  out.of_model("ssm.group_count", in.count({"linear_num_key_heads"}));
  out.of_model("ssm.time_step_rank", in.count({"linear_num_value_heads"}));
  out.of_model("ssm.inner_size", in.count({"linear_value_head_dim"}) * in.count({"linear_num_value_heads"}));
  out.of_model("full_attention_interval", in.count_if({"full_attention_interval"}).value_or(4));
  out.of_model("rope.dimension_count", part_of(in, RopeSettings(in).part().value_or(0.25), head_dim(in)));
}
[[nodiscard]] inline HeadSizes delta_net_heads(Settings& in) {
  HeadSizes sizes;
  sizes.key_rows = in.count({"linear_key_head_dim"});
  sizes.value_rows = in.count({"linear_value_head_dim"});
  sizes.key_heads = in.count({"linear_num_key_heads"});
  sizes.value_heads = in.count({"linear_num_value_heads"});
  return sizes;
}

struct Qwen3NextFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Qwen3NextForCausalLM"});
  static constexpr auto tensors =
      joined(kDeltaNetTensors,
             std::to_array<TensorRule>(
                 {{"model.layers.*.linear_attn.in_proj_qkvz", "blk.*.attn_qkv", {Rows::split_keys}},
                  {"model.layers.*.linear_attn.in_proj_qkvz", "blk.*.attn_gate", {Rows::split_gates}},
                  {"model.layers.*.linear_attn.in_proj_ba", "blk.*.ssm_ba"},
                  {"model.layers.*.linear_attn.conv1d", "blk.*.ssm_conv1d", {.axes = Axes::squeezed}},
                  {"model.layers.*.linear_attn.dt_bias", "blk.*.ssm_dt.bias"},
                  {"model.layers.*.linear_attn.A_log", "blk.*.ssm_a", {.values = ValueChange::minus_exponential}},
                  {"model.layers.*.linear_attn.out_proj", "blk.*.ssm_out"}}));

  static void add_keys(Settings& in, Keys& out) {
    Qwen2MoeFolder::add_keys(in, out);
    add_delta_net_keys(in, out);
  }

  static constexpr HubFamily family{.name = "qwen3next",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_keys,
                                    .heads = delta_net_heads};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
