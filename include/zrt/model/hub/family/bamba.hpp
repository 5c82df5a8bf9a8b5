// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/bamba.hpp: folders of Bamba; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/granitehybrid.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Granite 4's layers without its multipliers, with attention that is rotated, and other names of the MLP.
struct BambaFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"BambaForCausalLM"});
  static constexpr auto tensors =
      joined(std::to_array<TensorRule>({{"model.final_layernorm", "output_norm"},
                                        {"model.layers.*.pre_ff_layernorm", "blk.*.ffn_norm"},
                                        {"model.layers.*.feed_forward.gate_proj", "blk.*.ffn_gate"},
                                        {"model.layers.*.feed_forward.up_proj", "blk.*.ffn_up"},
                                        {"model.layers.*.feed_forward.down_proj", "blk.*.ffn_down"}}),
             joined(kMamba2Tensors, kPairedTensors));

  static void add_keys(Settings& in, Keys& out) {
    add_granite_hybrid_keys(in, out);
    out.of_model("rope.scaling.finetuned", true);
    out.of_model("context_length", in.count({"max_position_embeddings"}));
  }

  static constexpr HubFamily family = [] {
    HubFamily made = granite_hybrid("granitehybrid", tensors, nullptr);
    made.architectures = architectures;
    made.add_keys = add_keys;
    made.token_multiple = 8;
    return made;
  }();
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
