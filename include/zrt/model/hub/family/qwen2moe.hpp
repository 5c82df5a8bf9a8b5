// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/qwen2moe.hpp: folders of Qwen 1.5 and 2 with experts; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Qwen2MoeFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Qwen2MoeForCausalLM"});

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    add_expert_width_keys(in, out);
  }

  static constexpr HubFamily family{.name = "qwen2moe", .architectures = architectures, .add_keys = add_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
