// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/ernie4_5_moe.hpp: folders of ERNIE 4.5 with experts; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/deepseek.hpp>
#include <zrt/model/hub/family/ernie4_5.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Ernie45MoeFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Ernie4_5_MoeForCausalLM"});
  static constexpr auto tensors =
      joined(kSharedExpertTensors, std::to_array<TensorRule>({{"model.layers.*.mlp.moe_statics.e_score_correction_bias",
                                                               "blk.*.exp_probs_b.bias",
                                                               {.axes = Axes::squeezed}}}));

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    out.of_model("expert_count", in.count({"moe_num_experts"}));
    out.of_model("expert_used_count", in.count({"moe_k"}));
    out.of_model("interleave_moe_layer_step", in.count({"moe_layer_interval"}));
    out.of_model("leading_dense_block_count", in.count({"moe_layer_start_index"}));
    if (const auto width = in.count_if({"moe_intermediate_size"})) out.of_model("expert_feed_forward_length", *width);
    if (const auto shared = in.count_if({"moe_num_shared_experts"})) add_shared_keys(in, *shared, out);
  }

  static constexpr HubFamily family{.name = "ernie4_5-moe",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_keys,
                                    .vocabulary = VocabularyFiles::sentence_piece,
                                    .heads = decoder_heads,
                                    .add_vocabulary_keys = Ernie45Folder::add_vocabulary_keys};

 private:
  /// llama.cpp's converter divides the width by the number of heads of keys.
  static void add_shared_keys(Settings& in, std::uint32_t count, Keys& out) {
    out.of_model("expert_shared_count", count);
    const auto width = in.count_if({"intermediate_size"});
    const auto heads = in.count_if({"num_key_value_heads"});
    if (count != 0 && width && heads && *heads != 0) out.of_model("expert_shared_feed_forward_length", *width / *heads);
  }
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
