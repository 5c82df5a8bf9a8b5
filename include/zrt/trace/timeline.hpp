// SPDX-License-Identifier: Apache-2.0
// zrt/trace/timeline.hpp: the observer of times: what ran when, on which worker, for which request.
#pragma once

#include <zrt/core/tick_clock.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/exec/observer.hpp>
#include <zrt/plan/compiled_plan.hpp>
#include <zrt/plan/traffic.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::trace {

/// One partition of one kernel call, or a launch on a device. In ticks of the timeline's clock.
struct TimedCall {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t instruction = 0;
  std::uint32_t partition = 0;
};

/// One launch of a program.
struct TimedStep {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t program = 0;
  bool completed = false;
  plan::StepWork work{};
  exec::ObservedLoad load{};  ///< of the engine before the step
};

/// A request that has come to a phase.
struct TimedRequest {
  std::uint64_t at = 0;
  exec::ObservedRequest request{};
};

struct TimelineOptions {
  std::uint64_t bytes = std::uint64_t{64} << 20;  ///< memory for calls, of all workers together
  std::size_t requests = 16384;                   ///< changes of phase
};

/// What was left out because the memory was full.
struct Dropped {
  std::uint64_t steps = 0;     ///< with all their calls
  std::uint64_t requests = 0;  ///< changes of phase
};

/// Times of steps, kernel calls and requests, in memory that is allocated when the first program is bound.
///
/// A step is kept whole or not at all: once there is no room for another, steps are counted and dropped. Its address is
/// fixed while a program is bound with it, and one thread at a time steps the programs.
class Timeline {
 public:
  /// The calls of one worker, or of the device, in the order in which they ended.
  struct alignas(64) Lane {
    explicit Lane(Allocator a) noexcept : calls(a) {}

    Vector<TimedCall> calls;  ///< as long as there is room for; `size` of them are there
    std::size_t size = 0;
    std::uint64_t last = 0;  ///< when the call that runs began

    [[nodiscard]] Span<const TimedCall> span() const noexcept { return calls.span().first(size); }
  };

  explicit Timeline(const TimelineOptions& options = {}, Allocator allocator = system_allocator()) noexcept
      : options_(options),
        programs_(allocator),
        lanes_(allocator),
        device_(allocator),
        steps_(allocator),
        requests_(allocator),
        slots_(allocator) {}
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Makes room for a program's steps; the first program decides how much. Gives the program's number.
  ///
  /// Errors: Errc::out_of_memory; invalid_argument when a step does not fit the memory of the options.
  [[nodiscard]] Result<std::uint32_t> add(const exec::ObservedProgram& program) noexcept {
    if (auto r = programs_.push_back(program); !r) return pass(r);
    const std::size_t lanes = program.workers + (program.on_device ? 1u : 0u);
    const std::size_t calls = program.calls == 0 ? 1 : program.calls;
    const std::size_t room = static_cast<std::size_t>(options_.bytes / sizeof(TimedCall) / lanes);
    // A worker that is alone runs the partitions of all.
    const std::size_t most = calls * program.workers;
    if (room < most)
      return fail(Errc::invalid_argument, "a timeline of ", options_.bytes, " bytes holds no step of ", program.calls,
                  " calls on ", program.workers, " workers");
    if (most > most_calls_) most_calls_ = most;
    while (lanes_.size() < program.workers)
      if (auto r = add_lane(lanes_, room); !r) return pass(r);
    if (program.on_device && device_.empty())
      if (auto r = add_lane(device_, room); !r) return pass(r);
    if (steps_.capacity() == 0) {
      if (auto r = steps_.reserve(room / calls + 1); !r) return pass(r);
      if (auto r = requests_.reserve(options_.requests); !r) return pass(r);
      if (auto r = slots_.resize(kMostSlots); !r) return pass(r);
    }
    return static_cast<std::uint32_t>(programs_.size() - 1);
  }

  // --- what was seen; between steps -----------------------------------------------------------------

  [[nodiscard]] const TickClock& clock() const noexcept { return clock_; }
  [[nodiscard]] Span<const exec::ObservedProgram> programs() const noexcept { return programs_.span(); }
  /// By worker.
  [[nodiscard]] Span<const Lane> lanes() const noexcept { return lanes_.span(); }
  /// The launches of the device, where there is one; else none.
  [[nodiscard]] Span<const TimedCall> device() const noexcept {
    return device_.empty() ? Span<const TimedCall>() : device_[0].span();
  }
  [[nodiscard]] Span<const TimedStep> steps() const noexcept { return steps_.span(); }
  [[nodiscard]] Span<const TimedRequest> requests() const noexcept { return requests_.span(); }
  [[nodiscard]] const Dropped& dropped() const noexcept { return dropped_; }

  /// Forgets what was seen, and keeps the memory.
  void clear() noexcept {
    for (Lane& lane : lanes_) lane.size = 0;
    for (Lane& lane : device_) lane.size = 0;
    steps_.clear();
    requests_.clear();
    dropped_ = {};
  }

  // --- seeing; see exec::Observer --------------------------------------------------------------------

  void begin_step(std::uint32_t program, const ExecutionContext& step) noexcept {
    open_ = has_room();
    if (!open_) {
      ++dropped_.steps;
      return;
    }
    TimedStep timed;
    timed.program = program;
    timed.work = work(step);
    timed.load = load_;
    timed.begin = clock_.now();
    (void)steps_.push_back(timed);  // reserved
  }
  void end_step(bool completed) noexcept {
    if (!open_) return;
    steps_.back().end = clock_.now();
    steps_.back().completed = completed;
    open_ = false;
  }
  void begin_calls(std::uint32_t worker) noexcept { lanes_[worker].last = clock_.now(); }
  void end_call(const exec::ObservedCall& call) noexcept {
    Lane& lane = lanes_[call.worker];
    const std::uint64_t now = clock_.now();
    if (open_) lane.calls[lane.size++] = {lane.last, now, call.instruction, call.partition};
    lane.last = now;
  }
  /// The device's clock is set beside the host's by its last launch, which ends now.
  void device_calls(Span<const exec::DeviceCall> calls) noexcept {
    if (!open_ || device_.empty() || calls.empty()) return;
    std::uint64_t last = 0;
    for (const exec::DeviceCall& call : calls) last = call.end > last ? call.end : last;
    const std::uint64_t now = clock_.now();
    const double scale = 1.0 / clock_.nanoseconds_per_tick();
    const auto at = [&](std::uint64_t nanoseconds) {
      const auto ago = static_cast<std::uint64_t>(static_cast<double>(last - nanoseconds) * scale);
      return ago < now ? now - ago : 0;
    };
    Lane& lane = device_[0];
    for (const exec::DeviceCall& call : calls) {
      if (lane.size == lane.calls.size()) return;
      const std::uint64_t begin = call.begin < call.end ? call.begin : call.end;
      lane.calls[lane.size++] = {at(begin), at(call.end), call.instruction, 0};
    }
  }
  void request(const exec::ObservedRequest& request) noexcept {
    if (request.slot < slots_.size()) {
      SlotSeen& seen = slots_[request.slot];
      if (seen.id == request.id && seen.phase == request.phase) return;
      seen = {request.id, request.phase};
    } else {
      for (SlotSeen& seen : slots_)
        if (seen.id == request.id) seen = {};  // it waits, perhaps again
    }
    if (requests_.size() == requests_.capacity()) {
      ++dropped_.requests;
      return;
    }
    (void)requests_.push_back({clock_.now(), request});
  }
  void load(const exec::ObservedLoad& load) noexcept { load_ = load; }

 private:
  /// An engine has no more.
  static constexpr std::size_t kMostSlots = 4096;

  struct SlotSeen {
    std::uint64_t id = 0;
    exec::RequestPhase phase = exec::RequestPhase::queued;
  };

  [[nodiscard]] static Result<void> add_lane(Vector<Lane>& lanes, std::size_t room) noexcept {
    Lane lane(lanes.allocator());
    // Written once here, so that no step meets the first touch of a page.
    if (auto r = lane.calls.resize(room); !r) return r;
    return lanes.push_back(std::move(lane));
  }
  [[nodiscard]] bool has_room() const noexcept {
    if (steps_.size() == steps_.capacity()) return false;
    for (const Lane& lane : lanes_)
      if (lane.calls.size() - lane.size < most_calls_) return false;
    for (const Lane& lane : device_)
      if (lane.calls.size() - lane.size < most_calls_) return false;
    return true;
  }
  /// Rows of a slot stand together, in the order of their positions.
  [[nodiscard]] static plan::StepWork work(const ExecutionContext& step) noexcept {
    plan::StepWork work{step.extents, step.tokens, 0, 0};
    if (step.slots == nullptr || step.positions == nullptr) return work;
    for (std::uint32_t row = 0; row < step.tokens; ++row) {
      if (row + 1 < step.tokens && step.slots[row + 1] == step.slots[row]) continue;
      ++work.slots;
      work.cached += step.positions[row] + std::uint64_t{1};
    }
    return work;
  }

  TimelineOptions options_;
  TickClock clock_{};
  Vector<exec::ObservedProgram> programs_;
  Vector<Lane> lanes_;
  Vector<Lane> device_;  ///< at most one
  Vector<TimedStep> steps_;
  Vector<TimedRequest> requests_;
  Vector<SlotSeen> slots_;
  exec::ObservedLoad load_{};
  Dropped dropped_{};
  std::size_t most_calls_ = 0;  ///< of one worker in a step
  bool open_ = false;           ///< the step that runs is kept
};

/// Binds a timeline, which outlives the engine: `Engine<B, AllFamilies, trace::TimelineObserver>::open(path, options,
/// device, {&timeline})`.
struct TimelineObserver {
  Timeline* timeline = nullptr;
  std::uint32_t program = 0;

  [[nodiscard]] Result<void> bind(const exec::ObservedProgram& bound) noexcept {
    if (timeline == nullptr) return fail(Errc::invalid_argument, "the observer has no timeline");
    const auto number = timeline->add(bound);
    if (!number) return pass(number);
    program = *number;
    return {};
  }
  void begin_step(const ExecutionContext& step) const noexcept { timeline->begin_step(program, step); }
  void end_step(bool completed) const noexcept { timeline->end_step(completed); }
  void begin_calls(std::uint32_t worker) const noexcept { timeline->begin_calls(worker); }
  void end_call(const exec::ObservedCall& call) const noexcept { timeline->end_call(call); }
  void device_calls(Span<const exec::DeviceCall> calls) const noexcept { timeline->device_calls(calls); }
  void request(const exec::ObservedRequest& request) const noexcept { timeline->request(request); }
  void load(const exec::ObservedLoad& load) const noexcept { timeline->load(load); }
};
static_assert(exec::WatchesCalls<TimelineObserver>);
static_assert(exec::WatchesDevice<TimelineObserver> && exec::WatchesRequests<TimelineObserver>);

}  // namespace zrt::inline ZRT_ABI::trace
