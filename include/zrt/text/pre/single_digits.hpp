// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/single_digits.hpp: pre-tokenizers that set every number sign apart and then follow GPT-2.
#pragma once

#include <zrt/text/pre/gpt2.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

struct StarCoder {
  static constexpr std::array<std::string_view, 6> names{"refact", "starcoder",  "codeshell",
                                                         "exaone", "minerva-7b", "mellum2"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true};
  using Stages = detail::StageList<detail::Each<detail::Number>, Gpt2Words>;
};
static_assert(PreTokenizer<StarCoder>);

struct CommandR {
  static constexpr std::array<std::string_view, 2> names{"command-r", "smollm"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = StarCoder::Stages;
};
static_assert(PreTokenizer<CommandR>);

}  // namespace zrt::inline ZRT_ABI::text::pre
