// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/exaone4.hpp: folders of EXAONE 4; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Exaone4Folder {
  static constexpr auto architectures =
      std::to_array<std::string_view>({"Exaone4ForCausalLM", "Exaone4_5_ForConditionalGeneration"});

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    out.of_model("vocab_size", in.count({"vocab_size"}));
    const auto window = in.count_if({"sliding_window"});
    if (!window) return;
    out.of_model("attention.sliding_window", *window);
    std::vector<bool> windowed = windowed_layers(in);
    const std::string_view pattern = in.text({"sliding_window_pattern"});
    for (std::uint32_t i = 0; windowed.size() < in.count({"num_hidden_layers"}) && !pattern.empty() && i < 10000; ++i)
      windowed.push_back(pattern[i % pattern.size()] == 'L');
    if (!windowed.empty()) out.of_model("attention.sliding_window_pattern", std::move(windowed));
  }

  static constexpr HubFamily family{.name = "exaone4",
                                    .architectures = architectures,
                                    .tensors = kPostNormTensors,
                                    .add_keys = add_keys,
                                    .add_tensors = add_llama3_factors};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
