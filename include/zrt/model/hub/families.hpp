// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/families.hpp: the list of families whose folders are read; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/family/bamba.hpp>
#include <zrt/model/hub/family/bert.hpp>
#include <zrt/model/hub/family/command_r.hpp>
#include <zrt/model/hub/family/deepseek.hpp>
#include <zrt/model/hub/family/deepseek2.hpp>
#include <zrt/model/hub/family/distil_bert.hpp>
#include <zrt/model/hub/family/ernie4_5.hpp>
#include <zrt/model/hub/family/ernie4_5_moe.hpp>
#include <zrt/model/hub/family/exaone4.hpp>
#include <zrt/model/hub/family/falcon_h1.hpp>
#include <zrt/model/hub/family/gemma2.hpp>
#include <zrt/model/hub/family/gemma3.hpp>
#include <zrt/model/hub/family/gemma4.hpp>
#include <zrt/model/hub/family/glm4.hpp>
#include <zrt/model/hub/family/glm4_moe_lite.hpp>
#include <zrt/model/hub/family/glm4moe.hpp>
#include <zrt/model/hub/family/gpt2.hpp>
#include <zrt/model/hub/family/gpt_oss.hpp>
#include <zrt/model/hub/family/granite.hpp>
#include <zrt/model/hub/family/granitehybrid.hpp>
#include <zrt/model/hub/family/granitemoe.hpp>
#include <zrt/model/hub/family/hunyuan_dense.hpp>
#include <zrt/model/hub/family/internlm3.hpp>
#include <zrt/model/hub/family/lfm2.hpp>
#include <zrt/model/hub/family/lfm2moe.hpp>
#include <zrt/model/hub/family/llama.hpp>
#include <zrt/model/hub/family/mamba.hpp>
#include <zrt/model/hub/family/mamba2.hpp>
#include <zrt/model/hub/family/mistral3.hpp>
#include <zrt/model/hub/family/modern_bert.hpp>
#include <zrt/model/hub/family/nemotron_h.hpp>
#include <zrt/model/hub/family/nomic_bert.hpp>
#include <zrt/model/hub/family/olmo2.hpp>
#include <zrt/model/hub/family/phi3.hpp>
#include <zrt/model/hub/family/qwen2.hpp>
#include <zrt/model/hub/family/qwen2moe.hpp>
#include <zrt/model/hub/family/qwen3.hpp>
#include <zrt/model/hub/family/qwen35.hpp>
#include <zrt/model/hub/family/qwen3moe.hpp>
#include <zrt/model/hub/family/qwen3next.hpp>
#include <zrt/model/hub/family/qwen3vl.hpp>
#include <zrt/model/hub/family/qwen3vlmoe.hpp>
#include <zrt/model/hub/family/seed_oss.hpp>
#include <zrt/model/hub/family/smollm3.hpp>
#include <zrt/model/hub/family/solar_open.hpp>
#include <zrt/model/hub/family/stablelm.hpp>
#include <zrt/model/hub/family/starcoder2.hpp>
#include <zrt/model/hub/family/t5_encoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// The families whose folders are read: one line per family.
// clang-format off
inline constexpr auto kFamilies = std::to_array<const HubFamily*>({
    &LlamaFolder::family,
    &LlamaFolder::sarashina,
    &InternLm3Folder::family,
    &Mistral3Folder::family,
    &Qwen2Folder::family,
    &Qwen3Folder::family,
    &Qwen2MoeFolder::family,
    &Qwen3MoeFolder::family,
    &Gemma2Folder::family,
    &Gemma3Folder::family,
    &Phi3Folder::family,
    &GraniteFolder::family,
    &GraniteMoeFolder::family,
    &SmolLm3Folder::family,
    &Gpt2Folder::family,
    &Olmo2Folder::family,
    &Exaone4Folder::family,
    &SeedOssFolder::family,
    &Starcoder2Folder::family,
    &StableLmFolder::family,
    &CommandRFolder::family,
    &Ernie45Folder::family,
    &Ernie45MoeFolder::family,
    &Glm4Folder::sectioned,
    &Glm4Folder::family,
    &DeepseekFolder::family,
    &Deepseek2Folder::family,
    &Glm4MoeLiteFolder::family,
    &Lfm2Folder::family,
    &Lfm2MoeFolder::family,
    &Qwen3VlFolder::family,
    &Qwen3VlMoeFolder::family,
    &Qwen3VlMoeFolder::omni,
    &HunyuanDenseFolder::family,
    &MambaFolder::family,
    &Mamba2Folder::family,
    &BambaFolder::family,
    &GraniteHybridFolder::mixed,
    &GraniteHybridFolder::dense,
    &GraniteHybridFolder::attention,
    &NemotronHFolder::family,
    &NemotronHMoeFolder::family,
    &FalconH1Folder::family,
    &Qwen3NextFolder::family,
    &Qwen35Folder::dense,
    &Qwen35Folder::experts,
    &GptOssFolder::family,
    &Glm4MoeFolder::family,
    &SolarOpenFolder::family,
    &Gemma4Folder::family,
    &Gemma4Folder::unified,
    &BertFolder::family,
    &BertFolder::roberta,
    &BertFolder::bpe_roberta,
    &DistilBertFolder::family,
    &NomicBertFolder::moe,
    &NomicBertFolder::family,
    &ModernBertFolder::family,
    &T5EncoderFolder::family,
});
// clang-format on

/// Returns the family whose folders say `architecture` in config.json and have such settings, or null.
[[nodiscard]] inline const HubFamily* find_family(std::string_view architecture, Settings& settings) {
  for (const HubFamily* family : kFamilies)
    for (const std::string_view name : family->architectures)
      if (name == architecture && (family->suits == nullptr || family->suits(settings))) return family;
  return nullptr;
}

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
