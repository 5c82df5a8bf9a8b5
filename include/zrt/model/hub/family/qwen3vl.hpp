// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/qwen3vl.hpp: folders of Qwen 3 VL, the decoder alone; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Qwen3VlFolder {
  static constexpr auto architectures = std::to_array<std::string_view>({"Qwen3VLForConditionalGeneration"});

  static void add_keys(Settings& in, Keys& out) {
    add_decoder_keys(in, out);
    const HubJson* layers = hub::find(in.find({"vision_config"}), "deepstack_visual_indexes");
    const bool some = layers != nullptr && layers->is_array();
    out.of_model("n_deepstack_layers", some ? static_cast<std::uint32_t>(layers->size()) : 0u);
  }

  static constexpr HubFamily family{.name = "qwen3vl",
                                    .architectures = architectures,
                                    .add_keys = add_keys,
                                    .vocabulary = VocabularyFiles::sentence_piece_or_bpe};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
