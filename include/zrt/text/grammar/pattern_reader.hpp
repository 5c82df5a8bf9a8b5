// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/pattern_reader.hpp: reads a regular expression of ECMA 262, as JSON schemas have it, as a term.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/text/grammar/pattern_terms.hpp>

#include <string_view>

namespace zrt::inline ZRT_ABI::text::grammar::detail {

/// Reads one pattern. It is looked for within a text, so what `^` and `$` do not hold may stand on either side.
///
/// Everything that is regular is read: lookahead too, where nothing follows the group that it stands in. Refused are
/// lookbehind, references to groups, the ends of words, and properties of characters.
class PatternReader {
 public:
  static constexpr std::size_t kMostBytes = 4096;
  static constexpr std::uint32_t kDepth = 32;
  static constexpr std::uint32_t kMostRepeats = 1'024;

  PatternReader(PatternTerms& terms, std::string_view source) noexcept
      : terms_(terms), source_(source), ranges_(terms.allocator()) {}

  /// Errors: Errc::invalid_argument, which says what is not honoured and where; Errc::limit_exceeded.
  [[nodiscard]] Result<Term> read() noexcept {
    if (source_.size() > kMostBytes) fault("more than ", kMostBytes, " bytes");
    const Part all = ok_ ? alternatives(Group::whole, 0) : Part{};
    if (ok_ && at_ < source_.size()) fault("a ) without its (");
    if (!ok_) return std::unexpected<Error>(error_);
    if (!terms_.result()) return pass(terms_.result());
    return all.term;
  }

 private:
  enum class Group : std::uint8_t { whole, plain, ahead };
  struct Part {
    Term term = 0;
    bool looks = false;  ///< holds a lookahead, which sees what follows the part
  };

  template <class... Pieces> void fault(Pieces... what) noexcept {
    if (ok_)
      error_ = Error::of(Errc::invalid_argument, "the keyword pattern is not honoured with ", what...,
                         ", found at byte ", at_, " of ", source_);
    ok_ = false;
  }
  void keep(const Result<void>& r) noexcept {
    if (!r && ok_) ok_ = false, error_ = r.error();
  }
  [[nodiscard]] char peek() const noexcept { return at_ < source_.size() ? source_[at_] : '\0'; }
  [[nodiscard]] bool at_end() const noexcept { return at_ >= source_.size(); }
  [[nodiscard]] bool takes(std::string_view text) noexcept {
    if (slice(source_, at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }

  [[nodiscard]] Part alternatives(Group group, std::uint32_t depth) noexcept {
    if (depth > kDepth) fault("more than ", kDepth, " groups within each other");
    Part all = ok_ ? sequence(group, depth) : Part{};
    while (ok_ && takes("|")) {
      const Part next = sequence(group, depth);
      all = {terms_.either(all.term, next.term), all.looks || next.looks};
    }
    return all;
  }
  [[nodiscard]] bool ends_sequence() const noexcept { return at_end() || peek() == '|' || peek() == ')'; }

  [[nodiscard]] Part sequence(Group group, std::uint32_t depth) noexcept {
    Vector<Part> parts(terms_.allocator());
    Vector<Ahead> looks(terms_.allocator());
    if (group == Group::whole && !takes("^")) keep(parts.push_back({terms_.all()}));
    bool ended = group == Group::plain;
    while (ok_ && !ends_sequence()) {
      if (group != Group::plain && peek() == '$') {
        ++at_;
        if (!ends_sequence()) fault("a $ that something follows");
        ended = true;
        break;
      }
      if (takes("(?=") || takes("(?!")) {
        const bool wanted = source_[at_ - 1] == '=';
        const Part inner = alternatives(Group::ahead, depth + 1);
        if (ok_ && !takes(")")) fault("a ( without its )");
        if (inner.looks) fault("a lookahead within a lookahead");
        keep(looks.push_back({parts.size(), wanted ? inner.term : terms_.other(inner.term)}));
        continue;
      }
      keep(parts.push_back(repeated(depth)));
    }
    if (!ended) keep(parts.push_back({terms_.all()}));
    return ok_ ? joined(parts.span(), looks.span()) : Part{};
  }
  /// A condition on all that follows the first `before` parts.
  struct Ahead {
    std::size_t before;
    Term term;
  };
  [[nodiscard]] Part joined(Span<const Part> parts, Span<const Ahead> looks) noexcept {
    Part all{terms_.empty(), !looks.empty()};
    std::size_t left = looks.size();
    for (std::size_t i = parts.size() + 1; i-- > 0;) {
      if (i < parts.size()) {
        if (parts[i].looks && i + 1 != parts.size()) fault("a lookahead in a group that something follows");
        all = {terms_.then(parts[i].term, all.term), all.looks || parts[i].looks};
      }
      for (; left > 0 && looks[left - 1].before == i; --left) all.term = terms_.both(looks[left - 1].term, all.term);
    }
    return all;
  }

  [[nodiscard]] Part repeated(std::uint32_t depth) noexcept {
    Part part = single(depth);
    if (!ok_ || at_end()) return part;
    std::uint32_t least = 0;
    std::uint32_t most = kEndless;
    if (takes("?"))
      most = 1;
    else if (takes("+"))
      least = 1;
    else if (takes("{"))
      counts(least, most);
    else if (!takes("*"))
      return part;
    (void)takes("?");  // how long a match is preferred: the same texts
    if (part.looks && most != 1) fault("a lookahead that is repeated");
    return {terms_.repeat(part.term, least, most), part.looks};
  }
  void counts(std::uint32_t& least, std::uint32_t& most) noexcept {
    least = most = number();
    if (takes(",")) most = peek() == '}' ? kEndless : number();
    if (ok_ && !takes("}")) fault("a { that no number of repetitions follows");
    if (ok_ && most < least) fault("repetitions of ", least, " to ", most);
  }
  [[nodiscard]] std::uint32_t number() noexcept {
    if (peek() < '0' || peek() > '9') return fault("a { that no number of repetitions follows"), 0;
    std::uint32_t value = 0;
    for (; ok_ && peek() >= '0' && peek() <= '9'; ++at_) {
      value = value * 10 + static_cast<std::uint32_t>(peek() - '0');
      if (value > kMostRepeats) fault("more than ", kMostRepeats, " repetitions");
    }
    return value;
  }

  [[nodiscard]] Part single(std::uint32_t depth) noexcept {
    if (peek() == '(') return group(depth);
    ranges_.clear();
    if (takes("[")) return {characters()};
    if (takes(".")) {
      add(kLineEnds);
      invert();
      return {one_of()};
    }
    if (std::string_view("^$*+?{").find(peek()) != std::string_view::npos)
      return fault("a ", slice(source_, at_, 1), " at this place"), Part{};
    const Character c = character(false);
    if (!c.is_set) keep(ranges_.push_back({c.value, c.value}));
    return {one_of()};
  }
  [[nodiscard]] Part group(std::uint32_t depth) noexcept {
    ++at_;
    if (slice(source_, at_, 3) == "?<=" || slice(source_, at_, 3) == "?<!") fault("a lookbehind");
    if (takes("?<"))
      while (!at_end() && !takes(">")) ++at_;
    else if (!takes("?:") && peek() == '?')
      fault("a group of this kind");
    const Part inner = ok_ ? alternatives(Group::plain, depth + 1) : Part{};
    if (ok_ && !takes(")")) fault("a ( without its )");
    return inner;
  }

  // --- characters ------------------------------------------------------------------------------------

  using Range = unicode::CodePointRange;
  static constexpr Range kDigits[] = {{'0', '9'}};
  static constexpr Range kWord[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  static constexpr Range kSpaces[] = {{0x09, 0x0d},     {0x20, 0x20},     {0xa0, 0xa0},     {0x1680, 0x1680},
                                      {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
                                      {0x3000, 0x3000}, {0xfeff, 0xfeff}};
  static constexpr Range kLineEnds[] = {{0x0a, 0x0a}, {0x0d, 0x0d}, {0x2028, 0x2029}};

  /// A character, or a set of them that was added to the ranges.
  struct Character {
    char32_t value = 0;
    bool is_set = false;
  };

  void add(Span<const Range> ranges) noexcept { keep(ranges_.append(ranges)); }
  [[nodiscard]] Term one_of() noexcept { return ok_ ? terms_.one_of(ranges_.span()) : 0; }
  /// Has the ranges hold what they did not.
  void invert() noexcept { keep(invert_from(0)); }
  /// The same for those from index `first` on.
  [[nodiscard]] Result<void> invert_from(std::size_t first) noexcept {
    Vector<Range> held(ranges_.allocator());
    if (auto r = held.append(ranges_.span().subspan(first, ranges_.size() - first)); !r) return r;
    heap_sort(held.span(), [](const Range& a, const Range& b) { return a.first < b.first; });
    if (auto r = ranges_.resize(first); !r) return r;
    char32_t from = 0;
    for (const Range& r : held) {
      if (r.first > from)
        if (auto added = ranges_.push_back({from, r.first - 1}); !added) return added;
      from = r.last + 1 > from ? r.last + 1 : from;
    }
    return from <= 0x10ffff ? ranges_.push_back({from, 0x10ffff}) : Result<void>{};
  }

  [[nodiscard]] Term characters() noexcept {
    const bool inverted = takes("^");
    while (ok_ && !takes("]")) {
      if (at_end()) return fault("a [ without its ]"), 0;
      const Character first = character(true);
      Character last = first;
      if (!first.is_set && peek() == '-' && slice(source_, at_ + 1, 1) != "]") {
        ++at_;
        last = character(true);
        if (last.is_set) fault("a set of characters as the end of a range");
        if (ok_ && last.value < first.value) fault("a range of falling characters");
      }
      if (ok_ && !first.is_set) keep(ranges_.push_back({first.value, last.value}));
    }
    if (inverted) invert();
    return one_of();
  }
  /// One character as it stands or behind a \. The end of a word, \b, is a backspace in a class.
  [[nodiscard]] Character character(bool in_class) noexcept {
    if (!takes("\\")) {
      const unicode::CodePoint c = unicode::decode(source_, at_);
      if (!c.valid) fault("bytes that are not UTF-8");
      at_ += c.length;
      return {c.value};
    }
    if (at_end()) return fault("a \\ at the end"), Character{};
    const char c = peek();
    if (const std::string_view sets = "dDwWsS"; sets.find(c) != std::string_view::npos) {
      ++at_;
      const std::size_t first = ranges_.size();
      const char lower = static_cast<char>(c | 0x20);
      add(lower == 'd'   ? Span<const Range>(kDigits)
          : lower == 'w' ? Span<const Range>(kWord)
                         : Span<const Range>(kSpaces));
      if (c != lower) keep(invert_from(first));
      return {.is_set = true};
    }
    constexpr std::string_view names = "nrtvfb";
    constexpr std::string_view meanings = "\n\r\t\v\f\b";
    const std::size_t which = names.find(c);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (c == 'x' || c == 'u') return {number_of(c == 'x' ? 2 : 4)};
    if (which != std::string_view::npos && (in_class || c != 'b'))
      return ++at_, Character{static_cast<char32_t>(meanings[which])};
    if (letter || digit) return fault("\\", slice(source_, at_, 1)), Character{};
    const unicode::CodePoint itself = unicode::decode(source_, at_);
    if (!itself.valid) fault("bytes that are not UTF-8");
    at_ += itself.length;
    return {itself.value};
  }
  [[nodiscard]] char32_t number_of(std::size_t digits) noexcept {
    ++at_;
    char32_t value = 0;
    for (std::size_t i = 0; ok_ && i < digits; ++i) {
      const char d = peek();
      const bool hex = (d >= '0' && d <= '9') || (d >= 'a' && d <= 'f') || (d >= 'A' && d <= 'F');
      if (!hex) return fault("a number of a character without its ", digits, " digits"), char32_t{0};
      value = value * 16 + static_cast<char32_t>(d <= '9' ? d - '0' : (d | 0x20) - 'a' + 10);
      ++at_;
    }
    if (value >= 0xd800 && value < 0xe000) fault("a half of a character");
    return value;
  }

  PatternTerms& terms_;
  std::string_view source_;
  Vector<Range> ranges_;  ///< of the set being read
  std::size_t at_ = 0;
  bool ok_ = true;
  Error error_{};
};

}  // namespace zrt::inline ZRT_ABI::text::grammar::detail
