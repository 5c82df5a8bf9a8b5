// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/qwen2.hpp: folders of Qwen 2 and 2.5; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Qwen2Folder {
  static constexpr auto architectures = std::to_array<std::string_view>(
      {"Qwen2ForCausalLM", "KORMoForCausalLM", "Qwen2Model", "Qwen2AudioForConditionalGeneration",
       "AudioFlamingo3ForConditionalGeneration", "DotsOCRForCausalLM"});
  /// Names of folders of embeddings begin within the decoder.
  static constexpr HubFamily family{.name = "qwen2",
                                    .architectures = architectures,
                                    .within = "model.",
                                    .add_keys = add_decoder_keys,
                                    .vocabulary = VocabularyFiles::sentence_piece_or_bpe,
                                    .pools = true};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
