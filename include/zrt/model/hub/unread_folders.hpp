// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/unread_folders.hpp: folders that are like those of a family and are not read, with the reasons.
#pragma once

#include <zrt/core/span.hpp>

#include <array>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// An architecture of config.json and why its folders are refused.
struct UnreadFolder {
  std::string_view architecture;
  std::string_view reason;
};

/// What llama.cpp's converter takes and a file of a family that runs would compute otherwise, or not at all.
inline constexpr auto kUnreadFolders = std::to_array<UnreadFolder>({
    {"DistilBertForSequenceClassification", "its head has a relu, where files of bert have a tanh"},
    {"RuGPT3XLForCausalLM", "some of its layers attend to a part of the text, where those of gpt2 attend to all of it"},
    {"Lfm2Model", "it gives a vector for each token, by a layer that files of lfm2 do not have"},
    {"Lfm2BidirectionalModel", "it gives a vector for each token, by a layer that files of lfm2 do not have"},
    {"Lfm25AudioTokenizer", "it makes sounds of codes, which no family does"},
    {"DeepseekOCRForCausalLM", "its decoder has no latent attention, as files of deepseek2 have"},
    {"UnlimitedOCRForCausalLM", "its decoder has no latent attention, as files of deepseek2 have"},
    {"LlamaForCausalLMEagle3", "it drafts tokens from the layers of another model"},
    {"Eagle3LlamaForCausalLM", "it drafts tokens from the layers of another model"},
    {"Eagle3Speculator", "it drafts tokens from the layers of another model"},
    {"Eagle3DraftModel", "it drafts tokens from the layers of another model"},
    {"Qwen3ASRForConditionalGeneration", "it writes down sounds, which no family reads"},
    {"UltravoxModel", "it holds an encoder of sounds and no decoder"},
});

/// Why folders of this architecture are refused, or nothing.
[[nodiscard]] constexpr std::string_view reason_unread(std::string_view architecture) noexcept {
  for (const UnreadFolder& folder : kUnreadFolders)
    if (folder.architecture == architecture) return folder.reason;
  return {};
}

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
