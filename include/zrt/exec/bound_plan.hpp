// SPDX-License-Identifier: Apache-2.0
// zrt/exec/bound_plan.hpp: a plan recorded on a device, with the memory that it runs in.
#pragma once

#include <zrt/core/owned.hpp>
#include <zrt/exec/observer.hpp>
#include <zrt/exec/operands.hpp>
#include <zrt/plan/memory.hpp>

#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// A plan recorded in an arena that another owns. Its address is fixed: a region's caller holds it.
template <class B> struct RecordedPlan {
  RecordedPlan(typename B::Program recorded, plan::PhysicalMapping placed, Allocator a) noexcept
      : program(std::move(recorded)), mapping(std::move(placed)), registers(a), params(a), results(a), regions(a) {}

  typename B::Program program;
  plan::PhysicalMapping mapping;
  Vector<TensorHandle<B>> registers;
  Vector<typename B::Tensor> params;   ///< the plan's inputs
  Vector<typename B::Tensor> results;  ///< the plan's outputs
  Vector<Owned<RecordedPlan>> regions;
};

/// A plan recorded on a device, with the memory that it runs in and, if it is bound with one, its observer.
template <class B, class O = NoObserver> class BoundPlan {
 public:
  BoundPlan(Owned<RecordedPlan<B>> recording, typename B::Memory arena, O observer = {}) noexcept
      : recording_(std::move(recording)), arena_(std::move(arena)), observer_(observer) {}
  BoundPlan(BoundPlan<B>&& plain, O observer) noexcept
    requires(!std::is_same_v<O, NoObserver>)
      : recording_(std::move(plain.recording_)), arena_(std::move(plain.arena_)), observer_(observer) {}

  /// Runs one step; see the backend's Program.
  [[nodiscard]] Result<bool> launch(typename B::Device& device, const ExecutionContext& step,
                                    const StopPoll& stop) noexcept {
    if constexpr (std::is_same_v<O, NoObserver>) {
      return program().launch(device, step, stop);
    } else {
      observer_.begin_step(step);
      auto completed = program().launch(device, step, stop, observer_);
      observer_.end_step(completed && *completed);
      return completed;
    }
  }

  [[nodiscard]] typename B::Program& program() noexcept { return recording_->program; }
  [[nodiscard]] const typename B::Program& program() const noexcept { return recording_->program; }
  [[nodiscard]] const plan::PhysicalMapping& mapping() const noexcept { return recording_->mapping; }
  /// The memory of registers and scratch.
  [[nodiscard]] const typename B::Memory& arena() const noexcept { return arena_; }
  [[nodiscard]] const TensorHandle<B>& handle(plan::RegisterRef r) const noexcept {
    return recording_->registers[plan::index(r)];
  }
  [[nodiscard]] const typename B::Tensor& tensor(plan::RegisterRef r) const noexcept { return handle(r).tensor; }

 private:
  template <class, class> friend class BoundPlan;

  Owned<RecordedPlan<B>> recording_;
  typename B::Memory arena_;
  [[no_unique_address]] O observer_;
};

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
