// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/smollm3.hpp: folders of SmolLM 3; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/llama.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct SmolLm3Folder {
  static constexpr auto architectures = std::to_array<std::string_view>({"SmolLM3ForCausalLM"});
  static constexpr HubFamily family = like_llama("smollm3", architectures, kPairedTensors, add_llama_keys);
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
