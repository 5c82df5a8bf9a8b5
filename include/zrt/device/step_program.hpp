// SPDX-License-Identifier: Apache-2.0
// zrt/device/step_program.hpp: a step recorded once as commands of a device, and its launch.
#pragma once

#include <zrt/device/host_samples.hpp>
#include <zrt/device/launch_work.hpp>
#include <zrt/device/recorded_device.hpp>
#include <zrt/device/recorder.hpp>
#include <zrt/device/step_position.hpp>
#include <zrt/exec/observer.hpp>

namespace zrt::inline ZRT_ABI::device {

/// A recorded step. launch() patches what changes from step to step, hands the commands over and waits for their end; it
/// allocates nothing.
template <class Device> class StepProgram {
  /// Positions count so many at a time.
  static constexpr std::uint32_t kSegment = 512;

 public:
  using Memory = typename Device::Memory;
  using Commands = typename Device::Commands;

  explicit StepProgram(const Device& device) noexcept
      : record_(device.allocator()),
        commands_(device.allocator()),
        samples_(device.allocator()),
        calls_(device.allocator()),
        work_(device.allocator()) {}

  [[nodiscard]] StepRecord& record() noexcept { return record_; }

  /// Places the record in the device's memory and makes commands of it.
  ///
  /// Errors: Errc::size_overflow; those of the device's memory, of make_commands, and of its clock where launches are
  /// timed.
  [[nodiscard]] Result<void> seal(Device& device) noexcept {
    static_assert(CheckRecordedDevice<Device>::kOk);
    if (auto r = place(device); !r) return r;
    if (record_.times_launches)
      if (auto r = make_calls(device); !r) return r;
    if (auto r = samples_.make(device, record_); !r) return r;
    write_arguments();
    ++recorded_;
    if (auto r = device.make_commands({record_, layout_, answers_, memory_, words_}, commands_); !r) return r;
    return work_.resize(PacesCommands<Device> ? commands_.pieces() : 0);
  }

  /// Runs one step; false when `stop` asked for its end. It is polled before the step, and before each submission of a
  /// step that is handed over in several: what a queue has cannot be taken back.
  ///
  /// Errors: those of submit() and wait().
  template <class O = exec::NoObserver>
  [[nodiscard]] Result<bool> launch(Device& device, const ExecutionContext& step, const StopPoll& stop,
                                    O observer = {}) noexcept {
    if (stop()) return false;
    if (auto r = submit(device, step); !r) return pass(r);
    return wait(device, step, stop, observer);
  }

  /// The first half of launch(): patches the step's data and hands over its first piece. The step before has ended.
  ///
  /// Errors: those of the device's submit.
  [[nodiscard]] Result<void> submit(Device& device, const ExecutionContext& step) noexcept {
    if (record_.launches.empty()) return {};
    patch(step);
    samples_.expect(device, step);
    *progress() = kNotBegun;
    if constexpr (PacesCommands<Device>) {
      reckon(step);
      pieces_ = commands_.pieces();
    } else {
      pieces_ = step.tokens <= device.whole_step_tokens() ? 1 : commands_.pieces();
    }
    const auto first = hand_over(device, 0);
    if (!first) return pass(first);
    under_way_ = *first;
    return {};
  }

  /// The second half: hands over the other pieces, waits for all, and looks at what they left. False where `stop` ended
  /// the step between two pieces.
  ///
  /// Errors: those of the device's submit and wait, the latter with the launch that has not ended; see at_launch().
  template <class O = exec::NoObserver>
  [[nodiscard]] Result<bool> wait(Device& device, const ExecutionContext& step, const StopPoll& stop,
                                  [[maybe_unused]] O observer = {}) noexcept {
    if (record_.launches.empty()) return true;
    const auto ran = run_pieces(device, stop);
    if (!ran) return pass(ran);
    if (!*ran) {
      clear_faults();
      return false;
    }
    if constexpr (exec::WatchesDevice<O>)
      if (record_.times_launches) observer.device_calls(times());
    report_faults(step);
    if (auto r = samples_.run(device, step); !r) return pass(r);
    return true;
  }

  /// Whether each piece of such a step, with no token behind position `furthest`, is thought to end in time: no cut is
  /// finer than a piece.
  [[nodiscard]] bool is_timely(Device& device, const Extents& step, std::uint32_t furthest) const noexcept
    requires PacesCommands<Device>
  {
    bool timely = true;
    std::size_t last = 0;
    std::uint64_t sum = 0;
    for_each_work_of_pieces(step, furthest, [&](std::size_t piece, std::uint64_t work) {
      sum = (piece == last ? sum : 0) + work;
      last = piece;
      timely = timely && device.pace().is_timely(sum);
    });
    return timely;
  }

  /// Launches of one step.
  [[nodiscard]] std::size_t size() const noexcept { return record_.launches.size(); }
  [[nodiscard]] Span<const RecordedLaunch> launches() const noexcept { return record_.launches.span(); }
  [[nodiscard]] const Commands& commands() const noexcept { return commands_; }
  /// The memory that commands and kernels read, from the commands on.
  [[nodiscard]] const Memory& memory() const noexcept { return memory_; }
  /// In how many pieces a step may be handed over.
  [[nodiscard]] std::size_t pieces() const noexcept { return commands_.pieces(); }
  /// Calls `visit(what, memory)` for each piece of the device's memory that the program holds.
  template <class Visit> void for_each_memory(const Visit& visit) const {
    visit(std::string_view("commands and arguments"), memory_);
    visit(std::string_view("words that the host reads"), words_);
  }
  /// How often commands were made.
  [[nodiscard]] std::uint64_t recorded() const noexcept { return recorded_; }

 private:
  [[nodiscard]] Result<void> place(Device& device) noexcept {
    const auto layout = StepLayout::of(record_, Device::command_bytes(record_));
    if (!layout) return pass(layout);
    layout_ = *layout;
    auto memory = device.allocate_for(MemoryRole::program, layout_.bytes);
    if (!memory) return pass(memory);
    memory_ = std::move(*memory);
    const auto answers = StepAnswers::of(record_);
    if (!answers) return pass(answers);
    answers_ = *answers;
    auto words = device.allocate_for(MemoryRole::answers, answers_.bytes);
    if (!words) return pass(words);
    words_ = std::move(*words);
    return {};
  }

  void patch(const ExecutionContext& step) noexcept {
    std::byte* const memory = memory_.span().data();
    // Counts stay from one decode step to the next until a request joins or leaves.
    if (!patched_ || step.extents.value != last_.value) {
      write_counts(record_, layout_, step.extents, memory);
      last_ = step.extents;
      patched_ = true;
    }
    write_batch(record_, layout_, step, memory);
  }

  /// One or several pieces that the queue has.
  struct Submission {
    std::uint64_t fence = 0;
    std::size_t end = 0;  ///< the piece behind its last
    std::uint64_t work = 0;
    std::uint64_t since = 0;  ///< when it was handed over, on the device's clock for it
  };

  /// How much each piece has to do in a step. It stays while nothing changes but positions, which count by segments.
  void reckon(const ExecutionContext& step) noexcept
    requires PacesCommands<Device>
  {
    std::uint32_t furthest = 0;
    for (std::uint32_t t = 0; t < step.tokens && step.positions != nullptr; ++t)
      furthest = std::max(furthest, step.positions[t]);
    furthest |= kSegment - 1;
    if (reckoned_ && furthest == furthest_ && step.extents.value == reckoned_for_.value) return;
    reckoned_ = true;
    furthest_ = furthest;
    reckoned_for_ = step.extents;
    for (std::uint64_t& work : work_) work = 0;
    for_each_work_of_pieces(step.extents, furthest,
                            [&](std::size_t piece, std::uint64_t work) { work_[piece] += work; });
  }
  /// Calls `visit(piece, work)` for each launch of such a step, in order.
  template <class Visit>
  void for_each_work_of_pieces(const Extents& step, std::uint32_t furthest, const Visit& visit) const noexcept {
    std::size_t piece = 0;
    for_each_work(record_, step, furthest, [&](std::size_t launch, std::uint64_t work) {
      if (piece + 1 < commands_.pieces() && launch == commands_.begin_of(piece + 1)) ++piece;
      visit(piece, work);
    });
  }

  /// Hands over what begins with a piece.
  [[nodiscard]] Result<Submission> hand_over(Device& device, std::size_t first) noexcept {
    Submission next{.end = first + 1};
    const auto fence = [&] {
      if constexpr (PacesCommands<Device>) {
        next.end = device.pace().cut(work_.span(), first);
        for (std::size_t piece = first; piece < next.end; ++piece) next.work += work_[piece];
        next.since = device.now();
        return device.submit(commands_, first, next.end);
      } else {
        return device.submit(commands_, pieces_ == 1 ? kWholeStep : first);
      }
    }();
    if (!fence) return pass(fence);
    next.fence = *fence;
    return next;
  }

  /// Hands over one submission after the other and waits for them all. False where `stop` ended it between two.
  [[nodiscard]] Result<bool> run_pieces(Device& device, const StopPoll& stop) noexcept {
    while (under_way_.end < pieces_) {
      const bool stopped = stop();
      auto next = stopped ? Result<Submission>(under_way_) : hand_over(device, under_way_.end);
      if (!next) {
        // The one before still runs: what it uses goes with the program, or is patched by the next step.
        (void)wait_for(device, under_way_);
        return pass(next);
      }
      // The one before: the queue has this one to go on with meanwhile.
      if (auto r = wait_for(device, under_way_); !r) return pass(r);
      if (stopped) return false;
      if constexpr (PacesCommands<Device>) next->since = device.now();
      under_way_ = *next;
    }
    if (auto r = wait_for(device, under_way_); !r) return pass(r);
    return true;
  }
  [[nodiscard]] Result<void> wait_for(Device& device, const Submission& submission) const noexcept {
    if (auto r = device.wait(submission.fence); !r)
      return at_launch(r.error(), record_.launches.span(), __atomic_load_n(progress(), __ATOMIC_ACQUIRE));
    if constexpr (PacesCommands<Device>) device.pace().learn(submission.work, device.now() - submission.since);
    return {};
  }

  [[nodiscard]] Result<void> make_calls(Device& device) noexcept {
    const auto rate = device.clock_rate();
    if (!rate) return pass(rate);
    clock_rate_ = *rate;
    if constexpr (requires { device.clock_bits(); })
      if (const std::uint32_t bits = device.clock_bits(); bits < 64) clock_mask_ = (std::uint64_t{1} << bits) - 1;
    if (auto r = calls_.resize(record_.launches.size()); !r) return r;
    for (std::size_t i = 0; i < calls_.size(); ++i) calls_[i].instruction = record_.launches[i].instruction;
    return {};
  }
  /// When each launch of the last step began and ended. Launches that run beside each other end in their order: each is
  /// shown from the end of the one before it, so that together they are the step.
  [[nodiscard]] Span<const exec::DeviceCall> times() noexcept {
    const std::byte* const ticks = words_.span().data() + answers_.times;
    // A clock of fewer bits begins anew when they are full, which it does once in a step at most.
    const auto first = read_little<std::uint64_t>(ticks);
    const auto at = [&](std::size_t i) {
      const std::uint64_t tick = first + ((read_little<std::uint64_t>(ticks + i * 8) - first) & clock_mask_);
      constexpr std::uint64_t nanoseconds = 1'000'000;  // of a millisecond
      return tick / clock_rate_ * nanoseconds + tick % clock_rate_ * nanoseconds / clock_rate_;
    };
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      calls_[i].begin = at(i);
      calls_[i].end = at(i + 1);
    }
    return calls_.span();
  }

  [[nodiscard]] std::uint32_t* progress() const noexcept {
    return reinterpret_cast<std::uint32_t*>(words_.span().data() + answers_.progress);
  }

  void write_arguments() noexcept {
    std::byte* const memory = memory_.span().data();
    auto copy = [memory](std::uint64_t to, Span<const std::byte> from) {
      if (!from.empty()) std::memcpy(memory + to, from.data(), from.size());
    };
    copy(layout_.arguments, record_.arguments.span());
    copy(layout_.tables, record_.tables.span());
    for (const Link& link : record_.links)
      if (link.kind != LinkKind::count)
        write_little(memory + layout_.arguments + link.at,
                     layout_.target(link, record_.bounds, memory_.address(), words_.address()));
    clear_faults();
  }

  void clear_faults() noexcept {
    for (std::size_t i = 0; i < record_.faults.size(); ++i) write_little(words_.span().data() + i * 4, 0u);
  }
  void report_faults(const ExecutionContext& step) noexcept {
    for (std::size_t i = 0; i < record_.faults.size(); ++i) {
      std::byte* const word = words_.span().data() + i * 4;
      if (read_little<std::uint32_t>(word) == 0) continue;
      write_little(word, std::uint32_t{0});
      step.violated(Worker{.instruction = record_.faults[i]});
    }
  }

  StepRecord record_;
  StepLayout layout_{};
  StepAnswers answers_{};
  Memory memory_{};
  Memory words_{};
  Commands commands_;
  HostSamples samples_;
  Vector<exec::DeviceCall> calls_;  ///< where launches are timed
  std::uint64_t clock_rate_ = 1;
  std::uint64_t clock_mask_ = ~std::uint64_t{0};
  std::uint64_t recorded_ = 0;
  Submission under_way_{};
  std::size_t pieces_ = 0;      ///< of the step under way
  Vector<std::uint64_t> work_;  ///< of each piece, where the device has a pace
  Extents reckoned_for_{};
  std::uint32_t furthest_ = 0;
  bool reckoned_ = false;
  Extents last_{};
  bool patched_ = false;
};

/// A Recorder over a program of a device, which finish() seals.
template <class Program, class Device> class DeviceRecorder : public Recorder {
 public:
  DeviceRecorder(Program& program, Device& device) noexcept
      : Recorder(program.record(), device.signatures(), most_groups(device)), program_(&program), device_(&device) {}

  [[nodiscard]] Result<void> finish() noexcept { return program_->seal(*device_); }

 private:
  [[nodiscard]] static std::uint32_t most_groups([[maybe_unused]] Device& device) noexcept {
    if constexpr (LimitsGrids<Device>)
      return device.most_groups();
    else
      return ~std::uint32_t{0};
  }

  Program* program_;
  Device* device_;
};

}  // namespace zrt::inline ZRT_ABI::device
