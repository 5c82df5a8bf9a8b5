// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/punctuation_first.hpp: pre-tokenizers that set punctuation apart, follow GPT-2 and cut digits by threes.
#pragma once

#include <zrt/text/pre/gpt2.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Punctuation and the ASCII symbols; the grave accent belongs to them where `grave` says so.
template <bool grave> struct Signs {
  static bool holds(char32_t c) noexcept {
    const detail::Properties p = detail::properties_of(c);
    return p.punctuation() || (c < 128 && p.symbol() && (grave || c != U'`'));
  }
};

struct Falcon {
  static constexpr std::array<std::string_view, 1> names{"falcon"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true};
  using Stages = detail::StageList<detail::Runs<Signs<true>>, Gpt2Words, detail::ThreeDigits>;
};
static_assert(PreTokenizer<Falcon>);

/// What a vocabulary gets that names no pre-tokenizer (files written before the key existed).
struct Default {
  static constexpr std::array<std::string_view, 2> names{"default", ""};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true};
  using Stages =
      detail::StageList<detail::Runs<Signs<false>>, Gpt2Words, detail::Runs<detail::Number>, detail::ThreeDigits>;
};
static_assert(PreTokenizer<Default>);

}  // namespace zrt::inline ZRT_ABI::text::pre
