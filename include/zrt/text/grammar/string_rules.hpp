// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/string_rules.hpp: JSON strings of a pattern, a format and a length as rules of GBNF.
#pragma once

#include <zrt/text/chat/text_builder.hpp>
#include <zrt/text/grammar/grammar.hpp>
#include <zrt/text/grammar/pattern_reader.hpp>
#include <zrt/text/grammar/string_formats.hpp>

namespace zrt::inline ZRT_ABI::text::grammar::detail {

/// What a schema asks of a string. All of it holds at once.
struct StringForm {
  std::string_view pattern{};
  bool has_pattern = false;
  std::string_view format{};
  std::uint32_t least = 0;
  std::uint32_t most = kEndless;
  [[nodiscard]] friend bool operator==(const StringForm&, const StringForm&) noexcept = default;
};

/// Writes rules, one for each state of the automaton of a form, so that a text is at one place of it at a time. A
/// character stands for itself, or as \", \\, \b, \f, \n, \r or \t; other control characters are not written.
class StringRules {
 public:
  /// States of one automaton. The rules of all count among those of a grammar.
  static constexpr std::size_t kMostStates = 4'096;

  explicit StringRules(const Allocator& a) noexcept : terms_(a), known_(a) {}

  /// The number of a form; its rule is p<number>-0, what stands behind the first quote. Errors:
  /// Errc::invalid_argument, which names the keyword; Errc::limit_exceeded; Errc::out_of_memory.
  [[nodiscard]] Result<std::uint32_t> write(const StringForm& form, chat::TextBuilder& out) noexcept {
    for (std::uint32_t i = 0; i < known_.size(); ++i)
      if (known_[i] == form) return i;
    auto term = term_of(form);
    if (!term) return pass(term);
    const auto number = static_cast<std::uint32_t>(known_.size());
    if (auto r = known_.push_back(form); !r) return pass(r);
    if (auto r = Automaton(terms_).write(*term, number, out); !r) return pass(r);
    return number;
  }

 private:
  [[nodiscard]] Result<Term> term_of(const StringForm& form) noexcept {
    Term all = terms_.repeat(terms_.any(), form.least, form.most);
    if (form.has_pattern) {
      auto pattern = PatternReader(terms_, form.pattern).read();
      if (!pattern) return pattern;
      all = terms_.both(all, *pattern);
    }
    if (form.format.empty()) return all;
    for (const StringFormat& format : kStringFormats) {
      if (format.name != form.format) continue;
      Term parts = terms_.empty();
      for (const std::string_view part : format.parts) {
        if (part.empty()) continue;
        auto term = PatternReader(terms_, part).read();
        if (!term) return term;
        parts = terms_.then(parts, *term);
      }
      return terms_.both(all, parts);
    }
    for (const std::string_view name : kOtherFormats)
      if (name == form.format) return unknown(form.format);
    return form.has_pattern ? Result<Term>(all) : unknown(form.format);
  }
  [[nodiscard]] static Result<Term> unknown(std::string_view format) noexcept {
    return fail(Errc::invalid_argument, "the format ", format, " is not honoured");
  }

  /// The automaton of a term: its derivatives by Brzozowski, those that lead to no text left out.
  class Automaton {
   public:
    explicit Automaton(PatternTerms& terms) noexcept
        : terms_(terms),
          intervals_(terms.allocator()),
          next_(terms.allocator()),
          states_(terms.allocator()),
          index_(terms.allocator()),
          steps_(terms.allocator()),
          live_(terms.allocator()) {}

    [[nodiscard]] Result<void> write(Term root, std::uint32_t number, chat::TextBuilder& out) noexcept {
      auto intervals = terms_.intervals(root);
      if (!intervals) return pass(intervals);
      intervals_ = std::move(*intervals);
      if (auto r = follow(root); !r) return r;
      if (auto r = find_live(); !r) return r;
      if (!live_[0])
        return fail(Errc::invalid_argument, "no text has the pattern, the format and the length of a string");
      for (std::uint32_t state = 0, step = 0; state < states_.size(); ++state) {
        const std::uint32_t first = step;
        while (step < steps_.size() && steps_[step].from == state) ++step;
        if (live_[state]) write_state(number, state, {steps_.data() + first, step - first}, out);
      }
      return {};
    }

   private:
    struct Step {
      std::uint32_t from;
      std::uint32_t to;
      std::uint32_t interval;
    };

    [[nodiscard]] Result<std::uint32_t> state_of(Term term) noexcept {
      if (term >= index_.size()) {
        const std::size_t old = index_.size();
        if (auto r = index_.resize(term + 1 > 2 * old ? term + 1 : 2 * old); !r) return pass(r);
        for (std::size_t i = old; i < index_.size(); ++i) index_[i] = kEndless;
      }
      if (index_[term] != kEndless) return index_[term];
      if (states_.size() >= kMostStates)
        return fail(Errc::limit_exceeded, "pattern, format and length of a string need more than ", kMostStates,
                    " states");
      if (auto r = states_.push_back(term); !r) return pass(r);
      return index_[term] = static_cast<std::uint32_t>(states_.size() - 1);
    }
    [[nodiscard]] Result<void> follow(Term root) noexcept {
      if (auto r = state_of(root); !r) return pass(r);
      if (auto r = next_.resize(intervals_.size()); !r) return r;
      for (std::uint32_t state = 0; state < states_.size(); ++state)
        for (std::uint32_t i = 0; i < intervals_.size(); ++i) {
          const PatternTerms::Interval interval = intervals_[i];
          next_[i] = interval.like == i ? terms_.behind(states_[state], interval.first) : next_[interval.like];
          if (!terms_.result()) return terms_.result();
          if (next_[i] == terms_.none() || !has_text(i)) continue;
          auto to = state_of(next_[i]);
          if (!to) return pass(to);
          if (auto r = steps_.push_back({state, *to, i}); !r) return r;
        }
      return {};
    }
    /// Marks the states from which an end can be reached: from the ends backwards.
    [[nodiscard]] Result<void> find_live() noexcept {
      Vector<std::uint32_t> first(terms_.allocator());  // of the steps that lead to a state
      Vector<std::uint32_t> from(terms_.allocator());
      Vector<std::uint32_t> open(terms_.allocator());
      if (auto r = first.resize(states_.size() + 2); !r) return r;
      if (auto r = from.resize(steps_.size()); !r) return r;
      if (auto r = live_.resize(states_.size()); !r) return r;
      for (const Step& s : steps_) ++first[s.to + 2];
      for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
      for (const Step& s : steps_) from[first[s.to + 1]++] = s.from;
      for (std::uint32_t state = 0; state < states_.size(); ++state)
        if (terms_.has_empty(states_[state]))
          if (auto r = reach(state, open); !r) return r;
      while (!open.empty()) {
        const std::uint32_t state = open.back();
        open.pop_back();
        for (std::uint32_t i = first[state]; i < first[state + 1]; ++i)
          if (auto r = reach(from[i], open); !r) return r;
      }
      return {};
    }
    [[nodiscard]] Result<void> reach(std::uint32_t state, Vector<std::uint32_t>& open) noexcept {
      if (live_[state]) return {};
      live_[state] = true;
      return open.push_back(state);
    }

    void write_state(std::uint32_t number, std::uint32_t state, Span<Step> steps, chat::TextBuilder& out) noexcept {
      write_name(number, state, out);
      out << " ::= ";
      bool begun = terms_.has_empty(states_[state]);
      if (begun) out << R"("\"")";
      heap_sort(steps,
                [](const Step& a, const Step& b) { return a.to != b.to ? a.to < b.to : a.interval < b.interval; });
      for (std::size_t i = 0, end = 0; i < steps.size(); i = end) {
        for (end = i; end < steps.size() && steps[end].to == steps[i].to;) ++end;
        if (!live_[steps[i].to]) continue;
        if (begun) out << " | ";
        begun = true;
        write_characters({steps.data() + i, end - i}, out);
        out << ' ';
        write_name(number, steps[i].to, out);
      }
      out << "\n";
    }
    static void write_name(std::uint32_t number, std::uint32_t state, chat::TextBuilder& out) noexcept {
      out << 'p' << std::int64_t{number} << '-' << std::int64_t{state};
    }

    // --- characters of intervals as JSON has them --------------------------------------------------------

    struct Escape {
      char32_t character;
      char letter;
    };
    static constexpr Escape kEscapes[] = {{'\b', 'b'}, {'\t', 't'}, {'\n', 'n'}, {'\f', 'f'},
                                          {'\r', 'r'}, {'"', '"'},  {'\\', '\\'}};
    static constexpr unicode::CodePointRange kPlain[] = {
        {0x20, '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, 0xd7ff}, {0xe000, 0x10ffff}};

    [[nodiscard]] char32_t last_of(std::uint32_t interval) const noexcept {
      return interval + 1 < intervals_.size() ? intervals_[interval + 1].first - 1 : char32_t{0x10ffff};
    }
    /// A part of the interval, where it has one.
    [[nodiscard]] bool overlap(std::uint32_t interval, unicode::CodePointRange& part) const noexcept {
      const char32_t first = intervals_[interval].first, last = last_of(interval);
      part = {part.first > first ? part.first : first, part.last < last ? part.last : last};
      return part.first <= part.last;
    }
    /// Whether JSON texts show a character of an interval.
    [[nodiscard]] bool has_text(std::uint32_t interval) const noexcept {
      bool any = false;
      for (const Escape& e : kEscapes)
        if (unicode::CodePointRange part{e.character, e.character}; overlap(interval, part)) any = true;
      for (unicode::CodePointRange part : kPlain) any = any || overlap(interval, part);
      return any;
    }

    void write_characters(Span<const Step> steps, chat::TextBuilder& out) noexcept {
      std::size_t pieces = 0;
      bool plain = false;
      for (const Step& s : steps) {
        for (const Escape& e : kEscapes)
          if (unicode::CodePointRange part{e.character, e.character}; overlap(s.interval, part)) ++pieces;
        for (unicode::CodePointRange part : kPlain) plain = plain || overlap(s.interval, part);
      }
      pieces += plain ? 1u : 0u;
      if (pieces > 1) out << '(';
      if (plain) {
        out << '[';
        for (const Step& s : steps)
          for (unicode::CodePointRange part : kPlain)
            if (overlap(s.interval, part)) write_range(part, out);
        out << ']';
      }
      bool begun = plain;
      for (const Step& s : steps)
        for (const Escape& e : kEscapes)
          if (unicode::CodePointRange part{e.character, e.character}; overlap(s.interval, part)) {
            out << (begun ? " | " : "") << R"("\\)" << (e.letter == '"' || e.letter == '\\' ? "\\" : "") << e.letter
                << '"';
            begun = true;
          }
      if (pieces > 1) out << ')';
    }
    static void write_range(const unicode::CodePointRange& range, chat::TextBuilder& out) noexcept {
      write_character(range.first, out);
      if (range.last == range.first) return;
      out << '-';
      write_character(range.last, out);
    }
    static void write_character(char32_t c, chat::TextBuilder& out) noexcept {
      const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
      if (plain) return void(out << static_cast<char>(c));
      constexpr std::string_view hex = "0123456789abcdef";
      const std::uint32_t digits = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
      out << '\\' << (digits == 2 ? 'x' : digits == 4 ? 'u' : 'U');
      for (std::uint32_t i = digits; i-- > 0;) out << hex[c >> (4 * i) & 15u];
    }

    PatternTerms& terms_;
    Vector<PatternTerms::Interval> intervals_;
    Vector<Term> next_;  ///< behind the state being followed, by interval
    Vector<Term> states_;
    Vector<std::uint32_t> index_;  ///< states by term
    Vector<Step> steps_;           ///< by the state from which they lead
    Vector<bool> live_;
  };

  PatternTerms terms_;
  Vector<StringForm> known_;
};

}  // namespace zrt::inline ZRT_ABI::text::grammar::detail
