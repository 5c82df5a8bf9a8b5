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
struct RuleState {
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

  [[nodiscard]] const RuleState& state(std::uint32_t index) const noexcept { return states_[index]; }
  [[nodiscard]] std::size_t states() const noexcept { return states_.size(); }
  /// The first state of a rule.
  [[nodiscard]] std::uint32_t rule(std::uint32_t index) const noexcept { return rules_[index]; }
  [[nodiscard]] std::size_t rules() const noexcept { return rules_.size(); }
  [[nodiscard]] std::uint32_t root() const noexcept { return root_; }
  [[nodiscard]] const Allocator& allocator() const noexcept { return states_.allocator(); }

  // --- for readers -----------------------------------------------------------------------------------

  /// Errors: Errc::limit_exceeded, Errc::out_of_memory.
  [[nodiscard]] Result<std::uint32_t> add(const RuleState& state) noexcept {
    if (states_.size() >= kMostStates)
      return fail(Errc::limit_exceeded, "the grammar has more than ", kMostStates, " states, repetitions included");
    if (auto r = states_.push_back(state); !r) return pass(r);
    return static_cast<std::uint32_t>(states_.size() - 1);
  }
  [[nodiscard]] RuleState& edit(std::uint32_t index) noexcept { return states_[index]; }
  /// Adds a rule without a beginning.
  [[nodiscard]] Result<std::uint32_t> add_rule() noexcept {
    if (rules_.size() >= kMostRules)
      return fail(Errc::limit_exceeded, "the grammar has more than ", kMostRules, " rules");
    if (auto r = rules_.push_back(kNoState); !r) return pass(r);
    return static_cast<std::uint32_t>(rules_.size() - 1);
  }
  void begin_rule(std::uint32_t rule, std::uint32_t state) noexcept { rules_[rule] = state; }
  void set_root(std::uint32_t rule) noexcept { root_ = rule; }

 private:
  Vector<RuleState> states_;
  Vector<std::uint32_t> rules_;
  std::uint32_t root_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::text::grammar
