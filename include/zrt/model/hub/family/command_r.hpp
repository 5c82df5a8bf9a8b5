// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/command_r.hpp: folders of Command R; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct CommandRFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"CohereForCausalLM"});

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    // The context that the model was trained on, where the configuration says it.
    out.of_model("context_length", in.count({"model_max_length", "max_position_embeddings"}));
    out.of_model("logit_scale", in.number({"logit_scale"}));
    out.of_model("rope.scaling.type", std::string("none"));
  }

  static constexpr HubFamily family{.name = "command-r", .architectures = architectures, .add_keys = add_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
