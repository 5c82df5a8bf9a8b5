// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/glm4_moe_lite.hpp: folders of GLM 4.7 Flash; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/deepseek2.hpp>
#include <zrt/model/hub/family/glm4moe.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// DeepSeek's layers with GLM's vocabulary.
struct Glm4MoeLiteFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Glm4MoeLiteForCausalLM"});
  static constexpr HubFamily family = [] {
    HubFamily made = Deepseek2Folder::family;
    made.architectures = architectures;
    made.add_vocabulary_keys = Glm4MoeFolder::add_vocabulary_keys;
    return made;
  }();
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
