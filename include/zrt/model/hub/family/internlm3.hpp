// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family/internlm3.hpp: folders of InternLM 3; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/llama.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Llama under another name, with a vocabulary of pieces.
struct InternLm3Folder {
  static constexpr auto architectures = std::to_array<std::string_view>({"InternLM3ForCausalLM"});

  /// A turn's end is the text's.
  static void add_vocabulary_keys(Settings&, const TokenizerFiles& files, Keys& out) {
    constexpr std::string_view kEos = "tokenizer.ggml.eos_token_id";
    if (const HubJson* space = hub::find(&files.config, "add_prefix_space"); space != nullptr && space->is_boolean())
      out.set("tokenizer.ggml.add_space_prefix", space->get<bool>());
    const HubJson* listed = hub::find(&files.config, "added_tokens_decoder");
    if (listed == nullptr || !listed->is_object() || out.find(kEos) == nullptr) return;
    for (const auto& [key, token] : listed->items()) {
      std::string_view digits = key;
      std::uint32_t id = 0;
      if (text_of(hub::find(&token, "content")) == "<|im_end|>" && is_true(hub::find(&token, "special")) &&
          detail::take_number(digits, id) && digits.empty())
        out.set(kEos, id);
    }
  }

  static constexpr HubFamily family{.name = "llama",
                                    .architectures = architectures,
                                    .tensors = kPairedTensors,
                                    .add_keys = add_llama_keys,
                                    .vocabulary = VocabularyFiles::sentence_piece,
                                    .heads = decoder_heads,
                                    .add_vocabulary_keys = add_vocabulary_keys};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
