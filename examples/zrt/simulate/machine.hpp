// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate/machine.hpp: a machine whose answers show what its pages and states held.
#pragma once

#include "windowed_slots.hpp"

#include <array>

namespace simulate {

/// Keeps token ids, with their adapter, where a model keeps keys, values and states. Its next token is a hash of all that a run reads: of
/// every page of the slot's list and, in a recurrent model, of the state. So a wrong, stale or misplaced page or state
/// changes the answer.
class SimulatedMachine {
 public:
  explicit SimulatedMachine(const Script& script)
      : vocabulary_(script.vocabulary),
        seed_(script.seed),
        rewrites_(is_hybrid(script.limits) && !script.limits.goes_back),
        pages_(script.limits.pages),
        states_(script.limits.slots),
        kept_(script.limits.checkpoints),
        shelf_(script.limits.shelf) {
    if (script.window != 0) windows_.emplace(script.limits, script.window);
  }

  /// What a slot table found wrong; empty while that is nothing.
  [[nodiscard]] std::string failure() const { return windows_ ? windows_->failure() : std::string(); }

  /// Brings slots to where a plan has them, as an engine does before it computes the plan's runs.
  template <class Rules> void follow(serve::Scheduler<Rules>& scheduler) {
    (void)scheduler.copy_shelved([this](const serve::ShelvedState& state) -> zrt::Result<void> {
      shelve(state);
      return {};
    });
    if (!windows_) return;
    windows_->follow(scheduler.state());
    for (const serve::PlannedRun& run : scheduler.state().runs) {
      if (run.load != serve::kNone)
        windows_->restore(WindowedSlots::Part::own, run.slot, run.begin, kept_[run.load].window);
      if (run.shelf != serve::kNone)
        windows_->restore(WindowedSlots::Part::shelved, run.slot, run.begin, shelf_[run.shelf].window);
    }
  }

  /// Computes a run of an adapter with the slot's pages.
  serve::Outcome run(const serve::PlannedRun& run, zrt::Span<const std::uint32_t> list, std::uint32_t adapter = 0) {
    std::uint64_t& state = states_[run.slot];
    if (run.begin == 0) state = 0;
    if (run.load != serve::kNone) state = kept_[run.load].state;
    if (run.shelf != serve::kNone) {
      state = shelf_[run.shelf].state;
      if (run.begin % zrt::kPageTokens != 0) pages_[list[run.begin / zrt::kPageTokens]] = shelf_[run.shelf].tail;
    }
    if (windows_) windows_->advance(run.slot, run.begin);
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const std::uint32_t position = run.begin + i;
      const std::uint64_t entry = entry_of(run.tokens[i], adapter);
      pages_[list[position / zrt::kPageTokens]][position % zrt::kPageTokens] = entry;
      state = mixed(state, entry);
      if (windows_) windows_->write(run.slot, position, entry);
    }
    if (run.save != serve::kNone) {
      kept_[run.save].state = state;
      if (windows_) windows_->save(WindowedSlots::Part::own, run.slot, run.begin + run.count, kept_[run.save].window);
    }
    if (!run.sample) return {};
    const std::uint32_t known = run.begin + run.count - run.drafts;
    std::uint64_t read = this->read(list, known);
    if (!sees_window(run, list)) read = ~read;
    if (run.drafts != 0 && mixed(read, seed_) % 16 == 0 && read != blamed_) {
      blamed_ = read;
      serve::Outcome again;
      again.again = true;
      return again;
    }
    serve::Outcome outcome = answer(read, rewrites_ ? state : read);
    std::uint32_t accepted = 0;
    while (accepted < run.drafts && !outcome.last && held(list, known + accepted) == entry_of(outcome.token, adapter)) {
      read = mixed(read, held(list, known + accepted++));
      outcome = answer(read, read);
    }
    outcome.accepted = accepted;
    return outcome;
  }

  /// A hash of the first `count` entries of a page list: what the logits behind them depend on.
  [[nodiscard]] std::uint64_t read(zrt::Span<const std::uint32_t> list, std::uint32_t count) const {
    std::uint64_t read = 0;
    for (std::uint32_t p = 0; p < count; ++p) read = mixed(read, held(list, p));
    return read;
  }
  /// What a model computes of a token.
  [[nodiscard]] static std::uint64_t entry_of(std::uint32_t token, std::uint32_t adapter) {
    return (std::uint64_t{adapter} << 32) | token;
  }
  /// The answer to entries that are hashed one after the other.
  [[nodiscard]] serve::Outcome answer(std::uint64_t read, std::uint64_t state) const {
    const std::uint64_t hash = mixed(mixed(read, state), seed_);
    serve::Outcome outcome;
    outcome.token = static_cast<std::uint32_t>((hash >> 32) % vocabulary_);
    outcome.last = (hash & 63u) == 0;
    return outcome;
  }

 private:
  using Page = std::array<std::uint64_t, zrt::kPageTokens>;
  struct Kept {
    std::uint64_t state = 0;
    std::vector<std::byte> window{};
  };
  struct Shelved : Kept {
    Page tail{};
  };

  void shelve(const serve::ShelvedState& from) {
    shelf_[from.row].state = states_[from.slot];
    if (from.tail != serve::kNone) shelf_[from.row].tail = pages_[from.tail];
    if (windows_) windows_->save(WindowedSlots::Part::shelved, from.slot, from.position, shelf_[from.row].window);
  }
  /// Whether each row of a run finds in its window what the pages have of the same positions.
  [[nodiscard]] bool sees_window(const serve::PlannedRun& run, zrt::Span<const std::uint32_t> list) {
    if (!windows_) return true;
    const std::uint32_t last = run.begin + run.count - 1;
    for (std::uint32_t p = windows_->first_seen(run.begin); p <= last; ++p)
      for (const std::uint32_t row : {std::max(run.begin, p), last})
        if (!windows_->shows(run.slot, row, p, held(list, p))) return false;
    return true;
  }

  [[nodiscard]] std::uint64_t held(zrt::Span<const std::uint32_t> list, std::uint32_t position) const {
    return pages_[list[position / zrt::kPageTokens]][position % zrt::kPageTokens];
  }

  std::uint32_t vocabulary_;
  std::uint64_t seed_;
  bool rewrites_;             ///< a state token by token
  std::uint64_t blamed_ = 0;  ///< what the last run read whose drafts were to blame
  std::vector<Page> pages_;
  std::vector<std::uint64_t> states_;
  std::vector<Kept> kept_;
  std::vector<Shelved> shelf_;
  std::optional<WindowedSlots> windows_{};  ///< of a model with a window
};

}  // namespace simulate
