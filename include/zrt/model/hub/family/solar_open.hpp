// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/solar_open.hpp: folders of Solar Open; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/glm4moe.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// GLM's layers with a vocabulary of its own.
struct SolarOpenFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"SolarOpenForCausalLM"});

  static void add_vocabulary_keys(Settings& in, const TokenizerFiles& files, Keys& out) {
    set_glm_token(in, files, out, "eos_token_id", "<|endoftext|>", false);
    set_glm_token(in, files, out, "eot_token_id", "<|endoftext|>", false);
    set_glm_token(in, files, out, "unknown_token_id", "<unk>", false);
    set_glm_token(in, files, out, "bos_token_id", "<|startoftext|>", false);
  }

  static constexpr HubFamily family = [] {
    HubFamily made = Glm4MoeFolder::family;
    made.architectures = architectures;
    made.add_vocabulary_keys = add_vocabulary_keys;
    return made;
  }();
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
