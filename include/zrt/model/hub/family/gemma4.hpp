// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/gemma4.hpp: folders of Gemma 4, the decoder alone; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Gemma4Folder {
  static constexpr auto architectures =
      std::to_array<std::string_view>({"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"});
  static constexpr auto unified_architectures =
      std::to_array<std::string_view>({"Gemma4UnifiedForConditionalGeneration"});
  static constexpr auto tensors =
      joined(kPostNormTensors,
             std::to_array<TensorRule>({{"lm_head"},
                                        {"model.embed_tokens_per_layer", "per_layer_token_embd"},
                                        {"model.per_layer_model_projection", "per_layer_model_proj"},
                                        {"model.per_layer_projection_norm", "per_layer_proj_norm"},
                                        {"model.layers.*.pre_feedforward_layernorm", "blk.*.ffn_norm"},
                                        {"model.layers.*.post_feedforward_layernorm_1", "blk.*.post_ffw_norm_1"},
                                        {"model.layers.*.post_feedforward_layernorm_2", "blk.*.post_ffw_norm_2"},
                                        {"model.layers.*.pre_feedforward_layernorm_2", "blk.*.pre_ffw_norm_2"},
                                        {"model.layers.*.per_layer_input_gate", "blk.*.inp_gate"},
                                        {"model.layers.*.per_layer_projection", "blk.*.proj"},
                                        {"model.layers.*.post_per_layer_input_norm", "blk.*.post_norm"},
                                        {"model.layers.*.layer_scalar", "blk.*.layer_output_scale.weight"},
                                        {"model.layers.*.router.proj", "blk.*.ffn_gate_inp"},
                                        {"model.layers.*.router.scale", "blk.*.ffn_gate_inp.scale"},
                                        {"model.layers.*.router.per_expert_scale", "blk.*.ffn_down_exps.scale"},
                                        {"model.layers.*.experts.gate_up_proj", "blk.*.ffn_gate_up_exps.weight"},
                                        {"model.layers.*.experts.down_proj", "blk.*.ffn_down_exps.weight"}}));

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    const std::uint32_t full = in.count({"global_head_dim"});
    const std::uint32_t windowed = in.count({"head_dim"});
    if (const auto cap = in.number_if({"final_logit_softcapping"}); cap && *cap != 0.0f)
      out.of_model("final_logit_softcapping", *cap);
    out.of_model("attention.sliding_window", in.count({"sliding_window"}));
    out.of_model("attention.shared_kv_layers", in.count({"num_kv_shared_layers"}));
    out.of_model("embedding_length_per_layer_input", in.count_if({"hidden_size_per_layer_input"}).value_or(0));
    out.of_model("attention.sliding_window_pattern", windowed_layers(in));
    out.of_model("attention.key_length", full);
    out.of_model("attention.value_length", full);
    out.of_model("attention.key_length_swa", windowed);
    out.of_model("attention.value_length_swa", windowed);
    if (const auto width = in.count_if({"expert_intermediate_size", "moe_intermediate_size"}))
      out.of_model("expert_feed_forward_length", *width);
    add_layer_keys(in, out);
    out.of_model("rope.dimension_count", full);
    const RopeSettings rope(in);
    out.of_model("rope.dimension_count_swa",
                 part_of(in, rope.number_of_all("partial_rotary_factor").value_or(1.0), windowed));
  }

  /// Pairs of full layers that do not turn have a factor that leaves their angles at 0.
  static void add_tensors(Settings& in, Keys&, std::vector<MadeTensor>& made) {
    constexpr float kStill = 1e30f;
    const RopeSettings rope(in);
    const std::uint32_t pairs = in.count({"global_head_dim"}) / 2;
    const std::uint32_t turned = part_of(in, rope.number("partial_rotary_factor"), pairs);
    if (rope.type() != "proportional" || pairs > 1u << 20)
      return in.refuse(Errc::invalid_metadata, "rope_parameters of full_attention is of type '",
                       detail::Quoted(rope.type()).view(), "', expected proportional");
    std::vector<float> factors(pairs, kStill);
    std::fill_n(factors.begin(), turned, 1.0f);
    made.push_back(MadeTensor::of_values("rope_freqs.weight", std::move(factors)));
  }
  static void add_vocabulary_keys(Settings&, const TokenizerFiles&, Keys& out) {
    out.set("tokenizer.ggml.add_space_prefix", false);
    out.set("tokenizer.ggml.add_bos_token", true);
  }

  /// Tokens that a model shall not say, as markup of images and sounds.
  static void add_unified_vocabulary_keys(Settings& in, const TokenizerFiles& files, Keys& out) {
    add_vocabulary_keys(in, files, out);
    const HubJson* list = hub::find(&files.generation, "suppress_tokens");
    if (list == nullptr || !list->is_array()) return;
    std::vector<std::int32_t> tokens;
    for (const HubJson& entry : *list) {
      std::uint32_t id = 0;
      if (!is_count(&entry, id) || id > 0x7fffffffu)
        return in.refuse(Errc::invalid_metadata, "suppress_tokens of generation_config.json is no list of ids");
      tokens.push_back(static_cast<std::int32_t>(id));
    }
    if (!tokens.empty()) out.set("tokenizer.ggml.suppress_tokens", std::move(tokens));
  }

  static constexpr HubFamily family{.name = "gemma4",
                                    .architectures = architectures,
                                    .tensors = tensors,
                                    .add_keys = add_keys,
                                    .vocabulary = VocabularyFiles::characters,
                                    .add_tensors = add_tensors,
                                    .add_vocabulary_keys = add_vocabulary_keys};
  static constexpr HubFamily unified = [] {
    HubFamily made = family;
    made.architectures = unified_architectures;
    made.add_vocabulary_keys = add_unified_vocabulary_keys;
    return made;
  }();

 private:
  /// Layers that share keys and values may have an MLP of twice the width; full ones may have heads of their own number.
  static void add_layer_keys(Settings& in, Keys& out) {
    const std::uint32_t layers = in.count({"num_hidden_layers"});
    const std::uint32_t shared = in.count({"num_kv_shared_layers"});
    if (shared > layers || layers > 10000)
      return in.refuse(Errc::invalid_metadata, "num_kv_shared_layers is ", shared, " of ", layers, " layers");
    if (in.flag({"use_double_wide_mlp"})) {
      const auto width = static_cast<std::int32_t>(in.count({"intermediate_size"}) & 0x3fffffffu);
      std::vector<std::int32_t> widths(layers, width);
      std::fill(widths.end() - shared, widths.end(), 2 * width);
      out.of_model("feed_forward_length", std::move(widths));
    }
    const auto full = in.count_if({"num_global_key_value_heads"});
    const auto windowed = in.count_if({"num_key_value_heads"});
    if (!full || !windowed) return;
    std::vector<std::int32_t> heads;
    for (const bool has_window : windowed_layers(in))
      heads.push_back(static_cast<std::int32_t>((has_window ? *windowed : *full) & 0x7fffffffu));
    out.of_model("attention.head_count_kv", std::move(heads));
  }
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
