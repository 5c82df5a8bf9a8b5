// SPDX-License-Identifier: Apache-2.0
// zrt/backend/split/program.hpp: a step in two parts, with what the first hands over to the last between them.
#pragma once

#include <zrt/backend/split/device.hpp>
#include <zrt/core/buffer.hpp>
#include <zrt/exec/observer.hpp>

namespace zrt::inline ZRT_ABI::split {

/// The programs of both parts. launch() runs one after the other and copies through memory of the host.
template <class First, class Last> class Program {
 public:
  using Device = split::Device<First, Last>;
  struct Handoff {
    TensorPair<First, Last> tensor{};
    TensorType type{};
  };

  explicit Program(Device& device) noexcept
      : first_(device.first()), last_(device.last()), handed_over_(device.allocator()) {}

  /// Runs one step; false when `stop` asked for its end.
  ///
  /// Errors: those of either program, and of the devices' copies.
  template <class O = exec::NoObserver>
  [[nodiscard]] Result<bool> launch(Device& device, const ExecutionContext& step, const StopPoll& stop,
                                    O observer = {}) noexcept {
    const auto ran = launch_part(first_, device.first(), step, stop, observer);
    if (!ran || !*ran) return ran;
    for (const Handoff& handoff : handed_over_)
      if (auto r = hand_over(device, handoff, step.extents); !r) return pass(r);
    return launch_part(last_, device.last(), step, stop, observer);
  }

  /// Whether each part is; see BoundsSteps.
  [[nodiscard]] bool is_timely(Device& device, const Extents& step, std::uint32_t furthest) const noexcept
    requires(BoundsSteps<First> || BoundsSteps<Last>)
  {
    bool timely = true;
    if constexpr (BoundsSteps<First>) timely = first_.is_timely(device.first(), step, furthest);
    if constexpr (BoundsSteps<Last>) timely = timely && last_.is_timely(device.last(), step, furthest);
    return timely;
  }

  /// Makes room for what is handed over. Errors: Errc::size_overflow, out_of_memory.
  [[nodiscard]] Result<void> hand_over(Span<const Handoff> all, const Extents& bounds,
                                       const Allocator& allocator) noexcept {
    std::uint64_t most = 0;
    for (const Handoff& handoff : all) {
      const auto bytes = plan::register_bytes(handoff.type, bounds);
      if (!bytes) return pass(bytes);
      if (*bytes > most) most = *bytes;
      if (auto r = handed_over_.push_back(handoff); !r) return r;
    }
    auto buffer = Buffer::zeroed(allocator, most);
    if (!buffer) return pass(buffer);
    buffer_ = std::move(*buffer);
    return {};
  }

  [[nodiscard]] typename First::Program& first() noexcept { return first_; }
  [[nodiscard]] typename Last::Program& last() noexcept { return last_; }
  [[nodiscard]] const typename First::Program& first() const noexcept { return first_; }
  [[nodiscard]] const typename Last::Program& last() const noexcept { return last_; }
  /// Kernel calls and launches of one step.
  [[nodiscard]] std::size_t size() const noexcept { return first_.size() + last_.size(); }

  template <class Visit> void for_each_memory(const Visit& visit) const {
    if constexpr (requires { first_.for_each_memory(visit); }) first_.for_each_memory(visit);
    if constexpr (requires { last_.for_each_memory(visit); }) last_.for_each_memory(visit);
  }

 private:
  template <class Part, class PartDevice, class O>
  [[nodiscard]] static Result<bool> launch_part(Part& part, PartDevice& device, const ExecutionContext& step,
                                                const StopPoll& stop, [[maybe_unused]] O observer) noexcept {
    if (part.size() == 0) return true;
    if constexpr (std::is_same_v<O, exec::NoObserver>)
      return part.launch(device, step, stop);
    else
      return part.launch(device, step, stop, observer);
  }
  [[nodiscard]] Result<void> hand_over(Device& device, const Handoff& handoff, const Extents& step) noexcept {
    const auto bytes = plan::register_bytes(handoff.type, step);
    if (!bytes) return pass(bytes);
    const Span<std::byte> values = buffer_.span().subspan(0, static_cast<std::size_t>(*bytes));
    if (auto r = device.first().read(handoff.tensor.first, 0, values); !r) return r;
    return device.last().write(handoff.tensor.last, values);
  }

  typename First::Program first_;
  typename Last::Program last_;
  Vector<Handoff> handed_over_;
  Buffer buffer_{};
};

/// Records each instruction with the recorder of its part.
template <class First, class Last> class Recorder {
 public:
  using Device = split::Device<First, Last>;
  using Program = split::Program<First, Last>;

  Recorder(Program& program, Device& device) noexcept
      : program_(&program),
        device_(&device),
        first_(program.first(), device.first()),
        last_(program.last(), device.last()) {}

  [[nodiscard]] Result<void> reserve(const exec::StepBounds& bounds) noexcept {
    bounds_ = bounds.extents;
    if constexpr (ReservesSteps<First>)
      if (auto r = first_.reserve(bounds); !r) return r;
    if constexpr (ReservesSteps<Last>)
      if (auto r = last_.reserve(bounds); !r) return r;
    return {};
  }
  /// Keeps the tensors that are handed over. Errors: those of Program::hand_over.
  template <class B> [[nodiscard]] Result<void> see(Span<const exec::TensorHandle<B>> registers) noexcept {
    const plan::PlanSplit& split = device_->split();
    Vector<typename Program::Handoff> all(device_->allocator());
    for (const plan::RegisterRef reg : split.handed_over) {
      const exec::TensorHandle<B>& handle = registers[plan::index(reg)];
      if (auto r = all.push_back({handle.tensor, split.types[all.size()]}); !r) return r;
    }
    return program_->hand_over(all.span(), bounds_, device_->allocator());
  }
  [[nodiscard]] Result<void> begin(const exec::RecordSite<ScratchPair<First, Last>>& site) noexcept {
    is_last_ = site.instruction >= device_->split().begin;
    const auto with = [&](const auto& scratch) {
      exec::RecordSite<std::remove_cvref_t<decltype(scratch)>> own;
      own.instruction = site.instruction;
      own.opcode = site.opcode;
      own.scratch = scratch;
      own.wait_for = site.wait_for;
      return own;
    };
    if (is_last_) return last_.begin(with(site.scratch.last));
    has_first_ = true;
    return first_.begin(with(site.scratch.first));
  }
  [[nodiscard]] Result<void> finish() noexcept {
    if (has_first_)
      if (auto r = first_.finish(); !r) return r;
    return last_.finish();
  }

  /// Whether the instruction under way is of the last part.
  [[nodiscard]] bool is_last() const noexcept { return is_last_; }
  [[nodiscard]] typename First::Recorder& first() noexcept { return first_; }
  [[nodiscard]] typename Last::Recorder& last() noexcept { return last_; }

 private:
  Program* program_;
  Device* device_;
  typename First::Recorder first_;
  typename Last::Recorder last_;
  Extents bounds_{};
  bool is_last_ = false;
  bool has_first_ = false;
};

}  // namespace zrt::inline ZRT_ABI::split
