// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/granite.hpp: folders of Granite; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/llama.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Granite's multipliers, and the keys that it shares with Llama. A head_dim in the configuration means nothing.
inline void add_granite_keys(Settings& in, Keys& out) {
  add_decoder_keys(in, out);
  out.erase_of_model("attention.key_length");
  out.erase_of_model("attention.value_length");
  out.of_model("vocab_size", in.count({"vocab_size"}));
  const std::uint32_t heads = in.count({"num_attention_heads"});
  if (heads != 0) out.of_model("rope.dimension_count", in.count({"hidden_size"}) / heads);
  const auto scale = [&](std::string_view key, std::string_view name) {
    if (const auto value = in.number_if({name}); value && *value != 0.0f) out.of_model(key, *value);
  };
  scale("attention.scale", "attention_multiplier");
  scale("embedding_scale", "embedding_multiplier");
  scale("residual_scale", "residual_multiplier");
  scale("logit_scale", "logits_scaling");
}

struct GraniteFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"GraniteForCausalLM"});
  static constexpr HubFamily family = like_llama("granite", architectures, kPairedTensors, add_granite_keys);
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
