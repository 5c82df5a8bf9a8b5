// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/pattern_terms.hpp: regular languages of characters as terms, and what is left of one behind a character.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/text/detail/unicode.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::text::grammar::detail {

namespace unicode = zrt::text::detail;

/// The number of a term. Terms that are written alike have the same one.
using Term = std::uint32_t;

inline constexpr std::uint32_t kEndless = ~std::uint32_t{0};

enum class TermKind : std::uint8_t {
  none,    ///< no text
  empty,   ///< the text without a character
  one_of,  ///< a character of the set `a`
  then,    ///< a text of `a`, and one of `b` behind it
  either,  ///< a text of `a` or of `b`
  both,    ///< a text of `a` and of `b`
  other,   ///< any text but those of `a`
  repeat,  ///< least..most texts of `a`
};

/// Makes terms in a normal form, so that a language has few derivatives by Brzozowski: alternatives are a sorted list
/// without doubles, and stand outside of sequences. The first error is kept; what is made after it means nothing.
class PatternTerms {
 public:
  /// Terms, and looks at terms, for all patterns of a schema: 0.3 s and 12 MiB at most.
  static constexpr std::size_t kMostTerms = std::size_t{1} << 18;
  static constexpr std::size_t kMostWork = std::size_t{1} << 22;

  explicit PatternTerms(const Allocator& a) noexcept : terms_(a), slots_(a), ranges_(a), sets_(a) {
    none_ = make({.kind = TermKind::none});
    empty_ = make({.kind = TermKind::empty, .has_empty = true});
    constexpr unicode::CodePointRange every[] = {{0, 0x10ffff}};
    any_ = one_of(every);
    all_ = repeat(any_, 0, kEndless);
  }

  [[nodiscard]] Term none() const noexcept { return none_; }
  [[nodiscard]] Term empty() const noexcept { return empty_; }
  [[nodiscard]] Term any() const noexcept { return any_; }  ///< one character
  [[nodiscard]] Term all() const noexcept { return all_; }  ///< any text
  [[nodiscard]] bool has_empty(Term t) const noexcept { return node(t).has_empty; }
  [[nodiscard]] const Result<void>& result() const noexcept { return result_; }
  [[nodiscard]] const Allocator& allocator() const noexcept { return terms_.allocator(); }

  [[nodiscard]] Term one_of(Span<const unicode::CodePointRange> ranges) noexcept {
    if (ranges.empty()) return none_;
    // A set that was made before is the same one.
    for (std::uint32_t i = 0; i < sets_.size(); ++i)
      if (same(set(i), ranges)) return make({.kind = TermKind::one_of, .a = i});
    keep(sets_.push_back({ranges_.size(), ranges.size()}));
    keep(ranges_.append(ranges));
    return make({.kind = TermKind::one_of, .a = static_cast<std::uint32_t>(sets_.size() - 1)});
  }
  [[nodiscard]] Term then(Term a, Term b) noexcept {
    if (a == none_ || b == none_ || !result_) return none_;
    if (a == empty_) return b;
    if (b == empty_) return a;
    const Node first = node(a);
    if (first.kind == TermKind::then) return then(first.a, then(first.b, b));
    if (first.kind == TermKind::either) return join_each(a, [&](Term alternative) { return then(alternative, b); });
    return make({.kind = TermKind::then, .has_empty = first.has_empty && has_empty(b), .a = a, .b = b});
  }
  [[nodiscard]] Term either(Term a, Term b) noexcept { return join(TermKind::either, a, b); }
  [[nodiscard]] Term both(Term a, Term b) noexcept { return join(TermKind::both, a, b); }
  [[nodiscard]] Term other(Term a) noexcept {
    if (node(a).kind == TermKind::other) return node(a).a;
    if (a == none_) return all_;
    if (a == all_) return none_;
    return make({.kind = TermKind::other, .has_empty = !has_empty(a), .a = a});
  }
  [[nodiscard]] Term repeat(Term a, std::uint32_t least, std::uint32_t most) noexcept {
    if (has_empty(a)) least = 0;
    if (most == 0 || a == empty_ || (a == none_ && least == 0)) return empty_;
    if (a == none_ || (least == 1 && most == 1)) return a;
    return make({.kind = TermKind::repeat, .has_empty = least == 0, .a = a, .least = least, .most = most});
  }

  /// What may follow `c` in texts of a term.
  [[nodiscard]] Term behind(Term t, char32_t c) noexcept {
    if (++work_ > kMostWork)
      keep(fail(Errc::limit_exceeded, "the keyword pattern is not honoured with more than ", kMostWork, " steps"));
    if (!result_) return none_;
    const Node n = node(t);
    switch (n.kind) {
      case TermKind::none:
      case TermKind::empty:
        return none_;
      case TermKind::one_of:
        return holds(set(n.a), c) ? empty_ : none_;
      case TermKind::then: {
        const Term first = then(behind(n.a, c), n.b);
        return has_empty(n.a) ? either(first, behind(n.b, c)) : first;
      }
      case TermKind::either:
      case TermKind::both:
        return join_each(t, [&](Term member) { return behind(member, c); });
      case TermKind::other:
        return other(behind(n.a, c));
      case TermKind::repeat: {
        const Term first = behind(n.a, c);
        const std::uint32_t most = n.most == kEndless ? kEndless : n.most - 1;
        return then(first, repeat(n.a, n.least == 0 ? 0 : n.least - 1, most));
      }
    }
    return none_;
  }

  /// Characters from `first` on that every set of a term holds, or none of them, up to where the next interval begins.
  struct Interval {
    char32_t first;
    std::uint32_t like;  ///< the first interval of which each set holds as much
  };
  /// All characters as intervals.
  [[nodiscard]] Result<Vector<Interval>> intervals(Term root) noexcept {
    Vector<char32_t> begins(allocator());
    Vector<std::uint32_t> sets(allocator());
    if (auto r = sets_of(root, sets); !r) return pass(r);
    if (auto r = begins.push_back(0); !r) return pass(r);
    for (const std::uint32_t index : sets)
      for (const unicode::CodePointRange& r : set(index))
        for (const char32_t begin : {r.first, static_cast<char32_t>(r.last + 1)})
          if (auto added = begins.push_back(begin); !added) return pass(added);
    heap_sort(begins.span(), [](char32_t a, char32_t b) { return a < b; });
    Vector<Interval> found(allocator());
    for (const char32_t begin : begins) {
      if (begin > 0x10ffff || (!found.empty() && found.back().first == begin)) continue;
      auto like = static_cast<std::uint32_t>(found.size());
      for (std::uint32_t i = 0; i < found.size() && like == found.size(); ++i)
        if (found[i].like == i && are_alike(found[i].first, begin, sets.span())) like = i;
      if (auto r = found.push_back({begin, like}); !r) return pass(r);
    }
    return found;
  }

 private:
  struct Node {
    TermKind kind = TermKind::none;
    bool has_empty = false;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t least = 0;
    std::uint32_t most = 0;
    [[nodiscard]] friend bool operator==(const Node&, const Node&) noexcept = default;
  };
  struct Set {
    std::size_t first;
    std::size_t count;
  };

  void keep(const Result<void>& r) noexcept {
    if (result_ && !r) result_ = r;
  }
  [[nodiscard]] Span<const unicode::CodePointRange> set(std::uint32_t index) const noexcept {
    return ranges_.span().subspan(sets_[index].first, sets_[index].count);
  }
  [[nodiscard]] static bool same(Span<const unicode::CodePointRange> a,
                                 Span<const unicode::CodePointRange> b) noexcept {
    bool equal = a.size() == b.size();
    for (std::size_t i = 0; equal && i < a.size(); ++i) equal = a[i].first == b[i].first && a[i].last == b[i].last;
    return equal;
  }
  [[nodiscard]] static bool holds(Span<const unicode::CodePointRange> ranges, char32_t c) noexcept {
    bool any = false;
    for (const unicode::CodePointRange& r : ranges) any = any || (r.first <= c && c <= r.last);
    return any;
  }

  /// The sets within a term, each once.
  [[nodiscard]] Result<void> sets_of(Term root, Vector<std::uint32_t>& sets) noexcept {
    Vector<bool> seen(allocator());
    Vector<Term> open(allocator());
    if (auto r = seen.resize(terms_.size()); !r) return r;
    if (auto r = open.push_back(root); !r) return r;
    while (!open.empty()) {
      const Term t = open.back();
      open.pop_back();
      if (seen[t]) continue;
      seen[t] = true;
      const Node n = node(t);
      const bool two = n.kind == TermKind::then || n.kind == TermKind::either || n.kind == TermKind::both;
      if (n.kind == TermKind::one_of)
        if (auto r = sets.push_back(n.a); !r) return r;
      if (two || n.kind == TermKind::other || n.kind == TermKind::repeat)
        if (auto r = open.push_back(n.a); !r) return r;
      if (two)
        if (auto r = open.push_back(n.b); !r) return r;
    }
    return {};
  }
  [[nodiscard]] bool are_alike(char32_t a, char32_t b, Span<const std::uint32_t> sets) const noexcept {
    bool alike = true;
    for (const std::uint32_t index : sets) alike = alike && holds(set(index), a) == holds(set(index), b);
    return alike;
  }

  [[nodiscard]] Node node(Term t) const noexcept { return t < terms_.size() ? terms_[t] : Node{}; }

  [[nodiscard]] Term join(TermKind kind, Term a, Term b) noexcept {
    Vector<Term> members(allocator());
    add_members(kind, a, members);
    add_members(kind, b, members);
    return chain_of(kind, members.span());
  }
  /// Alternatives, or conditions, with each one replaced.
  template <class Replace> [[nodiscard]] Term join_each(Term list, Replace replace) noexcept {
    const TermKind kind = node(list).kind;
    Vector<Term> members(allocator());
    for (; node(list).kind == kind; list = node(list).b) add_members(kind, replace(node(list).a), members);
    add_members(kind, replace(list), members);
    return chain_of(kind, members.span());
  }
  void add_members(TermKind kind, Term list, Vector<Term>& members) noexcept {
    for (; node(list).kind == kind; list = node(list).b) keep(members.push_back(node(list).a));
    keep(members.push_back(list));
  }
  /// A list as a chain through `b`: sorted, each member once, without those that change nothing.
  [[nodiscard]] Term chain_of(TermKind kind, Span<Term> members) noexcept {
    const bool any = kind == TermKind::either;
    const Term neutral = any ? none_ : all_;
    const Term decisive = any ? all_ : none_;
    work_ += members.size();
    if (!result_) return none_;
    heap_sort(members, [](Term x, Term y) { return x < y; });
    Term chain = neutral;
    for (std::size_t i = members.size(); i-- > 0;) {
      if (members[i] == decisive) return decisive;
      if (members[i] == neutral || (i + 1 < members.size() && members[i] == members[i + 1])) continue;
      const bool x = has_empty(members[i]), y = has_empty(chain);
      chain = chain == neutral ? members[i]
                               : make({.kind = kind, .has_empty = any ? x || y : x && y, .a = members[i], .b = chain});
    }
    return chain;
  }

  [[nodiscard]] Term make(const Node& node) noexcept {
    if (2 * (terms_.size() + 1) > slots_.size()) grow();
    if (terms_.size() >= kMostTerms)
      keep(fail(Errc::limit_exceeded, "the keyword pattern is not honoured with more than ", kMostTerms, " terms"));
    if (!result_) return 0;
    std::uint32_t& slot = slots_[slot_of(node)];
    if (slot != kFree) return slot;
    keep(terms_.push_back(node));
    return result_ ? slot = static_cast<Term>(terms_.size() - 1) : 0;
  }
  [[nodiscard]] std::size_t slot_of(const Node& n) const noexcept {
    std::uint64_t hash = static_cast<std::uint64_t>(n.kind);
    for (const std::uint32_t part : {n.a, n.b, n.least, n.most}) {
      hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at] != kFree && !(terms_[slots_[at]] == n)) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() noexcept {
    const std::size_t size = slots_.empty() ? 256 : 2 * slots_.size();
    slots_.clear();
    keep(slots_.resize(size));
    if (!result_) return;
    for (std::uint32_t& slot : slots_) slot = kFree;
    for (std::size_t i = 0; i < terms_.size(); ++i) slots_[slot_of(terms_[i])] = static_cast<std::uint32_t>(i);
  }

  static constexpr std::uint32_t kFree = ~std::uint32_t{0};

  Vector<Node> terms_;
  Vector<std::uint32_t> slots_;  ///< terms by hash
  Vector<unicode::CodePointRange> ranges_;
  Vector<Set> sets_;
  Result<void> result_{};
  std::size_t work_ = 0;
  Term none_ = 0;
  Term empty_ = 0;
  Term any_ = 0;
  Term all_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::text::grammar::detail
