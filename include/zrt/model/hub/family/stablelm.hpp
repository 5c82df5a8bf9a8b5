// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/stablelm.hpp: folders of StableLM; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct StableLmFolder {
  static constexpr auto architectures = std::to_array<std::string_view>(
      {"StableLmForCausalLM", "StableLMEpochForCausalLM", "LlavaStableLMEpochForCausalLM"});
  static constexpr auto tensors = std::to_array<TensorRule>(
      {{"model.layers.*.self_attn.q_layernorm.norms.*", "blk.*.attn_q_norm", {Rows::stacked}},
       {"model.layers.*.self_attn.k_layernorm.norms.*", "blk.*.attn_k_norm", {Rows::stacked}}});

  static void add_keys(Settings& in, Keys& out) {
    const RopeSettings rope(in);
    const std::uint32_t heads = in.count({"num_attention_heads"});
    const std::uint32_t width = in.count({"hidden_size"});
    out.of_model("context_length", in.count({"max_position_embeddings"}));
    out.of_model("embedding_length", width);
    out.of_model("block_count", in.count({"num_hidden_layers"}));
    out.of_model("feed_forward_length", in.count({"intermediate_size"}));
    const auto part = rope.part();
    if (!part) in.refuse(Errc::missing_metadata, "expected a value of 'partial_rotary_factor', found none");
    if (heads != 0) out.of_model("rope.dimension_count", part_of(in, part.value_or(0.0), width / heads));
    out.of_model("attention.head_count", heads);
    out.of_model("attention.head_count_kv", in.count({"num_key_value_heads"}));
    out.of_model("use_parallel_residual", !in.has({"use_parallel_residual"}) || in.flag({"use_parallel_residual"}));
    out.of_model("attention.layer_norm_epsilon", in.number({"layer_norm_eps", "norm_eps"}));
  }

  static constexpr HubFamily family{
      .name = "stablelm", .architectures = architectures, .tensors = tensors, .add_keys = add_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
