// SPDX-License-Identifier: Apache-2.0
// zrt/text/pre/chameleon.hpp: the pre-tokenizer of Chameleon, whose texts hold names of image tokens.
#pragma once

#include <zrt/text/pre/gpt2.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::pre {

/// Tags of the form "<sentinel:12>", image tokens of the form "IMGIMGABCDZ", tabs, line feeds and spaces by fours and
/// twos, numbers and punctuation one by one; what is left as in GPT-2.
struct Chameleon {
  /// `opening`, then `min` to `max` bytes of [first, last], then `closing`.
  template <class Form> struct Tags {
    static detail::Match find(std::string_view text, std::size_t from) noexcept {
      for (std::size_t at = text.find(Form::opening, from); at < text.size(); at = text.find(Form::opening, at + 1))
        if (const std::size_t end = end_of(text, at); end != 0) return {at, end};
      return {text.size(), text.size()};
    }

   private:
    static std::size_t end_of(std::string_view text, std::size_t begin) noexcept {
      const std::size_t body = begin + Form::opening.size();
      std::size_t at = body;
      while (at < text.size() && text[at] >= Form::first && text[at] <= Form::last) ++at;
      const bool counts = at > body && at - body <= Form::max;
      return counts && at < text.size() && text[at] == Form::closing ? at + 1 : 0;
    }
  };
  struct Sentinel {
    static constexpr std::string_view opening = "<sentinel:";
    static constexpr char first = '0';
    static constexpr char last = '9';
    static constexpr std::size_t max = ~std::size_t{0};
    static constexpr char closing = '>';
  };
  struct Image {
    static constexpr std::string_view opening = "IMGIMG";
    static constexpr char first = 'A';
    static constexpr char last = 'I';
    static constexpr std::size_t max = 4;
    static constexpr char closing = 'Z';
  };

  struct Spaces {
    static detail::Match find(std::string_view text, std::size_t from) noexcept {
      for (std::size_t at = from; at < text.size(); ++at) {
        if (text[at] == '\t' || text[at] == '\n') return {at, at + 1};
        for (const std::string_view spaces : {std::string_view("    "), std::string_view("  ")})
          if (slice(text, at, spaces.size()) == spaces) return {at, at + spaces.size()};
      }
      return {text.size(), text.size()};
    }
  };
  struct Signs {
    static bool holds(char32_t c) noexcept {
      const detail::Properties p = detail::properties_of(c);
      return p.punctuation() || (c < 128 && p.symbol());
    }
  };

  static constexpr std::array<std::string_view, 1> names{"chameleon"};
  static constexpr Traits traits{.ignore_merges = false, .adds_bos = true, .cleans_spaces = false};
  using Stages = detail::StageList<Tags<Sentinel>, Tags<Image>, Spaces, detail::Each<detail::Number>,
                                   detail::Each<Signs>, Gpt2Words>;
};
static_assert(PreTokenizer<Chameleon>);

}  // namespace zrt::inline ZRT_ABI::text::pre
