// SPDX-License-Identifier: Apache-2.0
// zrt/exec/check_runs.hpp: a batch's rows by slot, checked before a step rewrites recurrent state row by row.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/exec/batch.hpp>
#include <zrt/ops/state.hpp>

namespace zrt::inline ZRT_ABI::exec {

/// Checks for plans with recurrent state that the rows of each slot are one range of consecutive positions. Every row
/// updates its slot's block, so two ranges or another order would be another sequence. A call allocates nothing.
class RunCheck {
 public:
  [[nodiscard]] static Result<RunCheck> make(Span<const StateDescriptor> states, std::uint32_t slots,
                                             const Allocator& allocator) noexcept {
    RunCheck check(allocator);
    for (const StateDescriptor& d : states)
      if (d.lifecycle == StateLifecycle::recurrent && check.seen_.empty())
        if (auto r = check.seen_.resize(slots); !r) return pass(r);
    return check;
  }

  /// Slots of `batch` are within the sizes. Errors: Errc::invalid_argument naming the row and its slot.
  [[nodiscard]] Result<void> operator()(const Batch& batch) noexcept {
    if (seen_.empty()) return {};
    ++step_;
    for (std::size_t t = 0; t < batch.slots.size(); ++t) {
      const std::uint32_t slot = batch.slots[t];
      if (t > 0 && batch.slots[t - 1] == slot) {
        if (batch.positions[t] == batch.positions[t - 1] + 1) continue;
        return fail(Errc::invalid_argument, "row ", t, " is position ", batch.positions[t], " of slot ", slot,
                    ", which has recurrent state; expected position ", batch.positions[t - 1] + 1);
      }
      if (seen_[slot] == step_)
        return fail(Errc::invalid_argument, "row ", t, " begins a second range of rows of slot ", slot,
                    ", which has recurrent state; expected one range");
      seen_[slot] = step_;
    }
    return {};
  }

 private:
  explicit RunCheck(const Allocator& a) noexcept : seen_(a) {}

  std::uint64_t step_ = 0;
  Vector<std::uint64_t> seen_;  ///< [slots] the step that last had rows of a slot; empty without recurrent state
};

}  // namespace zrt::inline ZRT_ABI::exec
