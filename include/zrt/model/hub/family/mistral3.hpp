// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/mistral3.hpp: folders of Mistral 3, the decoder alone; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/llama.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Mistral3Folder {
  static constexpr auto architectures =
      std::to_array<std::string_view>({"Mistral3ForConditionalGeneration", "Ministral3ForCausalLM"});

  static void add_keys(Settings& in, Keys& out) {
    add_llama_keys(in, out);
    if (in.text({"model_type"}) != "ministral3") return;
    const RopeSettings rope(in);
    out.of_model("rope.scaling.yarn_log_multiplier", static_cast<float>(rope.number("mscale_all_dim")));
    out.of_model("attention.temperature_scale", static_cast<float>(rope.number("llama_4_scaling_beta")));
  }

  static constexpr HubFamily family = like_llama("mistral3", architectures, kPairedTensors, add_keys);
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
