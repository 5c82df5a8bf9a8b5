// SPDX-License-Identifier: Apache-2.0
// zrt/trace/profile.hpp: a timeline in sums: time and bytes by instruction and op, and how even the workers are.
#pragma once

#include <zrt/trace/timeline.hpp>

namespace zrt::inline ZRT_ABI::trace {

/// An instruction within one step, over all workers.
struct InstructionTime {
  std::uint64_t begin = ~std::uint64_t{0};  ///< of the first partition
  std::uint64_t end = 0;                    ///< of the last
  std::uint64_t busy = 0;                   ///< sum over the workers
  std::uint32_t calls = 0;

  [[nodiscard]] std::uint64_t span() const noexcept { return calls == 0 ? 0 : end - begin; }
};

/// Walks through the steps of a timeline with the calls of each.
class StepWalk {
 public:
  explicit StepWalk(const Timeline& timeline, const Allocator& allocator) noexcept
      : timeline_(&timeline), at_(allocator), from_(allocator), times_(allocator) {}

  /// Moves to the next step; false behind the last. Errors: Errc::out_of_memory.
  [[nodiscard]] Result<bool> next() noexcept {
    if (at_.empty()) {
      if (auto r = at_.resize(lanes()); !r) return pass(r);
      if (auto r = from_.resize(lanes()); !r) return pass(r);
    }
    if (step_ == timeline_->steps().size()) return false;
    const TimedStep& step = timeline_->steps()[step_++];
    times_.clear();
    if (auto r = times_.resize(plan().instructions.size()); !r) return pass(r);
    for (std::size_t lane = 0; lane < lanes(); ++lane) {
      const Span<const TimedCall> calls = calls_of(lane);
      from_[lane] = at_[lane];
      for (; at_[lane] < calls.size() && calls[at_[lane]].end <= step.end; ++at_[lane]) {
        const TimedCall& call = calls[at_[lane]];
        if (call.instruction >= times_.size()) continue;
        InstructionTime& time = times_[call.instruction];
        time.begin = call.begin < time.begin ? call.begin : time.begin;
        time.end = call.end > time.end ? call.end : time.end;
        time.busy += call.end - call.begin;
        ++time.calls;
      }
    }
    return true;
  }

  [[nodiscard]] const TimedStep& step() const noexcept { return timeline_->steps()[step_ - 1]; }
  [[nodiscard]] const plan::ExecutionPlan& plan() const noexcept {
    return timeline_->programs()[step().program].compiled->plan;
  }
  /// By instruction of the step's plan.
  [[nodiscard]] Span<const InstructionTime> times() const noexcept { return times_.span(); }
  /// The workers of the host, then the device where there is one.
  [[nodiscard]] std::size_t lanes() const noexcept {
    return timeline_->lanes().size() + (timeline_->device().empty() ? 0u : 1u);
  }
  /// The step's calls on a lane.
  [[nodiscard]] Span<const TimedCall> calls(std::size_t lane) const noexcept {
    return calls_of(lane).subspan(from_[lane], at_[lane] - from_[lane]);
  }

 private:
  [[nodiscard]] Span<const TimedCall> calls_of(std::size_t lane) const noexcept {
    return lane < timeline_->lanes().size() ? timeline_->lanes()[lane].span() : timeline_->device();
  }

  const Timeline* timeline_;
  std::size_t step_ = 0;      ///< behind the current one
  Vector<std::size_t> at_;    ///< by lane: the first call behind the step
  Vector<std::size_t> from_;  ///< by lane: the first call of it
  Vector<InstructionTime> times_;
};

/// An op in all steps.
struct OpTime {
  Opcode opcode{};
  std::uint64_t calls = 0;
  std::uint64_t busy = 0;   ///< ticks, sum over the workers
  std::uint64_t span = 0;   ///< ticks from the first partition's begin to the last one's end, summed
  std::uint64_t bytes = 0;  ///< that its instructions must move; see plan::traffic
};

/// What a timeline holds, in sums. Times are in ticks of its clock.
struct Profile {
  explicit Profile(const Allocator& a) noexcept : ops(a), lanes(a) {}

  std::uint64_t steps = 0;
  std::uint64_t tokens = 0;  ///< query tokens
  std::uint64_t ticks = 0;   ///< within steps
  std::uint64_t bytes = 0;
  Vector<OpTime> ops;           ///< most busy first
  Vector<std::uint64_t> lanes;  ///< busy, by worker, then the device

  /// Time within kernels over all lanes.
  [[nodiscard]] std::uint64_t busy() const noexcept {
    std::uint64_t sum = 0;
    for (const OpTime& op : ops) sum += op.busy;
    return sum;
  }

  /// Errors: Errc::out_of_memory.
  [[nodiscard]] static Result<Profile> of(const Timeline& timeline, const Allocator& allocator) noexcept {
    Profile profile(allocator);
    StepWalk walk(timeline, allocator);
    if (auto r = profile.lanes.resize(walk.lanes()); !r) return pass(r);
    for (;;) {
      const auto more = walk.next();
      if (!more) return pass(more);
      if (!*more) break;
      if (auto r = profile.add(walk); !r) return pass(r);
    }
    profile.sort();
    return profile;
  }

 private:
  [[nodiscard]] Result<void> add(const StepWalk& walk) noexcept {
    const TimedStep& step = walk.step();
    ++steps;
    tokens += step.work.tokens;
    ticks += step.end - step.begin;
    for (std::size_t lane = 0; lane < walk.lanes(); ++lane)
      for (const TimedCall& call : walk.calls(lane)) lanes[lane] += call.end - call.begin;
    for (std::size_t i = 0; i < walk.times().size(); ++i) {
      const InstructionTime& time = walk.times()[i];
      if (time.calls == 0) continue;  // a view
      const plan::Instruction insn = walk.plan().instruction(i);
      auto op = find(insn.opcode);
      if (!op) return pass(op);
      const std::uint64_t moved = plan::traffic(walk.plan(), insn, step.work).bytes();
      (*op)->calls += time.calls;
      (*op)->busy += time.busy;
      (*op)->span += time.span();
      (*op)->bytes += moved;
      bytes += moved;
    }
    return {};
  }
  [[nodiscard]] Result<OpTime*> find(Opcode opcode) noexcept {
    for (OpTime& op : ops)
      if (op.opcode == opcode) return &op;
    if (auto r = ops.push_back({opcode, 0, 0, 0, 0}); !r) return pass(r);
    return &ops.back();
  }
  void sort() noexcept {
    for (std::size_t i = 1; i < ops.size(); ++i)
      for (std::size_t k = i; k > 0 && ops[k - 1].busy < ops[k].busy; --k) std::swap(ops[k - 1], ops[k]);
  }
};

}  // namespace zrt::inline ZRT_ABI::trace
