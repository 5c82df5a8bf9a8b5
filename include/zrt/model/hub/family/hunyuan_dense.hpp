// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/hunyuan_dense.hpp: folders of Hunyuan's dense models; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct HunyuanDenseFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"HunYuanDenseV1ForCausalLM"});
  static constexpr auto tensors =
      std::to_array<TensorRule>({{"model.layers.*.self_attn.query_layernorm", "blk.*.attn_q_norm"},
                                 {"model.layers.*.self_attn.key_layernorm", "blk.*.attn_k_norm"}});

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    out.erase_of_model("expert_count");
    const RopeSettings rope(in);
    if (rope.type() != "dynamic") return;
    // The base grows by a factor that was fitted for 2^18 positions, whatever the configuration says of them.
    const double dim = in.count({"head_dim"});
    const double alpha = rope.number_if("alpha").value_or(50.0);
    if (dim <= 2.0 || alpha <= 0.0) return in.refuse(Errc::invalid_metadata, "rope_scaling has an alpha of 0 or less");
    const double base = rope.base().value_or(10000.0) * math::pow64(alpha, dim / (dim - 2.0));
    out.of_model("rope.freq_base", static_cast<float>(base));
    out.of_model("rope.scaling.type", std::string("none"));
    out.of_model("rope.scaling.factor", 1.0f);
    out.of_model("rope.scaling.original_context_length", std::uint32_t{1} << 18);
    out.of_model("context_length", std::uint32_t{1} << 18);
  }
  /// The tokens that end texts and turns stand elsewhere than in other folders.
  static void add_vocabulary_keys(Settings& in, const TokenizerFiles& files, Keys& out) {
    if (const auto end = in.count_if({"eod_token_id"})) out.set("tokenizer.ggml.eos_token_id", *end);
    const HubJson* ends = hub::find(&files.generation, "eos_token_id");
    std::uint32_t turn = 0;
    if (ends != nullptr && ends->is_array() && ends->size() >= 2 && is_count(&(*ends)[0], turn))
      out.set("tokenizer.ggml.eot_token_id", turn);
  }

  static constexpr HubFamily family{.name = "hunyuan-dense",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_keys,
                                    .add_vocabulary_keys = add_vocabulary_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
