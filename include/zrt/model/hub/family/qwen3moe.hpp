// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/qwen3moe.hpp: folders of Qwen 3 with experts; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/qwen2moe.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Qwen3MoeFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Qwen3MoeForCausalLM"});
  static constexpr HubFamily family{
      .name = "qwen3moe", .architectures = architectures, .add_keys = Qwen2MoeFolder::add_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
