// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/glm4.hpp: folders of GLM 4; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Sets a special token to one of the added tokens; not `anew` keeps what the folder says.
inline void set_glm_token(Settings& in, const TokenizerFiles& files, Keys& out, std::string_view key,
                          std::string_view token, bool anew = true) {
  const std::string name = "tokenizer.ggml." + std::string(key);
  if (!anew && out.find(name) != nullptr) return;
  if (const auto id = files.added(token))
    out.set(name, *id);
  else
    in.refuse(Errc::unsupported_tokenizer, "the vocabulary has no token '", token, "'");
}
/// GLM's pre-tokenizer cuts as DBRX's does.
inline void name_glm_pre_tokenizer(Keys& out) {
  if (const auto* pre = out.find("tokenizer.ggml.pre"); pre != nullptr && *pre == Keys::Value(std::string("dbrx")))
    out.set("tokenizer.ggml.pre", std::string("glm4"));
}

struct Glm4Folder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Glm4ForCausalLM"});
  static constexpr auto tensors =
      std::to_array<TensorRule>({{"model.layers.*.post_self_attn_layernorm", "blk.*.post_attention_norm"},
                                 {"model.layers.*.post_mlp_layernorm", "blk.*.post_ffw_norm"}});

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    out.of_model("rope.dimension_count", part_of(in, RopeSettings(in).part().value_or(0.5), head_dim(in)));
  }

  static void add_vocabulary_keys(Settings& in, const TokenizerFiles& files, Keys& out) {
    for (const std::string_view key : {"eos_token_id", "unknown_token_id", "bos_token_id"})
      set_glm_token(in, files, out, key, "<|endoftext|>", false);
    set_glm_token(in, files, out, "eot_token_id", "<|user|>");
    name_glm_pre_tokenizer(out);
  }

  static constexpr HubFamily family{.name = "glm4",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_keys,
                                    .add_vocabulary_keys = add_vocabulary_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
