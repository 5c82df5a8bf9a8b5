// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/qwen2.hpp: the pre-tokenizers of the Qwen families.
#pragma once

#include <zrt/text/pre/llama3.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Qwen 2 and 3: the words of Llama 3, but every number sign stands alone.
struct Qwen2 {
  static constexpr std::array<std::string_view, 10> names{"qwen2",       "deepseek-r1-qwen", "kormo",  "f2llmv2",
                                                          "hunyuan",     "solar-open",       "grok-2", "bailingmoe",
                                                          "bailingmoe2", "llada-moe"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<Llama3Words<1>>;
};
static_assert(PreTokenizer<Qwen2>);

/// The same words; decoding cleans spaces.
struct StableLm2 {
  static constexpr std::array<std::string_view, 2> names{"stablelm2", "megrez"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true};
  using Stages = Qwen2::Stages;
};
static_assert(PreTokenizer<StableLm2>);

/// Qwen 3.5: as Qwen 2, and combining marks stay with their letters.
struct Qwen35 {
  static constexpr std::array<std::string_view, 1> names{"qwen35"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<Words<WordRules{.max_digits = 1, .marks = Marks::letters}>>;
};
static_assert(PreTokenizer<Qwen35>);

}  // namespace zrt::inline ZRT_ABI::text::pre
