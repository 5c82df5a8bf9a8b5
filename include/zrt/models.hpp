// SPDX-License-Identifier: Apache-2.0
// zrt/models.hpp: all model families of this build, and the code of the engines that run them.
#pragma once

#include <zrt/engine/engine_members.hpp>
#include <zrt/model/arch/bert.hpp>
#include <zrt/model/arch/command_r.hpp>
#include <zrt/model/arch/deepseek.hpp>
#include <zrt/model/arch/deepseek2.hpp>
#include <zrt/model/arch/ernie4_5.hpp>
#include <zrt/model/arch/ernie4_5_moe.hpp>
#include <zrt/model/arch/exaone4.hpp>
#include <zrt/model/arch/falcon_h1.hpp>
#include <zrt/model/arch/gemma2.hpp>
#include <zrt/model/arch/gemma3.hpp>
#include <zrt/model/arch/gemma4.hpp>
#include <zrt/model/arch/glm4.hpp>
#include <zrt/model/arch/glm4moe.hpp>
#include <zrt/model/arch/gpt2.hpp>
#include <zrt/model/arch/gpt_oss.hpp>
#include <zrt/model/arch/granite.hpp>
#include <zrt/model/arch/granitehybrid.hpp>
#include <zrt/model/arch/granitemoe.hpp>
#include <zrt/model/arch/hunyuan_dense.hpp>
#include <zrt/model/arch/lfm2.hpp>
#include <zrt/model/arch/llama.hpp>
#include <zrt/model/arch/llama_moe.hpp>
#include <zrt/model/arch/mamba.hpp>
#include <zrt/model/arch/mamba2.hpp>
#include <zrt/model/arch/mistral3.hpp>
#include <zrt/model/arch/modern_bert.hpp>
#include <zrt/model/arch/nemotron_h.hpp>
#include <zrt/model/arch/nemotron_h_moe.hpp>
#include <zrt/model/arch/nomic_bert.hpp>
#include <zrt/model/arch/nomic_bert_moe.hpp>
#include <zrt/model/arch/olmo2.hpp>
#include <zrt/model/arch/phi3.hpp>
#include <zrt/model/arch/qwen2.hpp>
#include <zrt/model/arch/qwen2moe.hpp>
#include <zrt/model/arch/qwen3.hpp>
#include <zrt/model/arch/qwen35.hpp>
#include <zrt/model/arch/qwen35moe.hpp>
#include <zrt/model/arch/qwen3_reranker.hpp>
#include <zrt/model/arch/qwen3moe.hpp>
#include <zrt/model/arch/qwen3next.hpp>
#include <zrt/model/arch/qwen3vl.hpp>
#include <zrt/model/arch/qwen3vl_images.hpp>
#include <zrt/model/arch/qwen3vlmoe.hpp>
#include <zrt/model/arch/seed_oss.hpp>
#include <zrt/model/arch/smollm3.hpp>
#include <zrt/model/arch/stablelm.hpp>
#include <zrt/model/arch/starcoder2.hpp>
#include <zrt/model/arch/t5_encoder.hpp>

namespace zrt::inline ZRT_ABI {

/// The families that an engine runs by default. A host gives Engine a type like this one to add its own families,
/// pre-tokenizers and metadata keys, or to compile fewer: docs/adding-a-family.md.
struct AllFamilies {
  /// A backend without some op opens the families that do without it, and names the op when it refuses a file.
  static constexpr bool skips_what_lacks_ops = true;
  /// Engines need not build each program at compile time: tests/static/families.cpp does.
  static constexpr bool are_checked = true;
  static constexpr bool takes_adapters = true;
  // clang-format off: a family a line
  using List = boost::mp11::mp_list<
      model::Llama,
      model::Qwen2,
      model::Qwen3,
      model::Gemma2,
      model::Gemma3,
      model::Phi3,
      model::Gemma4,
      model::Gpt2,
      model::SeedOss,
      model::Ernie45,
      model::SmolLm3,
      model::Glm4,
      model::Exaone4,
      model::Starcoder2,
      model::CommandR,
      model::StableLm,
      model::Mamba,
      model::FalconMamba,
      model::Mamba2,
      model::GraniteHybrid,
      model::Lfm2,
      model::Qwen35,
      model::Qwen3Vl,
      model::Qwen3VlImages,
      model::Qwen3VlMoe,
      model::LlamaMoe,
      model::Qwen2Moe,
      model::Qwen3Moe,
      model::GraniteMoe,
      model::GptOss,
      model::Qwen35Moe,
      model::Qwen3Next,
      model::Deepseek2,
      model::Granite,
      model::Deepseek,
      model::Glm4Moe,
      model::Ernie45Moe,
      model::HunyuanDense,
      model::Olmo2,
      model::Mistral3,
      model::TemperedMistral3,
      model::FalconH1,
      model::NemotronH,
      model::NemotronHMoe,
      model::Qwen3Reranker,
      model::Bert,
      model::NomicBert,
      model::NomicBertMoe,
      model::ModernBert,
      model::T5Encoder>;
  // clang-format on
};

}  // namespace zrt::inline ZRT_ABI
