// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/qwen3vlmoe.hpp: folders of Qwen 3 VL with experts, the decoder alone; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/qwen3vl.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Qwen3VlMoeFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Qwen3VLMoeForConditionalGeneration"});
  /// Experts that lie in one tensor are transposed.
  static constexpr auto tensors = std::to_array<TensorRule>(
      {{"model.layers.*.mlp.experts.gate_up_proj", "blk.*.ffn_gate_exps.weight", {Rows::first_columns}},
       {"model.layers.*.mlp.experts.gate_up_proj", "blk.*.ffn_up_exps.weight", {Rows::second_columns}},
       {"model.layers.*.mlp.experts.down_proj", "blk.*.ffn_down_exps.weight", {Rows::columns}}});

  static constexpr auto omni_architectures = std::to_array<std::string_view>({"Qwen3OmniMoeForConditionalGeneration"});
  static constexpr auto omni_renamings = std::to_array<Renaming>({{"thinker.", ""}});

  static void add_keys(Settings& in, Keys& out) {
    Qwen3VlFolder::add_keys(in, out);
    add_expert_width_keys(in, out);
  }

  /// Its layers take no features of images.
  static void add_omni_keys(Settings& in, Keys& out) {
    add_keys(in, out);
    out.of_model("n_deepstack_layers", std::uint32_t{0});
  }
  /// Texts begin and end with the token that ends a message.
  static void add_omni_vocabulary_keys(Settings&, const TokenizerFiles& files, Keys& out) {
    const auto end = files.added("<|im_end|>");
    if (!end) return;
    out.set("tokenizer.ggml.bos_token_id", *end);
    out.set("tokenizer.ggml.eos_token_id", *end);
  }

  static constexpr HubFamily family{
      .name = "qwen3vlmoe", .architectures = architectures, .tensors = tensors, .add_keys = add_keys};
  /// The part of Qwen 3 Omni that reads and writes texts.
  static constexpr HubFamily omni = [] {
    HubFamily made = family;
    made.architectures = omni_architectures;
    made.renamings = omni_renamings;
    made.add_keys = add_omni_keys;
    made.add_vocabulary_keys = add_omni_vocabulary_keys;
    return made;
  }();
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
