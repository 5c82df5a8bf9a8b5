// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/qwen2.hpp: the pre-tokenizers of the Qwen families.
#pragma once

#include <zrt/text/pre/llama3.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Qwen 2 and 3: the words of Llama 3, but every number sign stands alone.
struct Qwen2 {
  static constexpr std::array<std::string_view, 3> names{"qwen2", "deepseek-r1-qwen", "kormo"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<Llama3Words<1>>;
};
static_assert(PreTokenizer<Qwen2>);

/// Qwen 3.5: as Qwen 2, and combining marks stay with their letters.
struct Qwen35 {
  static constexpr std::array<std::string_view, 1> names{"qwen35"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<Llama3Words<1, true>>;
};
static_assert(PreTokenizer<Qwen35>);

}  // namespace zrt::inline ZRT_ABI::text::pre
