// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/step_program.hpp: a step recorded once as packets in the GPU's memory, and its launch.
#pragma once

#include <zrt/backend/pm4/backend_device.hpp>
#include <zrt/backend/pm4/host_sampler.hpp>
#include <zrt/backend/pm4/recorder.hpp>
#include <zrt/backend/pm4/step_memory.hpp>
#include <zrt/core/buffer.hpp>
#include <zrt/exec/observer.hpp>

#include <type_traits>

namespace zrt::inline ZRT_ABI::pm4 {

/// A recorded step. launch() patches what changes from step to step, hands the ring one group of packets, rings one
/// doorbell and waits for one fence; it makes no system call and allocates nothing.
template <PacketTransport Transport, TargetChoice Target> class StepProgram {
 public:
  using Device = BackendDevice<Transport, Target>;
  using Memory = typename Device::Memory;

  explicit StepProgram(const Device& device) noexcept
      : record_(device.allocator()), pieces_(device.allocator()), calls_(device.allocator()) {}

  [[nodiscard]] StepRecord& record() noexcept { return record_; }

  /// Makes packets of the record and places them in the GPU's memory.
  ///
  /// Errors: Errc::size_overflow; capacity_exceeded for more dwords than an indirect buffer has; those of Memory, and of
  /// the device's clock where launches are timed.
  [[nodiscard]] Result<void> seal(Device& device) noexcept {
    const auto layout = StepLayout::of(record_);
    if (!layout) return pass(layout);
    layout_ = *layout;
    auto memory = device.allocate_readable(layout_.bytes);
    if (!memory) return pass(memory);
    memory_ = std::move(*memory);
    const auto answers = StepAnswers::of(record_);
    if (!answers) return pass(answers);
    answers_ = *answers;
    auto words = device.allocate_for_host(answers_.bytes);
    if (!words) return pass(words);
    words_ = std::move(*words);
    if (record_.times_launches)
      if (auto r = make_calls(device); !r) return r;
    if (auto r = make_sample_scratch(); !r) return r;
    write_arguments();
    ++recorded_;
    return with_target<Target>(device.target(),
                               [&]<class T>(T) { return write_packets(std::type_identity<T>{}, device.transport()); });
  }

  /// Runs one step; false when `stop` asked for its end. It is polled before the step, and before each piece of a step of
  /// more tokens than DeviceOptions::whole_step_tokens: what the ring has cannot be taken back.
  ///
  /// Errors: those of Transport::submit and wait, the latter with the launch that has not ended; see at_launch().
  template <class O = exec::NoObserver>
  [[nodiscard]] Result<bool> launch(Device& device, const ExecutionContext& step, const StopPoll& stop,
                                    [[maybe_unused]] O observer = {}) noexcept {
    if (stop()) return false;
    if (record_.launches.empty()) return true;
    std::byte* const memory = memory_.span().data();
    // Counts stay from one decode step to the next until a request joins or leaves.
    if (!patched_ || step.extents.value != last_.value) {
      write_counts(record_, layout_, step.extents, memory);
      last_ = step.extents;
      patched_ = true;
    }
    write_batch(record_, layout_, step, memory);
    *progress() = kNotBegun;
    const bool whole = step.tokens <= device.options().whole_step_tokens;
    const auto ran = run(device, whole ? Span<const StepStart>(&start_, 1) : pieces_.span(), stop);
    if (!ran) return pass(ran);
    if (!*ran) {
      for (std::size_t i = 0; i < record_.faults.size(); ++i) write_little(words_.span().data() + i * 4, 0u);
      return false;
    }
    if constexpr (exec::WatchesDevice<O>)
      if (record_.times_launches) observer.device_calls(times());
    report_faults(step);
    for (const HostCall<ops::Sample>& call : record_.samples) sample_on_host(call, step, sample_scratch_.span());
    return true;
  }

  /// Dispatches of one step.
  [[nodiscard]] std::size_t size() const noexcept { return record_.launches.size(); }
  [[nodiscard]] Span<const RecordedLaunch> launches() const noexcept { return record_.launches.span(); }
  /// The packets of the step.
  [[nodiscard]] Span<const std::uint32_t> packets() const noexcept {
    return {reinterpret_cast<const std::uint32_t*>(memory_.span().data()), packet_dwords_};
  }
  /// What the ring gets for each step, its fence left out.
  [[nodiscard]] Span<const std::uint32_t> start() const noexcept { return start_.span(); }
  /// In how many pieces a long step is handed over.
  [[nodiscard]] std::size_t pieces() const noexcept { return pieces_.size(); }
  /// Calls `visit(what, memory)` for each piece of the GPU's memory that the program holds.
  template <class Visit> void for_each_memory(const Visit& visit) const {
    visit(std::string_view("packets and arguments"), memory_);
    visit(std::string_view("words that the host reads"), words_);
  }
  /// How often the packets were written.
  [[nodiscard]] std::uint64_t recorded() const noexcept { return recorded_; }

 private:
  using StepStart = FixedStream<kStepStartDwords>;

  /// Hands over one piece after the other and waits for them all. False where `stop` ended it between two.
  [[nodiscard]] Result<bool> run(Device& device, Span<const StepStart> pieces, const StopPoll& stop) const noexcept {
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const bool stopped = i != 0 && stop();
      auto fence = stopped ? Result<std::uint64_t>(last) : device.transport().submit(pieces[i].span());
      if (!fence) return pass(fence);
      // The piece before: the queue has this one to go on with meanwhile.
      if (i != 0)
        if (auto r = wait(device, last); !r) return pass(r);
      if (stopped) return false;
      last = *fence;
    }
    if (auto r = wait(device, last); !r) return pass(r);
    return true;
  }
  [[nodiscard]] Result<void> wait(Device& device, std::uint64_t fence) const noexcept {
    if (auto r = device.transport().wait(fence, device.options().step_timeout); !r)
      return at_launch(r.error(), record_.launches.span(), __atomic_load_n(progress(), __ATOMIC_ACQUIRE));
    return {};
  }

  [[nodiscard]] Result<void> make_calls(Device& device) noexcept {
    const auto rate = device.transport().device().clock_rate();
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

  [[nodiscard]] Result<void> make_sample_scratch() noexcept {
    CheckedSize most = 0;
    for (const HostCall<ops::Sample>& call : record_.samples) {
      const CheckedSize bytes =
          CheckedSize(call.in[0].type.shape.last().extent) * (sizeof(float) + sizeof(ops::Candidate));
      if (!bytes.ok() || bytes.raw() > most.raw()) most = bytes;
    }
    const auto bytes = most.get("the workspace of a sampler");
    if (!bytes) return pass(bytes);
    auto scratch = Buffer::zeroed(record_.launches.allocator(), static_cast<std::size_t>(*bytes));
    if (!scratch) return pass(scratch);
    sample_scratch_ = std::move(*scratch);
    return {};
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
    for (std::size_t i = 0; i < record_.faults.size(); ++i) write_little(words_.span().data() + i * 4, 0u);
  }

  template <class T>
  [[nodiscard]] Result<void> write_packets(std::type_identity<T>, const Transport& transport) noexcept {
    PacketWriter<T> packets(
        {reinterpret_cast<std::uint32_t*>(memory_.span().data()), static_cast<std::size_t>(layout_.arguments / 4)});
    const StepPieces pieces = write_step(packets, record_.launches.span(),
                                         {.arguments = memory_.address() + layout_.arguments,
                                          .grids = memory_.address() + layout_.grids,
                                          .progress = words_.address() + answers_.progress,
                                          .times = record_.times_launches ? words_.address() + answers_.times : 0});
    if (const auto r = packets.finish(); !r) return pass(r);
    packet_dwords_ = packets.size();
    if (packet_dwords_ >= std::size_t{1} << 20)
      return fail(Errc::capacity_exceeded, "a step of ", packet_dwords_, " dwords, an indirect buffer has fewer than ",
                  std::size_t{1} << 20);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < pieces.count; ++i) {
      StepStart piece;
      if (auto r = write_start<T>(transport, begin, pieces.ends[i], piece); !r) return r;
      if (auto r = pieces_.push_back(piece); !r) return r;
      begin = pieces.ends[i];
    }
    return write_start<T>(transport, 0, packet_dwords_, start_);
  }
  /// What the ring gets for the packets from one dword to another: the host has written before those of the first alone.
  template <class T>
  [[nodiscard]] Result<void> write_start(const Transport& transport, std::size_t begin, std::size_t end,
                                         StepStart& to) const noexcept {
    PacketWriter<T> start(to.words);
    const IndirectBuffer buffer =
        transport.indirect_buffer(memory_.address() + begin * 4, static_cast<std::uint32_t>(end - begin));
    if (begin == 0)
      write_step_start(start, buffer);
    else
      start.add(buffer);
    if (const auto r = start.finish(); !r) return pass(r);
    to.size = start.size();
    return {};
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
  Memory memory_{};
  Memory words_{};
  Buffer sample_scratch_{};
  StepStart start_{};         ///< of a step in one piece
  Vector<StepStart> pieces_;  ///< of one in several
  StepAnswers answers_{};
  Vector<exec::DeviceCall> calls_;  ///< where launches are timed
  std::uint64_t clock_rate_ = 1;
  std::size_t packet_dwords_ = 0;
  std::uint64_t recorded_ = 0;
  Extents last_{};
  bool patched_ = false;
};

/// A pm4::Recorder over a program of a device, which finish() seals.
template <PacketTransport Transport, TargetChoice Target> class DeviceRecorder : public Recorder {
 public:
  using Device = BackendDevice<Transport, Target>;
  using Program = StepProgram<Transport, Target>;

  DeviceRecorder(Program& program, Device& device) noexcept
      : Recorder(program.record(), device.kernels()), program_(&program), device_(&device) {}

  [[nodiscard]] Result<void> finish() noexcept { return program_->seal(*device_); }

 private:
  Program* program_;
  Device* device_;
};

}  // namespace zrt::inline ZRT_ABI::pm4
