// SPDX-License-Identifier: Apache-2.0
// zrt/models.hpp: all model families of this build, and the code of the engines that run them.
#pragma once

#include <zrt/engine/engine_members.hpp>
#include <zrt/model/arch/command_r.hpp>
#include <zrt/model/arch/ernie4_5.hpp>
#include <zrt/model/arch/exaone4.hpp>
#include <zrt/model/arch/gemma2.hpp>
#include <zrt/model/arch/gemma3.hpp>
#include <zrt/model/arch/glm4.hpp>
#include <zrt/model/arch/gpt2.hpp>
#include <zrt/model/arch/llama.hpp>
#include <zrt/model/arch/phi3.hpp>
#include <zrt/model/arch/qwen2.hpp>
#include <zrt/model/arch/qwen3.hpp>
#include <zrt/model/arch/seed_oss.hpp>
#include <zrt/model/arch/smollm3.hpp>
#include <zrt/model/arch/stablelm.hpp>
#include <zrt/model/arch/starcoder2.hpp>

namespace zrt::inline ZRT_ABI {

/// The families that an engine runs by default. A host gives Engine a type like this one to add its own families,
/// pre-tokenizers and metadata keys, or to compile fewer: docs/adding-a-family.md.
struct AllFamilies {
  /// A backend without some op opens the families that do without it, and names the op when it refuses a file.
  static constexpr bool skips_what_lacks_ops = true;
  using List = boost::mp11::mp_list<model::Llama, model::Qwen2, model::Qwen3, model::Gemma2, model::Gemma3, model::Phi3,
                                    model::Gpt2, model::SeedOss, model::Ernie45, model::SmolLm3, model::Glm4,
                                    model::Exaone4, model::Starcoder2, model::CommandR, model::StableLm>;
};

}  // namespace zrt::inline ZRT_ABI
