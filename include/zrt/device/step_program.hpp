// SPDX-License-Identifier: Apache-2.0
// zrt/device/step_program.hpp: a step recorded once as commands of a device, and its launch.
#pragma once

#include <zrt/device/host_samples.hpp>
#include <zrt/device/recorded_device.hpp>
#include <zrt/device/recorder.hpp>
#include <zrt/device/step_position.hpp>
#include <zrt/exec/observer.hpp>

namespace zrt::inline ZRT_ABI::device {

/// A recorded step. launch() patches what changes from step to step, hands the commands over and waits for their end; it
/// allocates nothing.
template <class Device> class StepProgram {
 public:
  using Memory = typename Device::Memory;
  using Commands = typename Device::Commands;

  explicit StepProgram(const Device& device) noexcept
      : record_(device.allocator()),
        commands_(device.allocator()),
        samples_(device.allocator()),
        calls_(device.allocator()) {}

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
    return device.make_commands({record_, layout_, answers_, memory_, words_}, commands_);
  }

  /// Runs one step; false when `stop` asked for its end. It is polled before the step, and before each piece of a step of
  /// more tokens than the device's whole_step_tokens(): what a queue has cannot be taken back.
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
    *progress() = kNotBegun;
    const bool whole = step.tokens <= device.whole_step_tokens();
    pieces_ = whole ? 1 : commands_.pieces();
    const auto fence = device.submit(commands_, whole ? kWholeStep : 0);
    if (!fence) return pass(fence);
    fence_ = *fence;
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

  /// Launches of one step.
  [[nodiscard]] std::size_t size() const noexcept { return record_.launches.size(); }
  [[nodiscard]] Span<const RecordedLaunch> launches() const noexcept { return record_.launches.span(); }
  [[nodiscard]] const Commands& commands() const noexcept { return commands_; }
  /// The memory that commands and kernels read, from the commands on.
  [[nodiscard]] const Memory& memory() const noexcept { return memory_; }
  /// In how many pieces a long step is handed over.
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

  /// Hands over one piece after the other and waits for them all. False where `stop` ended it between two.
  [[nodiscard]] Result<bool> run_pieces(Device& device, const StopPoll& stop) noexcept {
    for (std::size_t piece = 1; piece < pieces_; ++piece) {
      const bool stopped = stop();
      const auto next = stopped ? Result<std::uint64_t>(fence_) : device.submit(commands_, piece);
      if (!next) {
        // The piece before still runs: what it uses goes with the program, or is patched by the next step.
        (void)wait_for(device, fence_);
        return pass(next);
      }
      // The piece before: the queue has this one to go on with meanwhile.
      if (auto r = wait_for(device, fence_); !r) return pass(r);
      if (stopped) return false;
      fence_ = *next;
    }
    if (auto r = wait_for(device, fence_); !r) return pass(r);
    return true;
  }
  [[nodiscard]] Result<void> wait_for(Device& device, std::uint64_t fence) const noexcept {
    if (auto r = device.wait(fence); !r)
      return at_launch(r.error(), record_.launches.span(), __atomic_load_n(progress(), __ATOMIC_ACQUIRE));
    return {};
  }

  [[nodiscard]] Result<void> make_calls(Device& device) noexcept {
    const auto rate = device.clock_rate();
    if (!rate) return pass(rate);
    clock_rate_ = *rate;
    if (auto r = calls_.resize(record_.launches.size()); !r) return r;
    for (std::size_t i = 0; i < calls_.size(); ++i) calls_[i].instruction = record_.launches[i].instruction;
    return {};
  }
  /// When each launch of the last step began and ended. Launches that run beside each other end in their order: each is
  /// shown from the end of the one before it, so that together they are the step.
  [[nodiscard]] Span<const exec::DeviceCall> times() noexcept {
    const std::byte* const ticks = words_.span().data() + answers_.times;
    const auto at = [&](std::size_t i) {
      const auto tick = read_little<std::uint64_t>(ticks + i * 8);
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
  std::uint64_t recorded_ = 0;
  std::uint64_t fence_ = 0;  ///< of the piece that was handed over last
  std::size_t pieces_ = 0;   ///< of the step under way
  Extents last_{};
  bool patched_ = false;
};

/// A Recorder over a program of a device, which finish() seals.
template <class Program, class Device> class DeviceRecorder : public Recorder {
 public:
  DeviceRecorder(Program& program, Device& device) noexcept
      : Recorder(program.record(), device.signatures()), program_(&program), device_(&device) {}

  [[nodiscard]] Result<void> finish() noexcept { return program_->seal(*device_); }

 private:
  Program* program_;
  Device* device_;
};

}  // namespace zrt::inline ZRT_ABI::device
