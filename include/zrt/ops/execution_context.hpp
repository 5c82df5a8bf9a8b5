// SPDX-License-Identifier: Apache-2.0
// zrt/ops/execution_context.hpp: what changes from step to step, in the form that host kernels read.
#pragma once

#include <zrt/core/atomic.hpp>
#include <zrt/core/dims.hpp>
#include <zrt/core/span.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI {

/// The first fault that data caused within a step: (instruction << 32 | code), the smallest wins.
struct StepStatus {
  static constexpr std::uint64_t kClean = ~std::uint64_t{0};
  Atomic<std::uint64_t> word{kClean};
  /// Where present, takes the faults of rows whose slot is known, one word per slot, instead of `word`.
  std::uint64_t* of_slots = nullptr;

  void report(std::uint32_t instruction, Errc code) noexcept {
    const std::uint64_t mine = fault(instruction, code);
    std::uint64_t seen = word.load(MemoryOrder::relaxed);
    while (mine < seen && !word.compare_exchange_weak(seen, mine, MemoryOrder::relaxed)) {
    }
  }
  /// The same for one slot; `of_slots` is present.
  void report_slot(std::uint32_t slot, std::uint32_t instruction, Errc code) noexcept {
    lower_to(of_slots[slot], fault(instruction, code));
  }

 private:
  [[nodiscard]] static constexpr std::uint64_t fault(std::uint32_t instruction, Errc code) noexcept {
    return std::uint64_t{instruction} << 32 | static_cast<std::uint64_t>(code);
  }
};

/// Tells whether the caller wants the step to end early; polled between kernel calls.
struct StopPoll {
  const void* context = nullptr;
  bool (*requested)(const void* context) noexcept = nullptr;

  [[nodiscard]] bool operator()() const noexcept { return requested != nullptr && requested(context); }
};

/// One of the workers that run an instruction together, and the instruction's scratch memory.
struct Worker {
  std::uint32_t index = 0;
  std::uint32_t count = 1;
  std::uint32_t instruction = 0;
  Span<std::byte> scratch{};
};

/// One step's data (runtime contract, ExecutionContext). Rows are query tokens in batch order; all
/// pointers outlive the step.
///
/// What the contract asks of it: the active slots and the map from rows to them are `slots`, the batch
/// size `tokens`, a row's sequence length its entry of `positions` plus one. The stream is the
/// device's, which `Program::launch` takes beside this; a kernel's workspace is its Worker's `scratch`.
struct ExecutionContext {
  Extents extents{};                         ///< actual value of every symbol
  std::uint32_t tokens = 0;                  ///< rows in the batch
  const std::uint32_t* slots = nullptr;      ///< [tokens] slot of each row
  const std::uint32_t* positions = nullptr;  ///< [tokens] position of each row in its sequence
  const std::uint32_t* pages = nullptr;      ///< [groups][slots][pages_per_slot] page ids
  std::uint32_t pages_per_slot = 0;
  std::uint32_t slot_count = 0;
  SymbolId token_symbol = 0;                 ///< of axes with a row per token; 0: none has
  SymbolId head_symbol = 0;                  ///< of axes with a row per entry of `head_rows`; 0: none has
  const std::uint32_t* head_rows = nullptr;  ///< row in the batch of each row that reaches the LM head
  StepStatus* status = nullptr;
  const StopPoll* stop = nullptr;  ///< set by whoever replays; loops within an instruction poll it

  [[nodiscard]] bool stopped() const noexcept { return stop != nullptr && (*stop)(); }

  /// Records that data broke the contract of the op that `worker` runs.
  void violated(const Worker& worker, Errc code = Errc::spec_violation) const noexcept {
    if (status != nullptr) status->report(worker.instruction, code);
  }

  /// The same where the fault is in `row` of an axis `rows`: it counts for the slot whose row that is, if one is.
  void violated_row(const Worker& worker, Dim rows, std::uint64_t row,
                    Errc code = Errc::spec_violation) const noexcept {
    if (status == nullptr) return;
    const bool by_token = rows.symbol != 0 && rows.symbol == token_symbol;
    const bool by_head = rows.symbol != 0 && rows.symbol == head_symbol;
    if (status->of_slots == nullptr || rows.extent != 1 || (!by_token && !by_head)) return violated(worker, code);
    status->report_slot(slots[by_token ? row : head_rows[row]], worker.instruction, code);
  }

  /// Page ids of `slot` in cache group `group`, position 0 first.
  [[nodiscard]] const std::uint32_t* page_list(std::uint32_t group, std::uint32_t slot) const noexcept {
    return pages + (std::uint64_t{group} * slot_count + slot) * pages_per_slot;
  }
};

}  // namespace zrt::inline ZRT_ABI
