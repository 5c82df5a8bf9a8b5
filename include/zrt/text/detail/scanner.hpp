// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/scanner.hpp: cutting a text into pieces by a chain of stages, without storing the pieces.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/text/detail/unicode.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// A found part of a text: bytes [begin, end); nothing was found when both are the text's size.
struct Match {
  std::size_t begin;
  std::size_t end;
};

/// A stage finds its leftmost match at or after `from`; what lies between matches is a piece too.
template <class S>
concept Stage = requires(std::string_view text, std::size_t from) {
  { S::find(text, from) } noexcept -> std::same_as<Match>;
};

/// A stage's function.
using FindMatch = Match (*)(std::string_view text, std::size_t from) noexcept;

/// The stages of a pre-tokenizer in order: each one sees every piece of the one before as a text of its own.
template <Stage... Stages> struct StageList {
  static constexpr std::array<FindMatch, sizeof...(Stages)> finds{&Stages::find...};
};

/// Takes one piece of a text; false stops the cutting.
struct PieceSink {
  void* context;
  bool (*take)(void* context, std::string_view piece) noexcept;
};

/// Hands `sink` each piece from left to right until it returns false; the answer says whether all were taken.
inline bool cut(Span<const FindMatch> stages, std::string_view text, const PieceSink& sink) noexcept {
  if (stages.empty()) return sink.take(sink.context, text);
  const Span<const FindMatch> rest = stages.subspan(1);
  std::size_t at = 0;
  while (at < text.size()) {
    const Match match = stages.front()(text, at);
    if (match.begin > at && !cut(rest, slice(text, at, match.begin - at), sink)) return false;
    if (match.end > match.begin && !cut(rest, slice(text, match.begin, match.end - match.begin), sink)) return false;
    at = match.end;
  }
  return true;
}

/// Walks over a text code point by code point.
struct Cursor {
  std::string_view text;
  std::size_t at;

  [[nodiscard]] bool ended() const noexcept { return at >= text.size(); }
  [[nodiscard]] CodePoint peek() const noexcept { return decode(text, at); }
  /// Returns the byte `ahead` of the cursor, or 0 behind the end.
  [[nodiscard]] char byte(std::size_t ahead = 0) const noexcept {
    return ahead < text.size() - at ? text[at + ahead] : '\0';
  }
  /// Skips code points as long as `wanted` says so.
  template <class Wanted> void skip_while(Wanted wanted) noexcept {
    while (!ended()) {
      const CodePoint next = peek();
      if (!wanted(next.value)) break;
      at += next.length;
    }
  }
};

/// A run of white space: its end, where its last code point begins and where its last line break ends (0: none).
struct SpaceRun {
  std::size_t end;
  std::size_t last;
  std::size_t line_break_end;
};

[[nodiscard]] inline SpaceRun space_run(std::string_view text, std::size_t from) noexcept {
  SpaceRun run{from, from, 0};
  while (run.end < text.size()) {
    const CodePoint next = decode(text, run.end);
    if (!properties_of(next.value).space()) break;
    run.last = run.end;
    run.end += next.length;
    if (next.value == U'\n' || next.value == U'\r') run.line_break_end = run.end;
  }
  return run;
}

/// Returns where white space at `from` is cut: the last one of several stays with the text that follows.
[[nodiscard]] inline std::size_t space_cut(std::string_view text, const SpaceRun& run, std::size_t from) noexcept {
  return run.end < text.size() && run.last > from ? run.last : run.end;
}

/// What may stand before a run and belong to it: one code point at most.
enum class Before : std::uint8_t { nothing, space, white_space };

/// Says whether a code point belongs to a class.
using Holds = bool (*)(char32_t) noexcept;

/// The first run of code points of a class. One function for all classes: they are many, and each inlined would cost a
/// kilobyte.
[[nodiscard, gnu::noinline]] inline Match find_run(std::string_view text, std::size_t from, Holds holds,
                                                   Before before_run) noexcept {
  const auto leads = [&](char32_t c) {
    return before_run == Before::white_space ? properties_of(c).space() : before_run == Before::space && c == U' ';
  };
  std::size_t before = text.size();  // where what may lead a run begins, just before the cursor
  for (std::size_t at = from; at < text.size();) {
    const CodePoint next = decode(text, at);
    if (holds(next.value)) {
      Cursor cursor{text, at + next.length};
      cursor.skip_while(holds);
      return {before < at ? before : at, cursor.at};
    }
    before = leads(next.value) ? at : text.size();
    at += next.length;
  }
  return {text.size(), text.size()};
}

/// The first up to `most` neighbours of a class.
[[nodiscard, gnu::noinline]] inline Match find_group(std::string_view text, std::size_t from, Holds holds,
                                                     std::size_t most) noexcept {
  Cursor cursor{text, from};
  cursor.skip_while([&](char32_t c) { return !holds(c); });
  const std::size_t begin = cursor.at;
  std::size_t count = 0;
  cursor.skip_while([&](char32_t c) { return count++ < most && holds(c); });
  return {begin, cursor.at};
}

/// Runs of the code points that `Class::holds`.
template <class Class, Before before_run = Before::nothing> struct Runs {
  static Match find(std::string_view text, std::size_t from) noexcept {
    return find_run(text, from, &Class::holds, before_run);
  }
};

/// Runs of the code points that one and the same of several classes holds; the first that holds the first one.
template <class... Classes> struct RunsOfOne {
  static Match find(std::string_view text, std::size_t from) noexcept {
    constexpr std::array<Holds, sizeof...(Classes)> classes{&Classes::holds...};
    for (Cursor cursor{text, from}; !cursor.ended(); cursor.at += cursor.peek().length)
      for (const Holds holds : classes)
        if (holds(cursor.peek().value)) return find_run(text, cursor.at, holds, Before::nothing);
    return {text.size(), text.size()};
  }
};

/// Groups of up to `most` code points that `Class::holds`, from the left.
template <class Class, std::size_t most> struct Groups {
  static Match find(std::string_view text, std::size_t from) noexcept {
    return find_group(text, from, &Class::holds, most);
  }
};

/// Single code points that `Class::holds`.
template <class Class> using Each = Groups<Class, 1>;

struct Number {
  static bool holds(char32_t c) noexcept { return properties_of(c).number(); }
};

/// Groups of exactly three ASCII digits, from the left.
struct ThreeDigits {
  static Match find(std::string_view text, std::size_t from) noexcept {
    const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
    for (std::size_t at = from; at + 3 <= text.size(); ++at)
      if (digit(at) && digit(at + 1) && digit(at + 2)) return {at, at + 3};
    return {text.size(), text.size()};
  }
};

/// White space that ends the text.
struct TrailingSpace {
  static Match find(std::string_view text, std::size_t from) noexcept {
    std::size_t begin = text.size();
    for (std::size_t at = from; at < text.size();) {
      const CodePoint next = decode(text, at);
      if (!properties_of(next.value).space())
        begin = text.size();
      else if (begin == text.size())
        begin = at;
      at += next.length;
    }
    return {begin, text.size()};
  }
};

}  // namespace zrt::inline ZRT_ABI::text::detail
