// SPDX-License-Identifier: Apache-2.0
// zrt/exec/host_program.hpp: a recorded list of host kernel calls, and the one function that replays it.
#pragma once

#include <zrt/core/hooks.hpp>
#include <zrt/core/rounding_mode.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/exec/barrier.hpp>
#include <zrt/ops/execution_context.hpp>

#include <array>
#include <cstring>
#include <new>
#include <type_traits>

namespace zrt::inline ZRT_ABI::exec {

/// A kernel of a host backend. All workers of a step call it; it splits its outputs among them.
template <class Args>
using HostKernel = void (*)(const Args& args, const ExecutionContext& step, const Worker& worker) noexcept;

using zrt::StopPoll;

/// Function pointers with their arguments, in order, as `bind` recorded them.
class HostProgram {
 public:
  explicit HostProgram(Allocator allocator = system_allocator()) noexcept : entries_(allocator), args_(allocator) {}

  /// Appends a call. `fence` says that it may touch what a call since the last fence wrote.
  template <class Args>
  [[nodiscard]] Result<void> push(HostKernel<Args> kernel, const Args& args, std::uint32_t instruction,
                                  std::span<std::byte> scratch, bool fence) noexcept {
    static_assert(std::is_trivially_copyable_v<Args> && alignof(Args) <= 16);
    const std::size_t offset = (args_.size() + 15) / 16 * 16;
    const std::size_t end = offset + sizeof(Args);
    // By steps of a half, so that a long plan is not copied at every call.
    if (end > args_.capacity())
      if (auto r = args_.reserve(end + end / 2); !r) return r;
    if (auto r = args_.resize(end); !r) return r;
    std::memcpy(args_.data() + offset, &args, sizeof(Args));
    return entries_.push_back({&call<Args>, reinterpret_cast<void (*)()>(kernel), offset, scratch, instruction, fence});
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// Runs every call in order on all workers of `threads`; false when `stop` ended it early.
  [[nodiscard]] bool launch(const ExecutionContext& context, const ThreadHook& threads, const StopPoll& stop) noexcept {
    ExecutionContext step = context;
    step.stop = &stop;
    Replay replay{this, &step, 0, entries_.size(), false, kOwnInstruction, {false, false}, {}};
    if (threads.run == nullptr || threads.workers <= 1) {
      replay_entries(&replay, 0, 1);
    } else if (threads.concurrent) {
      replay.barrier.reset(threads.workers);
      replay.barrier.patience().learn(pauses_);
      replay.meet = true;
      threads.run(threads.context, &replay_entries, &replay);
      pauses_ = replay.barrier.patience().pauses();
    } else {
      // Workers that may run one after the other must not wait for each other: join after every call.
      for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (i != 0 && stop()) return false;
        replay.first = i;
        replay.last = i + 1;
        threads.run(threads.context, &replay_entries, &replay);
      }
    }
    return !replay.halt[0] && !replay.halt[1];
  }

  /// Runs a recorded region within a call of another program, on the calling worker alone; `program` is a
  /// HostProgram. What its instructions report counts for `instruction`. A stop ends it early
  /// with Errc::cancelled in the step's status.
  static void run_region(const void* program, const ExecutionContext& step, std::uint32_t instruction) noexcept {
    const auto* self = static_cast<const HostProgram*>(program);
    Replay replay{self, &step, 0, self->entries_.size(), false, instruction, {false, false}, {}};
    replay_entries(&replay, 0, 1);
    if (replay.halt[0] || replay.halt[1]) step.violated(Worker{0, 1, instruction, {}}, Errc::cancelled);
  }

 private:
  static constexpr std::uint32_t kOwnInstruction = ~std::uint32_t{0};

  struct Entry {
    void (*call)(void (*kernel)(), const std::byte* args, const ExecutionContext& step, const Worker& worker) noexcept;
    void (*kernel)();
    std::size_t args;
    std::span<std::byte> scratch;
    std::uint32_t instruction;
    bool fence;
  };

  struct Replay {
    const HostProgram* program;
    const ExecutionContext* step;
    std::size_t first;
    std::size_t last;
    bool meet;
    std::uint32_t instruction;  ///< what the calls report as, or kOwnInstruction
    /// Written in turn: a worker may still read the flag of one fence when the first decides at the next.
    std::array<bool, 2> halt;
    SpinBarrier barrier;
  };

  template <class Args>
  static void call(void (*kernel)(), const std::byte* args, const ExecutionContext& step,
                   const Worker& worker) noexcept {
    reinterpret_cast<HostKernel<Args>>(kernel)(*std::launder(reinterpret_cast<const Args*>(args)), step, worker);
  }

  static void replay_entries(void* argument, std::uint32_t index, std::uint32_t count) noexcept {
    const RoundingMode rounding;
    Replay& replay = *static_cast<Replay*>(argument);
    const HostProgram& program = *replay.program;
    Worker worker{index, count, 0, {}};
    std::uint32_t round = 0;
    std::uint32_t fences = 0;
    for (std::size_t i = replay.first; i < replay.last; ++i) {
      const Entry& entry = program.entries_[i];
      if (entry.fence && i != replay.first) {
        // One worker decides before all meet, so that all leave together.
        bool& halt = replay.halt[fences++ % 2];
        if (index == 0 && replay.step->stopped()) halt = true;
        if (replay.meet) replay.barrier.wait(round);
        if (halt) return;
      }
      worker.instruction = replay.instruction == kOwnInstruction ? entry.instruction : replay.instruction;
      worker.scratch = entry.scratch;
      entry.call(entry.kernel, program.args_.data() + entry.args, *replay.step, worker);
    }
  }

  Vector<Entry> entries_;
  Vector<std::byte> args_;
  std::uint32_t pauses_ = Patience::kMostPauses;  ///< what the last step's barriers have learnt
};

}  // namespace zrt::inline ZRT_ABI::exec
