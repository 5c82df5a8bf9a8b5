// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/gbnf.hpp: reads grammars in GBNF, the notation of llama.cpp's grammar files.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/text/detail/unicode.hpp>
#include <zrt/text/grammar/left_recursion.hpp>

#include <algorithm>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::grammar {

/// Most bytes of a grammar's source.
inline constexpr std::size_t kMostGrammarBytes = std::size_t{4} << 20;

namespace detail {

namespace unicode = zrt::text::detail;

/// A part of a rule under construction: its first state, and a jump at its end that is still open.
struct Fragment {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Reads GBNF in one pass. A repeated part is read again for each copy, so nothing but the source is kept of it.
class GbnfReader {
 public:
  static constexpr std::uint32_t kDepth = 200;
  static constexpr std::uint64_t kMostRepeats = 2000;
  /// Characters read in all: repetitions within repetitions read theirs again.
  static constexpr std::uint64_t kMostWork = std::uint64_t{1} << 24;

  GbnfReader(std::string_view source, const Allocator& a) noexcept
      : source_(source), grammar_(a), names_(a), by_name_(a), ranges_(a) {}

  [[nodiscard]] Result<Grammar> read() noexcept {
    if (source_.size() > kMostGrammarBytes)
      return fail(Errc::limit_exceeded, "the grammar has ", source_.size(), " bytes, expected at most ",
                  kMostGrammarBytes);
    for (skip_spaces(); ok_ && at_ < source_.size(); skip_spaces()) rule();
    if (ok_) check_rules();
    if (!ok_) return std::unexpected<Error>(error_);
    skip_jumps();
    return std::move(grammar_);
  }

 private:
  // --- text ------------------------------------------------------------------------------------------

  template <class... Pieces> void fault(Pieces... pieces) noexcept {
    if (!ok_) return;
    ok_ = false;
    std::uint32_t line = 1;
    std::uint32_t column = 1;
    for (std::size_t i = 0; i < at_ && i < source_.size(); ++i) {
      column = source_[i] == '\n' ? 1 : column + 1;
      line += source_[i] == '\n' ? 1u : 0u;
    }
    error_ = Error::of(Errc::invalid_argument, "grammar, line ", line, ", column ", column, ": ", pieces...);
  }
  void expected(std::string_view what) noexcept {
    if (at_ >= source_.size()) return fault("expected ", what, ", found the end");
    fault("expected ", what, ", found '", slice(source_, at_, unicode::decode(source_, at_).length), "'");
  }
  void keep(const Result<void>& r) noexcept {
    if (!r && ok_) error_ = r.error();
    ok_ = ok_ && r.has_value();
  }
  [[nodiscard]] char peek() const noexcept { return at_ < source_.size() ? source_[at_] : '\0'; }
  [[nodiscard]] bool takes(char c) noexcept {
    if (at_ >= source_.size() || source_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_spaces() noexcept {
    for (; at_ < source_.size(); ++at_) {
      if (source_[at_] == '#')
        while (at_ + 1 < source_.size() && source_[at_ + 1] != '\n') ++at_;
      else if (source_[at_] != ' ' && source_[at_] != '\t' && source_[at_] != '\n' && source_[at_] != '\r')
        return;
    }
  }
  [[nodiscard]] static constexpr bool in_name(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  }
  [[nodiscard]] std::string_view name() noexcept {
    const std::size_t begin = at_;
    while (at_ < source_.size() && in_name(source_[at_])) ++at_;
    if (at_ == begin) expected("the name of a rule");
    return slice(source_, begin, at_ - begin);
  }
  /// Whether a rule begins here: a name and ::=.
  [[nodiscard]] bool at_rule() noexcept {
    const std::size_t begin = at_;
    while (at_ < source_.size() && in_name(source_[at_])) ++at_;
    const bool named = at_ != begin;
    skip_spaces();
    const bool found = named && slice(source_, at_, 3) == "::=";
    at_ = begin;
    return found;
  }

  // --- states ----------------------------------------------------------------------------------------

  [[nodiscard]] std::uint32_t add(const RuleState& state) noexcept {
    if (!ok_) return 0;
    auto added = grammar_.add(state);
    if (!added) ok_ = false, error_ = added.error();
    return added.value_or(0);
  }
  void connect(std::uint32_t end, std::uint32_t next) noexcept {
    if (ok_) grammar_.edit(end).next = next;
  }
  [[nodiscard]] Fragment empty() noexcept {
    const std::uint32_t jump = add({});
    return {jump, jump};
  }
  [[nodiscard]] Fragment then(Fragment a, Fragment b) noexcept {
    connect(a.end, b.begin);
    return {a.begin, b.end};
  }
  [[nodiscard]] Fragment either(Fragment a, Fragment b) noexcept {
    const std::uint32_t end = add({});
    connect(a.end, end);
    connect(b.end, end);
    return {add({.kind = StateKind::split, .next = a.begin, .other = b.begin}), end};
  }
  [[nodiscard]] Fragment bytes(std::uint8_t first, std::uint8_t last) noexcept {
    const std::uint32_t end = add({});
    return {add({.kind = StateKind::bytes, .first = first, .last = last, .next = end}), end};
  }

  /// Has no state lead to a jump: whoever follows a text would pass it each time.
  void skip_jumps() noexcept {
    for (std::uint32_t i = 0; i < grammar_.states(); ++i) {
      RuleState& s = grammar_.edit(i);
      if (s.next != kNoState) s.next = behind_jumps(s.next);
      if (s.kind == StateKind::split) s.other = behind_jumps(s.other);
    }
    for (std::uint32_t i = 0; i < grammar_.rules(); ++i) grammar_.begin_rule(i, behind_jumps(grammar_.rule(i)));
  }
  [[nodiscard]] std::uint32_t behind_jumps(std::uint32_t state) noexcept {
    std::uint32_t last = state;
    // A part that stands nowhere, as one repeated no time, leads nowhere.
    for (const RuleState* s = &grammar_.state(last); s->kind == StateKind::jump && s->next != kNoState;
         s = &grammar_.state(last))
      last = s->next;
    // Those passed now lead there at once.
    while (state != last) {
      RuleState& jump = grammar_.edit(state);
      state = jump.next;
      jump.next = last;
    }
    return last;
  }

  // --- rules -----------------------------------------------------------------------------------------

  [[nodiscard]] std::uint32_t rule_named(std::string_view name) noexcept {
    const auto before = [this](std::uint32_t rule, std::string_view than) { return names_[rule] < than; };
    const std::uint32_t* found = std::lower_bound(by_name_.begin(), by_name_.end(), name, before);
    if (found != by_name_.end() && names_[*found] == name) return *found;
    const auto place = static_cast<std::size_t>(found - by_name_.begin());
    auto added = grammar_.add_rule();
    if (!added) ok_ = false, error_ = added.error();
    if (ok_) keep(names_.push_back(name));
    if (ok_) keep(by_name_.push_back(*added));
    if (ok_) std::rotate(by_name_.begin() + place, by_name_.end() - 1, by_name_.end());
    return added.value_or(0);
  }
  void rule() noexcept {
    const std::string_view named = name();
    skip_spaces();
    if (ok_ && slice(source_, at_, 3) != "::=") expected("::=");
    if (!ok_) return;
    const std::uint32_t index = rule_named(named);
    if (ok_ && grammar_.rule(index) != kNoState) fault("expected one rule ", named, ", found a second");
    at_ += 3;
    const Fragment body = alternatives(0);
    connect(body.end, add({.kind = StateKind::end}));
    if (ok_) grammar_.begin_rule(index, body.begin);
    skip_spaces();
    if (ok_ && at_ < source_.size() && !at_rule()) expected("a rule, or more of this one");
  }
  [[nodiscard]] Fragment alternatives(std::uint32_t depth) noexcept {
    if (depth > kDepth) fault("expected at most ", kDepth, " nested brackets");
    Fragment all = ok_ ? sequence(depth) : Fragment{};
    while (ok_ && takes('|')) all = either(all, sequence(depth));
    return all;
  }
  [[nodiscard]] Fragment sequence(std::uint32_t depth) noexcept {
    Fragment all = empty();
    for (skip_spaces(); ok_ && begins_item(); skip_spaces()) all = then(all, item(depth));
    return all;
  }
  [[nodiscard]] bool begins_item() noexcept {
    const char c = peek();
    return at_ < source_.size() && (c == '"' || c == '[' || c == '(' || c == '.' || (in_name(c) && !at_rule()));
  }

  [[nodiscard]] Fragment item(std::uint32_t depth) noexcept {
    const std::size_t begin = at_;
    const Fragment once = single(depth);
    work_ += at_ - begin;
    if (work_ > kMostWork) fault("expected fewer repetitions within repetitions");
    skip_spaces();
    if (takes('*')) return repeated(once);
    if (takes('?')) return optional(once);
    if (takes('+')) return then(once, again(begin, depth, &GbnfReader::repeated));
    if (!takes('{')) return once;
    return counted(begin, once, depth);
  }
  /// Reads the item at `begin` once more.
  [[nodiscard]] Fragment again(std::size_t begin, std::uint32_t depth,
                               Fragment (GbnfReader::*wrap)(Fragment) noexcept) noexcept {
    const std::size_t here = at_;
    at_ = begin;
    const Fragment copy = single(depth);
    work_ += at_ - begin;
    if (work_ > kMostWork) fault("expected fewer repetitions within repetitions");
    if (ok_) at_ = here;
    return (this->*wrap)(copy);
  }
  [[nodiscard]] Fragment as_is(Fragment f) noexcept { return f; }
  [[nodiscard]] Fragment repeated(Fragment f) noexcept {
    const std::uint32_t end = add({});
    const std::uint32_t split = add({.kind = StateKind::split, .next = f.begin, .other = end});
    connect(f.end, split);
    return {split, end};
  }
  [[nodiscard]] Fragment optional(Fragment f) noexcept {
    connect(f.end, add({}));
    const std::uint32_t end = ok_ ? grammar_.state(f.end).next : 0;
    return {add({.kind = StateKind::split, .next = f.begin, .other = end}), end};
  }
  [[nodiscard]] std::uint64_t number() noexcept {
    if (peek() < '0' || peek() > '9') return expected("a number"), 0;
    std::uint64_t value = 0;
    while (peek() >= '0' && peek() <= '9' && value <= kMostRepeats)
      value = value * 10 + static_cast<std::uint64_t>(source_[at_++] - '0');
    if (value > kMostRepeats) fault("expected at most ", kMostRepeats, " repetitions");
    return value;
  }
  /// {m}, {m,} and {m,n}; the first copy is read.
  [[nodiscard]] Fragment counted(std::size_t begin, Fragment once, std::uint32_t depth) noexcept {
    skip_spaces();
    const std::uint64_t least = number();
    std::uint64_t most = least;
    bool endless = false;
    skip_spaces();
    if (takes(',')) {
      skip_spaces();
      endless = peek() == '}';
      if (!endless) most = number();
      skip_spaces();
    }
    if (ok_ && !takes('}')) expected("}");
    if (ok_ && !endless && most < least) fault("expected a range of repetitions, found ", least, "..", most);
    if (!ok_) return {};
    if (most == 0 && !endless) return empty();
    // The first copy is mandatory unless there need be none.
    Fragment all = least == 0 ? (endless ? repeated(once) : Fragment{}) : once;
    for (std::uint64_t i = 1; ok_ && i < least; ++i) all = then(all, again(begin, depth, &GbnfReader::as_is));
    if (endless) return least == 0 ? all : then(all, again(begin, depth, &GbnfReader::repeated));
    return at_most(begin, depth, least, most, least == 0 ? once : all);
  }
  /// `done`, then up to most - least copies; each may be the last. With least 0, `done` itself may be left out.
  [[nodiscard]] Fragment at_most(std::size_t begin, std::uint32_t depth, std::uint64_t least, std::uint64_t most,
                                 Fragment done) noexcept {
    const std::uint32_t end = add({});
    std::uint32_t first = done.begin;
    if (least == 0) first = add({.kind = StateKind::split, .next = done.begin, .other = end});
    for (std::uint64_t i = least == 0 ? 1 : least; ok_ && i < most; ++i) {
      const Fragment copy = again(begin, depth, &GbnfReader::as_is);
      connect(done.end, add({.kind = StateKind::split, .next = copy.begin, .other = end}));
      done.end = copy.end;
    }
    connect(done.end, end);
    return {first, end};
  }

  [[nodiscard]] Fragment single(std::uint32_t depth) noexcept {
    if (takes('"')) return literal();
    if (takes('[')) return characters();
    if (takes('.')) return any_character();
    if (takes('(')) {
      const Fragment inner = alternatives(depth + 1);
      if (ok_ && !takes(')')) expected(")");
      return inner;
    }
    const std::uint32_t rule = rule_named(name());
    const std::uint32_t end = add({});
    return {add({.kind = StateKind::call, .next = end, .other = rule}), end};
  }

  // --- characters ------------------------------------------------------------------------------------

  /// A character of a literal or class; a byte of \x is the code point of that number.
  [[nodiscard]] char32_t character() noexcept {
    if (!takes('\\')) {
      const unicode::CodePoint c = unicode::decode(source_, at_);
      if (!c.valid) expected("UTF-8");
      at_ += c.length;
      return c.value;
    }
    constexpr std::string_view names = "nrt\"\\[]-^.";
    constexpr std::string_view meanings = "\n\r\t\"\\[]-^.";
    const char c = peek();
    if (const std::size_t which = names.find(c); at_ < source_.size() && which != std::string_view::npos) {
      ++at_;
      return static_cast<char32_t>(meanings[which]);
    }
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) return expected("an escape: n r t \" \\ [ ] x u U"), char32_t{0};
    ++at_;
    char32_t value = 0;
    for (std::size_t i = 0; ok_ && i < digits; ++i) {
      const char d = peek();
      const bool hex = (d >= '0' && d <= '9') || (d >= 'a' && d <= 'f') || (d >= 'A' && d <= 'F');
      if (!hex) return expected("a hexadecimal digit"), char32_t{0};
      value = value * 16 + static_cast<char32_t>(d <= '9' ? d - '0' : (d | 0x20) - 'a' + 10);
      ++at_;
    }
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) fault("expected the number of a character");
    return ok_ ? value : 0;
  }
  [[nodiscard]] Fragment literal() noexcept {
    Fragment all = empty();
    while (ok_ && !takes('"')) {
      if (at_ >= source_.size()) return expected("\""), all;
      const char32_t c = character();
      if (ok_) all = then(all, range(c, c));
    }
    return all;
  }
  [[nodiscard]] Fragment any_character() noexcept {
    ranges_.clear();
    keep(ranges_.push_back({0, 0x10ffff}));
    return one_of_ranges();
  }
  [[nodiscard]] Fragment characters() noexcept {
    ranges_.clear();
    const bool inverted = takes('^');
    while (ok_ && !takes(']')) {
      if (at_ >= source_.size()) return expected("]"), Fragment{};
      const char32_t first = character();
      char32_t last = first;
      if (peek() == '-' && at_ + 1 < source_.size() && source_[at_ + 1] != ']') {
        ++at_;
        last = character();
      }
      if (ok_ && last < first) fault("expected a range of rising characters");
      if (ok_) keep(ranges_.push_back({first, last}));
    }
    if (ok_ && inverted) invert_ranges();
    if (ok_ && ranges_.empty()) fault("expected a class that holds a character");
    return ok_ ? one_of_ranges() : Fragment{};
  }
  void invert_ranges() noexcept {
    Vector<unicode::CodePointRange> inverted(ranges_.allocator());
    char32_t from = 0;
    while (ok_) {
      // The range that begins first of those that end at `from` or after it.
      const unicode::CodePointRange* next = nullptr;
      for (const unicode::CodePointRange& r : ranges_)
        if (r.last >= from && (next == nullptr || r.first < next->first)) next = &r;
      const char32_t until = next == nullptr ? 0x110000 : next->first;
      if (until > from) keep(inverted.push_back({from, until - 1}));
      if (next == nullptr || next->last >= 0x10ffff) break;
      from = next->last + 1;
    }
    ranges_ = std::move(inverted);
  }
  [[nodiscard]] Fragment one_of_ranges() noexcept {
    Fragment all{};
    bool first = true;
    // A surrogate is no character.
    for (std::size_t i = 0; ok_ && i < ranges_.size(); ++i) {
      const unicode::CodePointRange r = ranges_[i];
      for (const unicode::CodePointRange& part :
           {unicode::CodePointRange{r.first, r.last < 0xd7ff ? r.last : char32_t{0xd7ff}},
            unicode::CodePointRange{r.first > 0xe000 ? r.first : char32_t{0xe000}, r.last}}) {
        if (part.first > part.last || !ok_) continue;
        const Fragment one = range(part.first, part.last);
        all = first ? one : either(all, one);
        first = false;
      }
    }
    if (first) fault("expected a class that holds a character");
    return all;
  }

  /// The characters of a range without surrogates as bytes of UTF-8.
  [[nodiscard]] Fragment range(char32_t first, char32_t last) noexcept {
    constexpr char32_t ends[] = {0x7f, 0x7ff, 0xffff, 0x10ffff};
    Fragment all{};
    bool begun = false;
    char32_t from = first;
    for (std::uint32_t more = 0; more < 4 && ok_; ++more) {
      if (from > ends[more] || from > last) continue;
      const char32_t to = last < ends[more] ? last : ends[more];
      const Fragment part = range_of_length(from, to, more);
      all = begun ? either(all, part) : part;
      begun = true;
      from = to + 1;
    }
    return all;
  }
  /// Characters with `more` bytes behind the first.
  [[nodiscard]] Fragment range_of_length(char32_t first, char32_t last, std::uint32_t more) noexcept {
    constexpr std::uint8_t leads[] = {0x00, 0xc0, 0xe0, 0xf0};
    return tail(first, last, more, leads[more], more == 0 ? 0x7f : 0x3f >> more);
  }
  /// The bytes of first..last whose upper bits agree: the byte at `more` places from the end, then the rest.
  [[nodiscard]] Fragment tail(char32_t first, char32_t last, std::uint32_t more, std::uint8_t lead,
                              std::uint32_t mask) noexcept {
    const std::uint32_t shift = 6 * more;
    const auto byte = [&](char32_t c) { return static_cast<std::uint8_t>(lead | ((c >> shift) & mask)); };
    if (more == 0) return bytes(byte(first), byte(last));
    const char32_t low = (char32_t{1} << shift) - 1;  // bits of the bytes that follow
    if (byte(first) == byte(last))
      return then(bytes(byte(first), byte(first)), tail(first, last, more - 1, 0x80, 0x3f));
    if ((first & low) != 0) {
      const Fragment head = tail(first, first | low, more, lead, mask);
      return either(head, tail((first | low) + 1, last, more, lead, mask));
    }
    if ((last & low) != low) {
      const Fragment head = tail(first, (last & ~low) - 1, more, lead, mask);
      return either(head, tail(last & ~low, last, more, lead, mask));
    }
    return then(bytes(byte(first), byte(last)), tail(0, low, more - 1, 0x80, 0x3f));
  }

  // --- checks ----------------------------------------------------------------------------------------

  void check_rules() noexcept {
    std::uint32_t root = kNoState;
    for (std::uint32_t i = 0; i < names_.size(); ++i) {
      if (grammar_.rule(i) == kNoState)
        return void((ok_ = false, error_ = Error::of(Errc::invalid_argument, "grammar: expected a rule ", names_[i],
                                                     ", which another rule names, found none")));
      if (names_[i] == "root") root = i;
    }
    if (root == kNoState) {
      ok_ = false;
      error_ = Error::of(Errc::invalid_argument, "grammar: expected a rule root, found none");
      return;
    }
    grammar_.set_root(root);
    auto recursive = LeftRecursion(grammar_).find();
    if (!recursive) return void((ok_ = false, error_ = recursive.error()));
    if (*recursive == kNoState) return;
    ok_ = false;
    error_ = Error::of(Errc::invalid_argument, "grammar: the rule ", names_[*recursive],
                       " begins with itself or with such a rule, expected a byte before it does");
  }

  std::string_view source_;
  Grammar grammar_;
  Vector<std::string_view> names_;
  Vector<std::uint32_t> by_name_;           ///< rules in the order of their names
  Vector<unicode::CodePointRange> ranges_;  ///< of the class being read
  std::size_t at_ = 0;
  std::uint64_t work_ = 0;
  bool ok_ = true;
  Error error_{};
};

}  // namespace detail

/// Reads a grammar: rules `name ::= ...` with literals, classes, `.`, brackets, `|`, `*`, `+`, `?`, `{m,n}` and comments
/// behind `#`; the rule `root` is what a model writes. A rule may stand on several lines.
///
/// Errors: Errc::invalid_argument with line, column, what was expected and found; Errc::limit_exceeded.
[[nodiscard]] inline Result<Grammar> read_gbnf(std::string_view source,
                                               const Allocator& allocator = system_allocator()) noexcept {
  return detail::GbnfReader(source, allocator).read();
}

}  // namespace zrt::inline ZRT_ABI::text::grammar
