// SPDX-License-Identifier: Apache-2.0
// zrt/exec/slot_faults.hpp: which slots of a step met data outside an op's contract.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/exec/step_fault.hpp>

namespace zrt::inline ZRT_ABI::exec {

/// Takes the faults of a step whose op told the row that its data broke, by that row's slot. A step that is run with
/// one succeeds for all other slots.
class SlotFaults {
 public:
  explicit SlotFaults(const Allocator& a) noexcept : words_(a) {}
  /// For `slots` slots.
  [[nodiscard]] static Result<SlotFaults> make(std::uint32_t slots, const Allocator& allocator) noexcept {
    SlotFaults faults(allocator);
    if (auto r = faults.words_.resize(slots); !r) return pass(r);
    faults.clear();
    return faults;
  }

  void clear() noexcept {
    for (std::uint64_t& word : words_) word = StepStatus::kClean;
  }
  /// By slot, as StepStatus::of_slots has them.
  [[nodiscard]] Span<std::uint64_t> words() noexcept { return words_.span(); }

  /// The first fault of `slot` in the last step, which ran `plan`; errors as those of step_fault.
  [[nodiscard]] Result<void> of(std::uint32_t slot, const plan::ExecutionPlan& plan,
                                const OpTable* rows = nullptr) const noexcept {
    return fault_of(words_[slot], plan, rows);
  }

 private:
  Vector<std::uint64_t> words_;
};

}  // namespace zrt::inline ZRT_ABI::exec
