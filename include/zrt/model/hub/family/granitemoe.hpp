// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/granitemoe.hpp: folders of Granite with experts; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/granite.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct GraniteMoeFolder {
  static constexpr auto architectures =
      std::to_array<std::string_view>({"GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM"});
  static constexpr auto tensors = joined(
      kPairedTensors, std::to_array<TensorRule>(
                          {{"model.layers.*.block_sparse_moe.router.layer", "blk.*.ffn_gate_inp"},
                           {"model.layers.*.block_sparse_moe.input_linear", "blk.*.ffn_gate_exps", {Rows::first_half}},
                           {"model.layers.*.block_sparse_moe.input_linear", "blk.*.ffn_up_exps", {Rows::second_half}},
                           {"model.layers.*.block_sparse_moe.output_linear", "blk.*.ffn_down_exps"},
                           {"model.layers.*.shared_mlp.input_linear", "blk.*.ffn_gate_shexp", {Rows::first_half}},
                           {"model.layers.*.shared_mlp.input_linear", "blk.*.ffn_up_shexp", {Rows::second_half}},
                           {"model.layers.*.shared_mlp.output_linear", "blk.*.ffn_down_shexp"}}));

  static void add_keys(Settings& in, Keys& out) {
    add_granite_keys(in, out);
    if (const auto width = in.count_if({"shared_intermediate_size"}); width && *width != 0)
      out.of_model("expert_shared_feed_forward_length", *width);
  }

  static constexpr HubFamily family = like_llama("granitemoe", architectures, tensors, add_keys);
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
