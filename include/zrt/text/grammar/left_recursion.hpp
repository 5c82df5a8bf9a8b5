// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/left_recursion.hpp: finds rules that begin with themselves, in time linear in the grammar.
#pragma once

#include <zrt/text/grammar/grammar.hpp>

namespace zrt::inline ZRT_ABI::text::grammar::detail {

/// Walks what each rule reaches without a byte. Rules share no states, so every state is walked once.
class LeftRecursion {
 public:
  explicit LeftRecursion(const Grammar& grammar) noexcept
      : grammar_(grammar),
        rules_(grammar.allocator()),
        seen_(grammar.allocator()),
        calls_(grammar.allocator()),
        open_(grammar.allocator()) {}

  /// The first rule that begins with itself or with such a rule, or kNoState. Errors: Errc::out_of_memory.
  [[nodiscard]] Result<std::uint32_t> find() noexcept {
    if (auto r = rules_.resize(grammar_.rules()); !r) return pass(r);
    if (auto r = seen_.resize(grammar_.states()); !r) return pass(r);
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule)
      if (auto r = walk({grammar_.rule(rule), rule}); !r) return pass(r);
    return first_unsettled();
  }

 private:
  struct Rule {
    std::uint32_t callers = kNoState;  ///< the last call of this rule without a byte before it
    std::uint32_t pending = 0;         ///< calls in it whose rules are not settled
    bool nullable = false;
  };
  struct Call {
    std::uint32_t caller;
    std::uint32_t behind;   ///< the state that follows
    std::uint32_t earlier;  ///< call of the same rule
  };
  struct Place {
    std::uint32_t state;
    std::uint32_t rule;
  };

  [[nodiscard]] Result<void> walk(Place from) noexcept {
    Result<void> r = open_.push_back(from);
    while (r && !open_.empty()) {
      const Place at = open_.back();
      open_.pop_back();
      if (seen_[at.state]) continue;
      seen_[at.state] = true;
      r = step(at);
    }
    return r;
  }
  [[nodiscard]] Result<void> step(Place at) noexcept {
    const RuleState& s = grammar_.state(at.state);
    if (s.kind == StateKind::end) return make_nullable(at.rule);
    if (s.kind == StateKind::call) return enter(s, at.rule);
    if (s.kind == StateKind::split)
      if (auto r = open_.push_back({s.other, at.rule}); !r) return r;
    return s.kind == StateKind::bytes ? Result<void>{} : open_.push_back({s.next, at.rule});
  }
  /// What stands behind a call is reached when the called rule turns out to need no byte.
  [[nodiscard]] Result<void> enter(const RuleState& call, std::uint32_t caller) noexcept {
    Rule& callee = rules_[call.other];
    if (auto r = calls_.push_back({caller, call.next, callee.callers}); !r) return r;
    callee.callers = static_cast<std::uint32_t>(calls_.size() - 1);
    ++rules_[caller].pending;
    return callee.nullable ? open_.push_back({call.next, caller}) : Result<void>{};
  }
  [[nodiscard]] Result<void> make_nullable(std::uint32_t rule) noexcept {
    rules_[rule].nullable = true;
    for (std::uint32_t i = rules_[rule].callers; i != kNoState; i = calls_[i].earlier)
      if (auto r = open_.push_back({calls_[i].behind, calls_[i].caller}); !r) return r;
    return {};
  }

  /// Takes away rules whose calls are all of rules that were taken away; those of a cycle stay.
  [[nodiscard]] Result<std::uint32_t> first_unsettled() noexcept {
    Vector<std::uint32_t> settled(grammar_.allocator());
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule)
      if (rules_[rule].pending == 0)
        if (auto r = settled.push_back(rule); !r) return pass(r);
    for (std::size_t next = 0; next < settled.size(); ++next)
      for (std::uint32_t i = rules_[settled[next]].callers; i != kNoState; i = calls_[i].earlier)
        if (--rules_[calls_[i].caller].pending == 0)
          if (auto r = settled.push_back(calls_[i].caller); !r) return pass(r);
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule)
      if (rules_[rule].pending != 0) return rule;
    return kNoState;
  }

  const Grammar& grammar_;
  Vector<Rule> rules_;
  Vector<bool> seen_;
  Vector<Call> calls_;
  Vector<Place> open_;
};

}  // namespace zrt::inline ZRT_ABI::text::grammar::detail
