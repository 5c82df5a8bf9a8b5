// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/bloom.hpp: the pre-tokenizer of BLOOM and of the Finnish and Nordic vocabularies after it.
#pragma once

#include <zrt/text/detail/scanner.hpp>
#include <zrt/text/pre/traits.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// What a word of BLOOM is made of: no white space and none of the signs that end sentences and clauses.
struct BloomLetters {
  static constexpr std::u32string_view signs = U"(|.,!?)\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c";
  static bool holds(char32_t c) noexcept {
    return !detail::properties_of(c).space() && signs.find(c) == std::u32string_view::npos;
  }
};

struct Bloom {
  static constexpr std::array<std::string_view, 2> names{"bloom", "gpt3-finnish"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true};
  using Stages = detail::StageList<detail::Runs<BloomLetters, detail::Before::space>>;
};
static_assert(PreTokenizer<Bloom>);

/// The same words; decoding keeps all spaces.
struct Poro {
  static constexpr std::array<std::string_view, 1> names{"poro-chat"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = Bloom::Stages;
};
static_assert(PreTokenizer<Poro>);

/// And every number sign apart.
struct Viking {
  static constexpr std::array<std::string_view, 1> names{"viking"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<detail::Runs<BloomLetters, detail::Before::space>, detail::Each<detail::Number>>;
};
static_assert(PreTokenizer<Viking>);

}  // namespace zrt::inline ZRT_ABI::text::pre
