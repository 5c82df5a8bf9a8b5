// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/grammar.hpp: a context-free grammar over bytes: rules as automata that call each other.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/vector.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::text::grammar {

enum class StateKind : std::uint8_t {
  bytes,  ///< a byte of first..last leads to `next`
  jump,   ///< `next` without a byte
  split,  ///< `next` and `other` without a byte
  call,   ///< the rule `other`, then `next`
  end,    ///< of the rule
};

inline constexpr std::uint32_t kNoState = ~std::uint32_t{0};

/// A place in a rule.
struct State {
  StateKind kind = StateKind::jump;
  std::uint8_t first = 0;
  std::uint8_t last = 0;
  std::uint32_t next = kNoState;
  std::uint32_t other = kNoState;
};

/// Which texts a model may write. Immutable once made; readers: read_gbnf, read_json_schema.
class Grammar {
 public:
  static constexpr std::size_t kMostStates = 1u << 18;
  static constexpr std::size_t kMostRules = 10'000;

  explicit Grammar(const Allocator& a) noexcept : states_(a), rules_(a) {}

  [[nodiscard]] const State& state(std::uint32_t index) const noexcept { return states_[index]; }
  [[nodiscard]] std::size_t states() const noexcept { return states_.size(); }
  /// The first state of a rule.
  [[nodiscard]] std::uint32_t rule(std::uint32_t index) const noexcept { return rules_[index]; }
  [[nodiscard]] std::size_t rules() const noexcept { return rules_.size(); }
  [[nodiscard]] std::uint32_t root() const noexcept { return root_; }
  [[nodiscard]] const Allocator& allocator() const noexcept { return states_.allocator(); }

  // --- for readers -----------------------------------------------------------------------------------

  /// Errors: Errc::limit_exceeded, Errc::out_of_memory.
  [[nodiscard]] Result<std::uint32_t> add(const State& state) noexcept {
    if (states_.size() >= kMostStates)
      return fail(Errc::limit_exceeded, "the grammar has more than ", kMostStates,
                  " states; repetitions are copies, so fewer of them help");
    if (auto r = states_.push_back(state); !r) return pass(r);
    return static_cast<std::uint32_t>(states_.size() - 1);
  }
  [[nodiscard]] State& edit(std::uint32_t index) noexcept { return states_[index]; }
  /// Adds a rule without a beginning.
  [[nodiscard]] Result<std::uint32_t> add_rule() noexcept {
    if (rules_.size() >= kMostRules)
      return fail(Errc::limit_exceeded, "the grammar has more than ", kMostRules, " rules");
    if (auto r = rules_.push_back(kNoState); !r) return pass(r);
    return static_cast<std::uint32_t>(rules_.size() - 1);
  }
  void begin_rule(std::uint32_t rule, std::uint32_t state) noexcept { rules_[rule] = state; }
  void set_root(std::uint32_t rule) noexcept { root_ = rule; }

  /// The first rule that begins with itself, through whatever rules, or kNoState: its stack would have no end.
  [[nodiscard]] Result<std::uint32_t> left_recursive() const noexcept {
    Vector<std::uint8_t> nullable(allocator());
    if (auto r = nullable.resize(rules_.size()); !r) return pass(r);
    Vector<std::uint32_t> reached(allocator());
    Vector<std::uint32_t> seen(allocator());
    if (auto r = seen.resize(states_.size()); !r) return pass(r);
    std::uint32_t mark = 0;
    // What a rule reaches without a byte: whether its end, and which calls.
    const auto reach = [&](std::uint32_t rule, auto called) noexcept -> Result<bool> {
      ++mark;
      reached.clear();
      bool ends = false;
      if (auto r = reached.push_back(rules_[rule]); !r) return pass(r);
      while (!reached.empty()) {
        const std::uint32_t at = reached.back();
        reached.pop_back();
        if (seen[at] == mark) continue;
        seen[at] = mark;
        const State& s = states_[at];
        ends = ends || s.kind == StateKind::end;
        if (s.kind == StateKind::call) called(s.other);
        const bool goes_on = s.kind == StateKind::jump || s.kind == StateKind::split ||
                             (s.kind == StateKind::call && nullable[s.other] != 0);
        if (goes_on)
          if (auto r = reached.push_back(s.next); !r) return pass(r);
        if (s.kind == StateKind::split)
          if (auto r = reached.push_back(s.other); !r) return pass(r);
      }
      return ends;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t rule = 0; rule < rules_.size(); ++rule) {
        if (nullable[rule] != 0) continue;
        auto ends = reach(rule, [](std::uint32_t) {});
        if (!ends) return pass(ends);
        changed = changed || *ends;
        nullable[rule] = *ends ? 1 : 0;
      }
    }
    // Rules whose calls are all known to end are taken away until none is left, or those of a cycle are.
    Vector<std::uint8_t> settled(allocator());
    if (auto r = settled.resize(rules_.size()); !r) return pass(r);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t rule = 0; rule < rules_.size(); ++rule) {
        if (settled[rule] != 0) continue;
        bool open = false;
        auto ends = reach(rule, [&](std::uint32_t callee) { open = open || settled[callee] == 0; });
        if (!ends) return pass(ends);
        settled[rule] = open ? 0 : 1;
        changed = changed || !open;
      }
    }
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule)
      if (settled[rule] == 0) return rule;
    return kNoState;
  }

 private:
  Vector<State> states_;
  Vector<std::uint32_t> rules_;
  std::uint32_t root_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::text::grammar
