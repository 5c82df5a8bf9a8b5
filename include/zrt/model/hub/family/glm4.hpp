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
  static constexpr auto architectures = std::to_array<std::string_view>(
      {"Glm4ForCausalLM", "Glm4vForConditionalGeneration", "GlmOcrForConditionalGeneration"});
  static constexpr auto tensors =
      std::to_array<TensorRule>({{"model.layers.*.post_self_attn_layernorm", "blk.*.post_attention_norm"},
                                 {"model.layers.*.post_mlp_layernorm", "blk.*.post_ffw_norm"}});

  /// Files with sections of the rotation turn values half of it apart, where the folder turns neighbours.
  static constexpr auto sectioned_tensors = joined(
      tensors, std::to_array<TensorRule>({{"model.layers.*.self_attn.q_proj", "blk.*.attn_q", {Rows::query_halves}},
                                          {"model.layers.*.self_attn.k_proj", "blk.*.attn_k", {Rows::key_halves}}}));

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    out.of_model("rope.dimension_count", turned(in));
  }
  [[nodiscard]] static bool has_sections(Settings& in) { return RopeSettings(in).find("mrope_section") != nullptr; }
  [[nodiscard]] static HeadSizes sectioned_heads(Settings& in) {
    HeadSizes sizes = decoder_heads(in);
    sizes.turned = turned(in);
    return sizes;
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
                                    .drops_later_layers = true,
                                    .add_vocabulary_keys = add_vocabulary_keys};
  /// The decoders of models of images.
  static constexpr HubFamily sectioned = [] {
    HubFamily made = family;
    made.tensors = sectioned_tensors;
    made.suits = has_sections;
    made.heads = sectioned_heads;
    return made;
  }();

 private:
  [[nodiscard]] static std::uint32_t turned(Settings& in) {
    return part_of(in, RopeSettings(in).part().value_or(0.5), head_dim(in));
  }
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
