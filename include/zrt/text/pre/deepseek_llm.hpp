// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/deepseek_llm.hpp: the pre-tokenizers of DeepSeek LLM and DeepSeek Coder.
#pragma once

#include <zrt/text/detail/scanner.hpp>
#include <zrt/text/pre/traits.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Its stages, in this order: line breaks one by one; letters with one white space before; punctuation
/// with one white space before; white space at the end; CJK and neighbouring scripts; numbers.
/// The ranges are those of the vocabulary's published definition, gaps included, but for white space, which no range
/// holds in llama.cpp.
struct DeepSeekLlm {
  struct LineBreak {
    static bool holds(char32_t c) noexcept { return c == U'\n' || c == U'\r'; }
  };

  /// Cased letters as that definition lists them; scripts without case are not among them.
  struct Letters {
    static constexpr std::array<detail::CodePointRange, 84> ranges{{
        {0x41, 0x5a},       {0x61, 0x7a},       {0xb5, 0xb5},       {0xc0, 0xd6},       {0xd8, 0xf6},
        {0xf8, 0x1ba},      {0x1bc, 0x1bf},     {0x1c4, 0x293},     {0x295, 0x2af},     {0x370, 0x373},
        {0x376, 0x377},     {0x37b, 0x37d},     {0x37f, 0x37f},     {0x386, 0x386},     {0x388, 0x38a},
        {0x38c, 0x38c},     {0x38e, 0x3a1},     {0x3a3, 0x3f5},     {0x3f7, 0x481},     {0x48a, 0x52f},
        {0x531, 0x556},     {0x10a0, 0x10c5},   {0x13a0, 0x13f5},   {0x13f8, 0x13fd},   {0x1c90, 0x1cba},
        {0x1cbd, 0x1cbf},   {0x1d00, 0x1d2b},   {0x1d6b, 0x1d77},   {0x1d79, 0x1d9a},   {0x1e00, 0x1f15},
        {0x1f18, 0x1f1d},   {0x1f20, 0x1f45},   {0x1f48, 0x1f4d},   {0x1f50, 0x1f57},   {0x1f59, 0x1f59},
        {0x1f5b, 0x1f5b},   {0x1f5d, 0x1f5d},   {0x1f5f, 0x1f7d},   {0x1f80, 0x1fb4},   {0x1fb6, 0x1fbc},
        {0x1fbe, 0x1fbe},   {0x1fc2, 0x1fc4},   {0x1fc6, 0x1fcc},   {0x1fd0, 0x1fd3},   {0x1fd6, 0x1fdb},
        {0x1fe0, 0x1fec},   {0x1ff2, 0x1ff4},   {0x1ff6, 0x1ffc},   {0x2102, 0x2102},   {0x2107, 0x2107},
        {0x210a, 0x2113},   {0x2115, 0x2115},   {0x2119, 0x211d},   {0x2124, 0x2124},   {0x2126, 0x2126},
        {0x2128, 0x2128},   {0x212a, 0x212d},   {0x212f, 0x2134},   {0x2139, 0x2139},   {0x213c, 0x213f},
        {0x2145, 0x2149},   {0x214e, 0x214e},   {0x2183, 0x2184},   {0x2c00, 0x2c7b},   {0x2c7e, 0x2ce4},
        {0x2ceb, 0x2cee},   {0x2cf2, 0x2cf3},   {0xa640, 0xa66d},   {0xa680, 0xa69b},   {0xa722, 0xa76f},
        {0xa771, 0xa787},   {0xa78b, 0xa78e},   {0xab70, 0xabbf},   {0xfb00, 0xfb06},   {0xfb13, 0xfb17},
        {0xff21, 0xff3a},   {0xff41, 0xff5a},   {0x10400, 0x1044f}, {0x104b0, 0x104d3}, {0x104d8, 0x104fb},
        {0x10c80, 0x10cb2}, {0x10cc0, 0x10cf2}, {0x118a0, 0x118df}, {0x1e900, 0x1e943},
    }};
    static bool holds(char32_t c) noexcept { return detail::any_holds(ranges, c); }
  };

  struct Signs {
    static constexpr std::array<detail::CodePointRange, 6> ranges{{
        {0x21, 0x2f},
        {0x3a, 0x7e},
        {0x2018, 0x201f},
        {0x3001, 0x3002},
        {0xff01, 0xff0f},
        {0xff1a, 0xff5e},
    }};
    static bool holds(char32_t c) noexcept { return detail::any_holds(ranges, c); }
  };

  struct Cjk {
    static constexpr std::array<detail::CodePointRange, 2> ranges{{{0x800, 0x9fa5}, {0xac00, 0xd7ff}}};
    static bool holds(char32_t c) noexcept { return detail::any_holds(ranges, c) && !detail::properties_of(c).space(); }
  };

  static constexpr std::array<std::string_view, 1> names{"deepseek-llm"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = false};
  using Stages = detail::StageList<detail::Each<LineBreak>, detail::Runs<Letters, detail::Before::white_space>,
                                   detail::Runs<Signs, detail::Before::white_space>, detail::TrailingSpace,
                                   detail::Runs<Cjk>, detail::Runs<detail::Number>>;
};
static_assert(PreTokenizer<DeepSeekLlm>);

/// DeepSeek Coder: all letters and all punctuation, and numbers one by one.
struct DeepSeekCoder {
  struct Letters {
    static bool holds(char32_t c) noexcept { return detail::properties_of(c).letter(); }
  };
  struct Punctuation {
    static bool holds(char32_t c) noexcept { return detail::properties_of(c).punctuation(); }
  };

  static constexpr std::array<std::string_view, 1> names{"deepseek-coder"};
  static constexpr Traits traits = DeepSeekLlm::traits;
  using Stages =
      detail::StageList<detail::Each<DeepSeekLlm::LineBreak>, detail::Runs<Letters, detail::Before::white_space>,
                        detail::Runs<Punctuation, detail::Before::white_space>, detail::Runs<DeepSeekLlm::Cjk>,
                        detail::Each<detail::Number>>;
};
static_assert(PreTokenizer<DeepSeekCoder>);

}  // namespace zrt::inline ZRT_ABI::text::pre
