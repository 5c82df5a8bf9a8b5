// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/qwen3.hpp: folders of Qwen 3; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>
#include <zrt/model/hub/reranker.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

struct Qwen3Folder {
  static constexpr auto architectures =
      std::to_array<std::string_view>({"Qwen3ForCausalLM", "Qwen3Model", "StepVLForConditionalGeneration"});
  /// Names of folders of embeddings begin within the decoder.
  static constexpr HubFamily family{.name = "qwen3",
                                    .architectures = architectures,
                                    .within = "model.",
                                    .add_keys = add_decoder_keys,
                                    .vocabulary = VocabularyFiles::sentence_piece_or_bpe,
                                    .pools = true,
                                    .answers_yes = is_qwen3_reranker};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
