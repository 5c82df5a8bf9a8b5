// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/phi3.hpp: folders of Phi 3 and Phi 4; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Phi3Folder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Phi3ForCausalLM", "Phi4ForCausalLMV"});

  static void add_keys(Settings& in, Keys& out) {
    const RopeSettings rope(in);
    const std::uint32_t width = in.count({"hidden_size", "n_embd"});
    const std::uint32_t heads = in.count({"num_attention_heads", "n_head"});
    out.of_model("context_length", in.count({"n_positions", "max_position_embeddings"}));
    out.of_model("rope.scaling.original_context_length", rope.original_context());
    out.of_model("embedding_length", width);
    out.of_model("feed_forward_length", in.count({"intermediate_size"}));
    out.of_model("block_count", in.count({"num_hidden_layers"}));
    out.of_model("attention.head_count", heads);
    out.of_model("attention.head_count_kv", in.count({"num_key_value_heads", "n_head_kv"}));
    out.of_model("attention.layer_norm_rms_epsilon", in.number({"rms_norm_eps"}));
    if (heads != 0) out.of_model("rope.dimension_count", part_of(in, rope.part().value_or(1.0), width) / heads);
    if (const auto base = rope.base()) out.of_model("rope.freq_base", static_cast<float>(*base));
    out.of_model("attention.sliding_window", in.count_if({"sliding_window"}).value_or(0));
  }

  /// Factors of long and of short texts.
  static void add_tensors(Settings& in, Keys& out, std::vector<MadeTensor>& tensors) {
    const RopeSettings rope(in);
    if (rope.find("long_factor") == nullptr) return;
    const double original = rope.original_context();
    const double scale = static_cast<double>(in.count({"n_positions", "max_position_embeddings"})) / original;
    double magnitude = 1.0;
    if (rope.type() == "yarn" && scale > 1.0)
      magnitude = 0.1 * math::log64(scale) + 1.0;
    else if (scale > 1.0)
      magnitude = __builtin_sqrt(1.0 + math::log64(scale) / math::log64(original));
    out.of_model("rope.scaling.attn_factor", static_cast<float>(magnitude));
    add_factors(in, rope, "long_factor", "rope_factors_long.weight", tensors);
    add_factors(in, rope, "short_factor", "rope_factors_short.weight", tensors);
  }

  static constexpr HubFamily family{.name = "phi3",
                                    .architectures = architectures,
                                    .add_keys = add_keys,
                                    .vocabulary = VocabularyFiles::sentence_piece_or_bpe,
                                    .added_as_listed = true,
                                    .add_tensors = add_tensors};

 private:
  static void add_factors(Settings& in, const RopeSettings& rope, std::string_view from, std::string_view to,
                          std::vector<MadeTensor>& tensors) {
    std::vector<float> factors;
    if (const HubJson* list = rope.find(from); list != nullptr && list->is_array())
      for (const HubJson& value : *list)
        if (value.is_number()) factors.push_back(static_cast<float>(value.get<double>()));
    if (factors.empty()) in.refuse(Errc::missing_metadata, "rope_scaling has no list of numbers '", from, "'");
    tensors.push_back(MadeTensor::of_values(std::string(to), std::move(factors)));
  }
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
