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

  void report(std::uint32_t instruction, Errc code) noexcept {
    const std::uint64_t mine = std::uint64_t{instruction} << 32 | static_cast<std::uint64_t>(code);
    std::uint64_t seen = word.load(MemoryOrder::relaxed);
    while (mine < seen && !word.compare_exchange_weak(seen, mine, MemoryOrder::relaxed)) {
    }
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
  StepStatus* status = nullptr;
  const StopPoll* stop = nullptr;  ///< set by whoever replays; loops within an instruction poll it

  [[nodiscard]] bool stopped() const noexcept { return stop != nullptr && (*stop)(); }

  /// Records that data broke the contract of the op that `worker` runs.
  void violated(const Worker& worker, Errc code = Errc::spec_violation) const noexcept {
    if (status != nullptr) status->report(worker.instruction, code);
  }

  /// Page ids of `slot` in cache group `group`, position 0 first.
  [[nodiscard]] const std::uint32_t* page_list(std::uint32_t group, std::uint32_t slot) const noexcept {
    return pages + (std::uint64_t{group} * slot_count + slot) * pages_per_slot;
  }
};

}  // namespace zrt::inline ZRT_ABI
