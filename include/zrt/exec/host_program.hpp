// SPDX-License-Identifier: Apache-2.0
// zrt/exec/host_program.hpp: a recorded list of host kernel calls, and the one function that replays it.
#pragma once

#include <zrt/core/hooks.hpp>
#include <zrt/core/rounding_mode.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/exec/observer.hpp>
#include <zrt/exec/shares.hpp>
#include <zrt/ops/execution_context.hpp>

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
  explicit HostProgram(Allocator allocator = system_allocator()) noexcept
      : entries_(allocator), segments_(allocator), args_(allocator) {}

  /// Appends a call. `fence` says that it may touch what a call since the last fence wrote.
  template <class Args>
  [[nodiscard]] Result<void> push(HostKernel<Args> kernel, const Args& args, std::uint32_t instruction,
                                  Span<std::byte> scratch, bool fence) noexcept {
    static_assert(std::is_trivially_copyable_v<Args> && alignof(Args) <= 16);
    return append({&call<Args>, reinterpret_cast<void (*)()>(kernel), 0, scratch, instruction},
                  {reinterpret_cast<const std::byte*>(&args), sizeof(Args)}, fence);
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// Runs every call in order and splits it among the workers of `threads`. False when `stop` ended it early; the last
  /// worker at a fence asks `stop`. Each observer type has an instance of its own.
  template <class O = NoObserver>
  [[nodiscard]] bool launch(const ExecutionContext& context, const ThreadHook& threads, const StopPoll& stop,
                            O observer = {}) noexcept {
    ExecutionContext step = context;
    step.stop = &stop;
    if (segments_.empty()) return true;
    if (threads.run == nullptr || threads.workers <= 1) return run_alone(step, kOwnInstruction, observer);
    Shares shares(threads.workers, static_cast<std::uint32_t>(segments_.size()));
    Replay<O> replay{this, &step, &shares, observer};
    threads.run(threads.context, &run_shares<O>, &replay);
    return !shares.halted();
  }

  /// Runs the calls before those of `instruction` on the calling thread. False when the step's stop ended it early.
  [[nodiscard]] bool launch_before(const ExecutionContext& step, std::uint32_t instruction) const noexcept {
    return run_alone(step, kOwnInstruction, CallsBefore{instruction});
  }

  /// Runs a recorded region within a call of another program, on the calling worker alone; `program` is a HostProgram.
  /// Faults in it count for `instruction`, the call that runs it, and an observer sees that call alone. A stop ends it
  /// early, with Errc::cancelled in the step's status.
  static void run_region(const void* program, const ExecutionContext& step, std::uint32_t instruction) noexcept {
    const auto* self = static_cast<const HostProgram*>(program);
    if (!self->run_alone(step, instruction, NoObserver{}))
      step.violated(Worker{0, 1, instruction, {}}, Errc::cancelled);
  }

 private:
  static constexpr std::uint32_t kOwnInstruction = ~std::uint32_t{0};

  struct Entry {
    void (*call)(void (*kernel)(), const std::byte* args, const ExecutionContext& step, const Worker& worker) noexcept;
    void (*kernel)();
    std::size_t args;
    Span<std::byte> scratch;
    std::uint32_t instruction;
  };

  template <class O> struct Replay {
    const HostProgram* program;
    const ExecutionContext* step;
    Shares* shares;
    [[no_unique_address]] O observer;
  };

  /// One function for the arguments of all kernels.
  [[nodiscard]] Result<void> append(Entry entry, Span<const std::byte> args, bool fence) noexcept {
    entry.args = (args_.size() + 15) / 16 * 16;
    const std::size_t end = entry.args + args.size();
    // Grows by half, so that a long plan is not copied at every call.
    if (end > args_.capacity())
      if (auto r = args_.reserve(end + end / 2); !r) return r;
    if (auto r = args_.resize(end); !r) return r;
    std::memcpy(args_.data() + entry.args, args.data(), args.size());
    if (fence || entries_.empty())
      if (auto r = segments_.push_back(entries_.size()); !r) return r;
    return entries_.push_back(entry);
  }

  template <class Args>
  static void call(void (*kernel)(), const std::byte* args, const ExecutionContext& step,
                   const Worker& worker) noexcept {
    reinterpret_cast<HostKernel<Args>>(kernel)(*std::launder(reinterpret_cast<const Args*>(args)), step, worker);
  }

  /// Runs every call on the calling thread; false when a stop ended it early.
  template <class O>
  [[nodiscard]] bool run_alone(const ExecutionContext& step, std::uint32_t instruction, O observer) const noexcept {
    const RoundingMode rounding;
    for (std::uint32_t segment = 0; segment < segments_.size(); ++segment) {
      if (segment != 0 && step.stopped()) return false;
      replay_entries({segment, 0}, 1, step, instruction, CallWatch<O>(observer, 0));
    }
    return true;
  }

  /// Runs one worker's part of a step.
  template <class O> static void run_shares(void* argument, std::uint32_t index, std::uint32_t) noexcept {
    const RoundingMode rounding;
    const Replay<O>& replay = *static_cast<const Replay<O>*>(argument);
    Shares::Claimant worker{index};
    for (SegmentShard share; replay.shares->claim(worker, share);) {
      replay.program->replay_entries(share, replay.shares->count(), *replay.step, kOwnInstruction,
                                     CallWatch<O>(replay.observer, index));
      replay.shares->finish(share, [&] { return replay.step->stopped(); });
    }
  }

  /// Runs the calls of one segment, as worker `share.index` of `count`.
  template <class O>
  void replay_entries(const SegmentShard& share, std::uint32_t count, const ExecutionContext& step,
                      std::uint32_t instruction, CallWatch<O> watch) const noexcept {
    Worker worker{share.index, count, 0, {}};
    const std::size_t next = std::size_t{share.segment} + 1;
    const std::size_t end = next < segments_.size() ? segments_[next] : entries_.size();
    watch.begin();
    for (std::size_t i = segments_[share.segment]; i < end; ++i) {
      const Entry& entry = entries_[i];
      worker.instruction = instruction == kOwnInstruction ? entry.instruction : instruction;
      if (watch.skips(worker.instruction)) continue;
      worker.scratch = entry.scratch;
      entry.call(entry.kernel, args_.data() + entry.args, step, worker);
      watch.end(share.index, entry.instruction);
    }
  }

  Vector<Entry> entries_;
  Vector<std::size_t> segments_;  ///< the entry with which each begins: what no fence divides
  Vector<std::byte> args_;
};

}  // namespace zrt::inline ZRT_ABI::exec
