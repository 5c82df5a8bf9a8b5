// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/plain_text.hpp: pre-tokenizers of vocabularies whose merges join characters rather than bytes.
#pragma once

#include <zrt/text/detail/scanner.hpp>
#include <zrt/text/pre/traits.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Runs of line feeds and runs of everything else.
struct Lines {
  static detail::Match find(std::string_view text, std::size_t from) noexcept {
    const std::size_t end = text[from] == '\n' ? text.find_first_not_of('\n', from) : text.find('\n', from);
    return {from, end == std::string_view::npos ? text.size() : end};
  }
};

/// Gemma 4: spaces are written as U+2581, whole lines are merged, and line feeds are tokens where there is one.
struct Gemma4 {
  static constexpr std::array<std::string_view, 2> names{"gemma4", "granite-embed-multi-311m"};
  static constexpr Traits traits{.ignore_merges = false,
                                 .adds_bos = true,
                                 .cleans_spaces = true,
                                 .always_adds_bos = true,
                                 .whole_line_feeds = true,
                                 .spelling = Spelling::marked_text};
  using Stages = detail::StageList<Lines>;
};
static_assert(PreTokenizer<Gemma4>);

/// The same lines; BOS as the file says.
struct SarvamMoe {
  static constexpr std::array<std::string_view, 1> names{"sarvam-moe"};
  static constexpr Traits traits{
      .ignore_merges = false, .adds_bos = false, .cleans_spaces = false, .spelling = Spelling::marked_text};
  using Stages = Gemma4::Stages;
};
static_assert(PreTokenizer<SarvamMoe>);

/// Words between white space, which is dropped.
struct WhiteSpace {
  struct Visible {
    static bool holds(char32_t c) noexcept { return !detail::properties_of(c).space(); }
  };

  static constexpr std::array<std::string_view, 1> names{"whitespace"};
  static constexpr Traits traits{.ignore_merges = false,
                                 .adds_bos = false,
                                 .cleans_spaces = true,
                                 .drops_spaces = true,
                                 .spelling = Spelling::text};
  using Stages = detail::StageList<detail::Runs<Visible>>;
};
static_assert(PreTokenizer<WhiteSpace>);

}  // namespace zrt::inline ZRT_ABI::text::pre
