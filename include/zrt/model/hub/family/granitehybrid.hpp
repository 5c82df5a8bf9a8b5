// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/granitehybrid.hpp: folders of Granite 4, with state spaces and without; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/granitemoe.hpp>
#include <zrt/model/hub/family/mamba2.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Which layers have attention, from a list of types, of numbers, or from a period.
[[nodiscard]] inline std::vector<bool> attention_layers(Settings& in) {
  const std::uint32_t layers = in.count({"num_hidden_layers"});
  std::vector<bool> attends(layers < 10000 ? layers : 0, false);
  if (const HubJson* types = in.find({"layer_types"}); types != nullptr && types->is_array()) {
    for (std::size_t i = 0; i < attends.size() && i < types->size(); ++i)
      attends[i] = text_of(&(*types)[i]) == "attention";
    return attends;
  }
  if (const HubJson* list = in.find({"attn_layer_indices"}); list != nullptr && list->is_array()) {
    for (const HubJson& entry : *list)
      if (std::uint32_t layer = 0; is_count(&entry, layer) && layer < attends.size()) attends[layer] = true;
    return attends;
  }
  const std::uint32_t period = in.count({"attn_layer_period"});
  for (std::size_t i = 0; i < attends.size() && period != 0; ++i)
    attends[i] = i % period == in.count({"attn_layer_offset"});
  return attends;
}

/// `count` for the layers of a list, 0 for the others.
[[nodiscard]] inline std::vector<std::int32_t> for_layers(const std::vector<bool>& layers, std::uint32_t count) {
  std::vector<std::int32_t> counts;
  for (const bool has : layers) counts.push_back(has ? static_cast<std::int32_t>(count & 0x7fffffffu) : 0);
  return counts;
}

/// Keys of layers of which some have a mixer of Mamba 2 and some attention, which is rotated where all have it.
/// `inner` is the width of a mixer.
inline void add_hybrid_keys(Settings& in, Keys& out, const std::vector<bool>& attends, std::uint64_t inner) {
  const bool rotates = std::ranges::find(attends, false) == attends.end();
  out.of_model("ssm.conv_kernel", in.count({"conv_kernel", "d_conv", "mamba_d_conv"}));
  out.of_model("ssm.state_size", in.count({"state_size", "d_state", "state_dim", "ssm_state_size", "mamba_d_state"}));
  out.of_model("ssm.group_count", static_cast<std::uint32_t>(mixer_heads(in).groups));
  out.of_model("ssm.inner_size", static_cast<std::uint32_t>(inner));
  out.of_model("ssm.time_step_rank", in.count({"n_heads", "num_heads", "mamba_n_heads", "mamba_num_heads"}));
  out.of_model("attention.head_count_kv", for_layers(attends, in.count({"num_key_value_heads", "n_head_kv"})));
  if (const auto dims = in.count_if({"attn_rotary_emb"}); dims && *dims != 0)
    out.of_model("rope.dimension_count", *dims);
  out.of_model("rope.scaling.finetuned", rotates);
  if (!rotates) out.of_model("context_length", kUnboundedContext);
}

/// Keys of Granite 4.
inline void add_granite_hybrid_keys(Settings& in, Keys& out) {
  GraniteMoeFolder::add_keys(in, out);
  const std::uint64_t width = in.count({"mamba_head_dim", "hidden_size", "d_model"});
  const std::uint64_t factor = in.count({"expand", "num_heads", "mamba_expand", "mamba_num_heads"});
  add_hybrid_keys(in, out, attention_layers(in), factor * width);
}
[[nodiscard]] inline bool has_local_experts(Settings& in) {
  return in.count_if({"num_local_experts"}).value_or(0) != 0;
}
/// Whether a layer has a mixer of Mamba 2.
[[nodiscard]] inline bool has_mixers(Settings& in) {
  const std::vector<bool> attends = attention_layers(in);
  return std::ranges::find(attends, false) != attends.end();
}
/// Heads of attention and groups of mixers.
[[nodiscard]] inline HeadSizes granite_hybrid_heads(Settings& in) {
  HeadSizes sizes = decoder_heads(in);
  sizes.groups = mixer_heads(in).groups;
  return sizes;
}

inline constexpr auto kGraniteHybridArchitectures = std::to_array<std::string_view>({"GraniteMoeHybridForCausalLM"});
inline constexpr auto kGraniteHybridTensors = joined(kMamba2Tensors, GraniteMoeFolder::tensors);
/// The MLP of a model without experts has the name of the shared one.
inline constexpr auto kGraniteSharedMlpTensors =
    std::to_array<TensorRule>({{"model.layers.*.shared_mlp.input_linear", "blk.*.ffn_gate", {Rows::first_half}},
                               {"model.layers.*.shared_mlp.input_linear", "blk.*.ffn_up", {Rows::second_half}},
                               {"model.layers.*.shared_mlp.output_linear", "blk.*.ffn_down"}});

/// A family of Granite 4 by whether it has experts and mixers; those without mixers are Granite's older families.
[[nodiscard]] constexpr HubFamily granite_hybrid(std::string_view name, Span<const TensorRule> tensors,
                                                 bool (*suits)(Settings&)) noexcept {
  return {.name = name,
          .architectures = kGraniteHybridArchitectures,
          .tensors = tensors,
          .add_keys = add_granite_hybrid_keys,
          .vocabulary = VocabularyFiles::sentence_piece_or_bpe,
          .suits = suits,
          .heads = granite_hybrid_heads};
}

struct GraniteHybridFolder {
  static constexpr auto dense_tensors = joined(kGraniteSharedMlpTensors, joined(kMamba2Tensors, kPairedTensors));
  static constexpr HubFamily mixed = [] {
    HubFamily family = granite_hybrid("granitehybrid", kGraniteHybridTensors,
                                      [](Settings& in) { return has_mixers(in) && has_local_experts(in); });
    family.token_multiple = 8;
    return family;
  }();
  static constexpr HubFamily dense = [] {
    HubFamily family = granite_hybrid("granitehybrid", dense_tensors,
                                      [](Settings& in) { return has_mixers(in) && !has_local_experts(in); });
    family.token_multiple = 8;
    return family;
  }();
  static constexpr HubFamily attention = granite_hybrid("granite", dense_tensors, [](Settings& in) {
    return !has_mixers(in) && !in.has({"num_experts_per_tok", "num_experts_per_token"});
  });
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
