// SPDX-License-Identifier: Apache-2.0
// zrt/serve/model_turns.hpp: of several models on one machine, which steps next, and which are in memory.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/serve/handle.hpp>
#include <zrt/serve/model_rule.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// A model before a step, as its engine tells it.
struct ModelState {
  bool ready = false;         ///< a step would do something, were it in memory
  bool busy = false;          ///< it has requests
  bool running = false;       ///< requests have slots
  bool resident = false;      ///< it is in memory
  bool drains = false;        ///< none of its requests begins
  std::uint64_t bytes = 0;    ///< that it holds in memory, or will
  std::uint32_t service = 0;  ///< class of the tenant in front, see TenantService
  std::uint64_t had = 0;      ///< what that tenant has had of all models
};

/// One thing to do to a model.
struct ModelAction {
  enum class Kind : std::uint8_t {
    rest,     ///< nobody can step
    step,     ///< it has the next step
    evict,    ///< nothing runs: give back its memory
    reopen,   ///< there is room for it
    drain,    ///< begin none of its requests: others have waited for its memory
    release,  ///< nobody waits for its memory any more
  };
  Kind kind = Kind::rest;
  std::uint32_t model = kNone;
};

/// How models share a machine.
struct ModelTurnLimits {
  std::uint64_t memory = 0;            ///< bytes for all; 0: no bound
  std::uint32_t turn_patience = 8;     ///< steps of others after which a model in memory is next, whoever waits for it
  std::uint32_t memory_patience = 64;  ///< the same after which others make room for a model that is not
};

/// Chooses whose step is next (docs/scheduler.md). It reads no clock and touches no model; the same states give the same
/// choices.
///
/// A step belongs to one model: the one whose tenant in front has the first class, then the least service of all models,
/// then the one that has waited longest. A model that has not stepped for `turn_patience` steps though it could, or waited
/// for memory, goes before these, so it waits at most that and a step of each other model.
///
/// The models in memory never exceed the bound. One that wants in takes the place of those without requests, the longest
/// unused first; after `turn_patience` steps also of those whose requests all wait for something else, such as a rate.
/// After `memory_patience` steps the others begin no request, and go when what runs has ended. One that came keeps its
/// place for as many steps.
template <class Rules = AllModelRules> class ModelTurns {
 public:
  ModelTurns(const ModelTurnLimits& limits, const Allocator& allocator, Rules rules = {}) noexcept
      : limits_(limits), rows_(allocator), rules_(rules) {}

  [[nodiscard]] Result<void> add() noexcept { return rows_.push_back({turn_, turn_, turn_, false, false}); }
  [[nodiscard]] const ModelTurnLimits& limits() const noexcept { return limits_; }

  /// A round begins: whoever lacks memory is asked again.
  void begin(Span<const ModelState> models) noexcept {
    for (std::size_t m = 0; m < rows_.size(); ++m) {
      if (!models[m].ready) rows_[m].since = turn_;
      rows_[m].blocked = rows_[m].fresh = false;
    }
  }
  /// What to do next. Call it until it says step or rest, with states that follow what was done.
  [[nodiscard]] ModelAction next(Span<const ModelState> models) noexcept {
    if (!anybody_starves(models) && keeps(ModelRule::release))
      for (std::uint32_t m = 0; m < models.size(); ++m)
        if (models[m].drains && models[m].resident) return {ModelAction::Kind::release, m};
    bool blocked = false;
    for (std::uint32_t m = next_in_line(models); m != kNone; m = next_in_line(models)) {
      if (models[m].resident) {
        rows_[m].since = rows_[m].stepped = ++turn_;
        return {ModelAction::Kind::step, m};
      }
      const ModelAction room = make_room(models, m);
      if (room.kind == ModelAction::Kind::evict) rows_[room.model].since = turn_;
      if (room.kind == ModelAction::Kind::reopen) {
        rows_[room.model].came = turn_;
        rows_[room.model].fresh = true;
      }
      if (room.kind != ModelAction::Kind::rest) return room;
      rows_[m].blocked = blocked = true;
    }
    // Where nobody can step a wait goes on all the same.
    if (blocked) ++turn_;
    return {};
  }
  /// A model that cannot come back lets the others go first.
  void put_last(std::uint32_t m) noexcept {
    if (keeps(ModelRule::put_last)) rows_[m].since = ++turn_;
  }
  /// Which model in memory goes first to make room for another: of those that may go the one unused for longest. kNone:
  /// there is none.
  [[nodiscard]] std::uint32_t first_to_go(Span<const ModelState> models, std::uint32_t for_whom) const noexcept {
    const bool hurries = overdue(for_whom);
    return oldest(models,
                  [&](std::uint32_t m) { return m != for_whom && !rows_[m].fresh && goes(models[m], hurries); });
  }

 private:
  struct Row {
    std::uint64_t since = 0;    ///< the turn since which it could step
    std::uint64_t stepped = 0;  ///< its last turn
    std::uint64_t came = 0;     ///< the turn in which it came to memory
    bool blocked = false;       ///< there was no room in this round
    bool fresh = false;         ///< it came in this round
  };

  [[nodiscard]] bool keeps(ModelRule rule) const noexcept { return rules_.keeps(rule); }
  [[nodiscard]] std::uint64_t waited(std::uint32_t m) const noexcept { return turn_ - rows_[m].since; }
  [[nodiscard]] bool overdue(std::uint32_t m) const noexcept {
    return keeps(ModelRule::turn_patience) && waited(m) >= limits_.turn_patience;
  }
  [[nodiscard]] bool starves(Span<const ModelState> models, std::uint32_t m) const noexcept {
    return models[m].ready && !models[m].resident && waited(m) >= limits_.memory_patience;
  }
  [[nodiscard]] bool anybody_starves(Span<const ModelState> models) const noexcept {
    for (std::uint32_t m = 0; m < models.size(); ++m)
      if (starves(models, m)) return true;
    return false;
  }
  /// Whether its memory may be taken now, for one that has waited or not.
  [[nodiscard]] bool goes(const ModelState& model, bool hurries) const noexcept {
    const bool stays = (model.running && keeps(ModelRule::keep_running)) || !model.resident;
    const bool busy = model.busy && keeps(ModelRule::keep_busy);
    return !stays && (model.drains || (!model.ready && (!busy || hurries)));
  }

  [[nodiscard]] std::uint32_t next_in_line(Span<const ModelState> models) const noexcept {
    std::uint32_t found = kNone;
    for (std::uint32_t m = 0; m < models.size(); ++m)
      if (models[m].ready && !rows_[m].blocked && (found == kNone || before(models, m, found))) found = m;
    return found;
  }
  [[nodiscard]] bool before(Span<const ModelState> models, std::uint32_t a, std::uint32_t b) const noexcept {
    if (overdue(a) != overdue(b)) return overdue(a);
    if (overdue(a)) return waited(a) > waited(b);
    const ModelState& x = models[a];
    const ModelState& y = models[b];
    if (x.service != y.service && keeps(ModelRule::turn_class)) return x.service < y.service;
    if (x.had != y.had && keeps(ModelRule::turn_service)) return x.had < y.had;
    return waited(a) > waited(b);
  }

  template <class P> [[nodiscard]] std::uint32_t oldest(Span<const ModelState> models, const P& counts) const noexcept {
    std::uint32_t found = kNone;
    for (std::uint32_t m = 0; m < models.size(); ++m)
      if (counts(m) && (found == kNone || (rows_[m].stepped < rows_[found].stepped) == keeps(ModelRule::oldest_first)))
        found = m;
    return found;
  }

  /// What brings a model nearer to memory; rest where it can only wait.
  [[nodiscard]] ModelAction make_room(Span<const ModelState> models, std::uint32_t wants) const noexcept {
    // What is free may be kept for another that has waited longer.
    std::uint64_t used = 0, kept = 0;
    for (std::uint32_t m = 0; m < models.size(); ++m) {
      used += models[m].resident ? models[m].bytes : 0;
      kept += m != wants && starves(models, m) && waited(m) > waited(wants) ? models[m].bytes : 0;
    }
    const bool fits = limits_.memory == 0 || !keeps(ModelRule::memory_bound) ||
                      (used + kept <= limits_.memory && models[wants].bytes <= limits_.memory - used - kept);
    if (fits) return {ModelAction::Kind::reopen, wants};
    if (kept != 0) return {};
    if (const std::uint32_t idle = first_to_go(models, wants); idle != kNone) return {ModelAction::Kind::evict, idle};
    if (waited(wants) < limits_.memory_patience || !keeps(ModelRule::memory_patience)) return {};
    // What drains counts as gone.
    std::uint64_t stays = 0;
    for (const ModelState& m : models) stays += m.resident && !m.drains ? m.bytes : 0;
    if (stays <= limits_.memory && models[wants].bytes <= limits_.memory - stays) return {};
    const std::uint32_t yields = oldest(models, [&](std::uint32_t m) {
      const bool is_new = turn_ - rows_[m].came < limits_.memory_patience && keeps(ModelRule::keep_new);
      return models[m].resident && !models[m].drains && !is_new;
    });
    return yields == kNone ? ModelAction{} : ModelAction{ModelAction::Kind::drain, yields};
  }

  ModelTurnLimits limits_;
  Vector<Row> rows_;
  std::uint64_t turn_ = 0;
  [[no_unique_address]] Rules rules_;
};

}  // namespace zrt::inline ZRT_ABI::serve
