// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/olmo2.hpp: folders of OLMo 2 and 3; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Olmo2Folder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Olmo2ForCausalLM", "Olmo3ForCausalLM"});

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    const auto window = in.count_if({"sliding_window"});
    if (!window) return;
    out.of_model("attention.sliding_window", *window);
    std::vector<bool> windowed = windowed_layers(in);
    for (std::uint32_t i = 0; !in.has({"layer_types"}) && i < in.count({"num_hidden_layers"}) && i < 10000; ++i)
      windowed.push_back(i % 4 != 3);
    out.of_model("attention.sliding_window_pattern", std::move(windowed));
  }

  static constexpr HubFamily family{
      .name = "olmo2", .architectures = architectures, .tensors = kPostNormTensors, .add_keys = add_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
