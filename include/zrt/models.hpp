// SPDX-License-Identifier: Apache-2.0
// zrt/models.hpp: all model families of this build, and the code of the engines that run them.
#pragma once

#include <zrt/engine/engine_members.hpp>
#include <zrt/model/arch/gemma2.hpp>
#include <zrt/model/arch/gemma3.hpp>
#include <zrt/model/arch/gpt2.hpp>
#include <zrt/model/arch/llama.hpp>
#include <zrt/model/arch/phi3.hpp>
#include <zrt/model/arch/qwen2.hpp>
#include <zrt/model/arch/qwen3.hpp>

namespace zrt::inline ZRT_ABI {

/// The families that an engine runs by default. A host gives Engine a type like this one to add its own families,
/// pre-tokenizers and metadata keys, or to compile fewer: docs/adding-a-family.md.
struct AllFamilies {
  /// A backend without some op opens the families that do without it, and names the op when it refuses a file.
  static constexpr bool skips_what_lacks_ops = true;
  using List = boost::mp11::mp_list<model::Llama, model::Qwen2, model::Qwen3, model::Gemma2, model::Gemma3, model::Phi3,
                                    model::Gpt2>;
};

}  // namespace zrt::inline ZRT_ABI
