// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/lfm2moe.hpp: folders of LFM2 with experts; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/lfm2.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Lfm2MoeFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Lfm2MoeForCausalLM"});
  static constexpr auto tensors = joined(
      Lfm2Folder::tensors,
      std::to_array<TensorRule>({{"model.layers.*.feed_forward.gate", "blk.*.ffn_gate_inp"},
                                 {"model.layers.*.feed_forward.expert_bias", "blk.*.exp_probs_b.bias"},
                                 {"model.layers.*.feed_forward.experts.*.w1", "blk.*.ffn_gate_exps", {Rows::stacked}},
                                 {"model.layers.*.feed_forward.experts.*.w2", "blk.*.ffn_down_exps", {Rows::stacked}},
                                 {"model.layers.*.feed_forward.experts.*.w3", "blk.*.ffn_up_exps", {Rows::stacked}}}));

  static void add_keys(Settings& in, Keys& out) {
    constexpr std::uint32_t kSigmoid = 2;
    add_decoder_keys(in, out);
    out.of_model("attention.head_count_kv", Lfm2Folder::heads_of_layers(in));
    out.of_model("vocab_size", in.count({"vocab_size"}));
    out.of_model("shortconv.l_cache", in.count({"conv_L_cache"}));
    out.of_model("expert_feed_forward_length", in.count({"moe_intermediate_size"}));
    out.of_model("leading_dense_block_count", in.count({"num_dense_layers"}));
    out.of_model("expert_gating_func", kSigmoid);
  }

  static constexpr HubFamily family{
      .name = "lfm2moe", .architectures = architectures, .tensors = tensors, .add_keys = add_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
