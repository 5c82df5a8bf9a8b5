// SPDX-License-Identifier: Apache-2.0
// tests/support/toy_gpu.hpp: a recorded device in one file, as a user would write it: memory with addresses of its own, a
// queue, and kernels that are functions of the host. docs/adding-a-backend.md walks through it.
#pragma once

#include <zrt/core/hooks.hpp>
#include <zrt/device/adapters.hpp>
#include <zrt/device/claims.hpp>
#include <zrt/device/served_device.hpp>
#include <zrt/device/step_program.hpp>
#include <zrt/exec/adapter_table.hpp>

#include <support/toy_gpu_kernels.hpp>

namespace toy_gpu {

using zrt::Errc;
using zrt::Result;
using zrt::device::MemoryRole;

/// A piece of memory that kernels find at another address than the host.
class Memory {
 public:
  Memory() = default;
  Memory(zrt::Buffer buffer, bool seen) noexcept : buffer_(std::move(buffer)), seen_(seen) {}

  [[nodiscard]] std::uint64_t address() const noexcept {
    return reinterpret_cast<std::uintptr_t>(buffer_.data()) + (seen_ ? kSeenBase : kHiddenBase);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return buffer_.size(); }
  [[nodiscard]] zrt::Span<std::byte> span() const noexcept {
    return seen_ ? zrt::Span<std::byte>(const_cast<std::byte*>(buffer_.data()), buffer_.size())
                 : zrt::Span<std::byte>();
  }

 private:
  zrt::Buffer buffer_{};
  bool seen_ = true;
};

/// One launch, as the queue reads it from the program's memory.
struct Command {
  std::uint64_t arguments = 0;
  std::uint64_t grid = 0;
  std::uint32_t kernel = 0;
  std::uint32_t barrier = 0;
  std::uint32_t first = 0;
};

/// Where a step's commands lie, where its pieces end, and where it tells how far it is.
struct Commands {
  explicit Commands(const zrt::Allocator& allocator) noexcept : ends(allocator) {}
  [[nodiscard]] std::size_t pieces() const noexcept { return ends.size(); }
  [[nodiscard]] std::size_t begin_of(std::size_t piece) const noexcept { return piece == 0 ? 0 : ends[piece - 1]; }

  const Command* list = nullptr;
  zrt::Vector<std::size_t> ends;
  std::uint32_t* progress = nullptr;
  std::uint64_t* times = nullptr;
};

struct DeviceOptions {
  bool host_sees_arenas = true;
  std::uint64_t piece_time = 100'000'000;                ///< nanoseconds that a submission is to take at most
  std::uint64_t group_time = 0;                          ///< nanoseconds of a workgroup, on the toy's own clock
  std::uint64_t watchdog = ~std::uint64_t{0};            ///< nanoseconds after which the driver ends a submission
  std::uint64_t largest_allocation = ~std::uint64_t{0};  ///< for several weights
  std::uint32_t most_groups = ~std::uint32_t{0};         ///< of a launch, on its first axis
  std::uint32_t clock_bits = 64;
  std::uint64_t clock_begin = 0;
  std::size_t hangs_before = ~std::size_t{0};  ///< the launch that never ends, counted over the device's life
  std::uint64_t refuses = ~std::uint64_t{0};   ///< the submission that is refused, likewise
};

class Device : public zrt::device::ServedDevice<Device, Memory> {
 public:
  static constexpr std::string_view kName = "toy";
  using Memory = toy_gpu::Memory;
  using Commands = toy_gpu::Commands;

  Device() noexcept : Device(zrt::system_allocator(), {}, {}) {}
  Device(const zrt::Allocator& allocator, const zrt::ThreadHook&, const DeviceOptions& options) noexcept
      : allocator_(allocator),
        options_(options),
        pace_(options.piece_time),
        weights_(allocator, options.largest_allocation),
        pending_(allocator),
        signatures_(allocator) {}

  Result<void> ready() noexcept {
    for (const Kernel& kernel : kKernels)
      if (auto r = signatures_.push_back(kernel.signature); !r) return r;
    return {};
  }

  // --- memory ---
  [[nodiscard]] Result<Memory> allocate_for(MemoryRole role, std::uint64_t bytes) noexcept {
    auto buffer = zrt::Buffer::zeroed(allocator_, static_cast<std::size_t>(bytes));
    if (!buffer) return zrt::pass(buffer);
    const bool shared = role == MemoryRole::program || role == MemoryRole::answers;
    return Memory(std::move(*buffer), shared || options_.host_sees_arenas);
  }
  [[nodiscard]] std::byte* host_view(std::uint64_t address) noexcept {
    return address >= kHiddenBase ? nullptr : byte_at(address);
  }
  [[nodiscard]] Result<void> copy_in(std::uint64_t address, zrt::Span<const std::byte> from) noexcept {
    if (!from.empty()) std::memcpy(byte_at(address), from.data(), from.size());
    return {};
  }
  [[nodiscard]] Result<void> copy_out(std::uint64_t address, zrt::Span<std::byte> to) noexcept {
    copied_out_ += to.size();
    if (!to.empty()) std::memcpy(to.data(), byte_at(address), to.size());
    return {};
  }
  [[nodiscard]] zrt::device::WeightStore<Memory>& weight_store() noexcept { return weights_; }

  // --- kernels and commands ---
  [[nodiscard]] static constexpr zrt::Span<const zrt::device::UploadFunctions> weight_types() noexcept {
    return zrt::device::kUploads;
  }
  [[nodiscard]] zrt::Span<const zrt::device::KernelSignature> signatures() const noexcept { return signatures_.span(); }
  [[nodiscard]] static zrt::CheckedSize command_bytes(const zrt::device::StepRecord& record) noexcept {
    return zrt::CheckedSize(record.launches.size()) * sizeof(Command);
  }
  [[nodiscard]] Result<void> make_commands(const zrt::device::PlacedStep<Memory>& step, Commands& to) noexcept {
    auto* const list = reinterpret_cast<Command*>(step.memory.span().data());
    std::byte* const words = step.words.span().data();
    for (std::size_t i = 0; i < step.record.launches.size(); ++i) {
      const zrt::device::RecordedLaunch& launch = step.record.launches[i];
      list[i] = {step.memory.address() + step.layout.arguments + launch.arguments,
                 step.memory.address() + step.layout.grids + launch.grid * zrt::device::kGridBytes, launch.kernel,
                 launch.barrier ? 1u : 0u, launch.first};
      if (launch.barrier && i != 0)
        if (auto r = to.ends.push_back(i); !r) return r;
    }
    to.list = list;
    to.progress = reinterpret_cast<std::uint32_t*>(words + step.answers.progress);
    if (step.record.times_launches) to.times = reinterpret_cast<std::uint64_t*>(words + step.answers.times);
    return to.ends.push_back(step.record.launches.size());
  }

  // --- the queue: what is handed over runs when somebody waits for it ---
  [[nodiscard]] Result<std::uint64_t> submit(const Commands& commands, std::size_t first, std::size_t end) noexcept {
    if (handed_over_ == options_.refuses) return zrt::fail(Errc::out_of_memory, "the toy takes no more");
    if (auto r = pending_.push_back({&commands, commands.begin_of(first), commands.ends[end - 1]}); !r)
      return zrt::pass(r);
    return ++handed_over_;
  }
  [[nodiscard]] Result<void> wait(std::uint64_t fence) noexcept {
    while (handed_over_ - pending_.size() < fence) {
      const Work work = pending_[0];
      for (std::size_t i = 1; i < pending_.size(); ++i) pending_[i - 1] = pending_[i];
      (void)pending_.resize(pending_.size() - 1);
      const std::uint64_t began = time_;
      if (!run(work)) return zrt::fail(Errc::limit_exceeded, "the toy hangs");
      longest_ = std::max(longest_, time_ - began);
      if (time_ - began > options_.watchdog) return zrt::fail(Errc::device_lost, "the toy's driver has had enough");
    }
    return {};
  }
  [[nodiscard]] zrt::device::Pace& pace() noexcept { return pace_; }
  [[nodiscard]] std::uint64_t now() const noexcept { return time_; }
  [[nodiscard]] std::uint32_t most_groups() const noexcept { return options_.most_groups; }
  [[nodiscard]] std::uint32_t clock_bits() const noexcept { return options_.clock_bits; }
  [[nodiscard]] Result<std::uint32_t> clock_rate() noexcept { return 1000u; }
  [[nodiscard]] const zrt::Allocator& allocator() const noexcept { return allocator_; }

  /// Launches that have run, and pieces that were handed over.
  [[nodiscard]] std::size_t launches() const noexcept { return launches_; }
  [[nodiscard]] std::uint64_t submissions() const noexcept { return handed_over_; }
  /// Nanoseconds of the submission that took longest.
  [[nodiscard]] std::uint64_t longest() const noexcept { return longest_; }
  /// Bytes that were copied to the host.
  [[nodiscard]] std::uint64_t copied_out() const noexcept { return copied_out_; }

 private:
  struct Work {
    const Commands* commands;
    std::size_t begin, end;
  };

  [[nodiscard]] std::uint64_t tick() noexcept {
    return (options_.clock_begin + ++clock_) & ~std::uint64_t{0} >> (64 - options_.clock_bits);
  }
  /// False where it hangs.
  [[nodiscard]] bool run(const Work& work) noexcept {
    const Commands& c = *work.commands;
    if (work.begin == 0 && c.times != nullptr) c.times[0] = tick();
    for (std::size_t at = work.begin; at < work.end;) {
      std::size_t next = at + 1;
      while (next < work.end && c.list[next].barrier == 0) ++next;
      *c.progress = zrt::device::position_before(at);
      // Launches that no barrier parts may run in any order: the last runs first.
      for (std::size_t i = next; i-- > at;)
        if (!run(c.list[i])) return false;
      for (std::size_t i = at; i < next && c.times != nullptr; ++i) c.times[i + 1] = tick();
      at = next;
    }
    *c.progress = zrt::device::position_before(work.end);
    return true;
  }
  [[nodiscard]] bool run(const Command& command) noexcept {
    if (launches_ == options_.hangs_before) return false;
    ++launches_;
    const Kernel& kernel = kKernels[command.kernel];
    const auto* const grid = reinterpret_cast<const std::uint32_t*>(byte_at(command.grid));
    if (grid[0] > options_.most_groups) return false;
    Group group{byte_at(command.arguments), kernel.signature.buffers};
    for (group.y = 0; group.y < grid[1]; ++group.y)
      for (group.x = command.first; group.x < command.first + grid[0]; ++group.x) kernel.run(group);
    time_ += options_.group_time * grid[0] * grid[1];
    return true;
  }

  zrt::Allocator allocator_;
  DeviceOptions options_;
  std::uint64_t time_ = 0;
  std::uint64_t longest_ = 0;
  zrt::device::Pace pace_;
  zrt::device::WeightStore<Memory> weights_;
  zrt::Vector<Work> pending_;
  zrt::Vector<zrt::device::KernelSignature> signatures_;
  std::uint64_t handed_over_ = 0;
  std::uint64_t copied_out_ = 0;
  std::uint64_t clock_ = 0;
  std::size_t launches_ = 0;
};
static_assert(zrt::device::CheckRecordedDevice<Device>::kOk && zrt::device::RecordedDevice<Device>);

struct Backend {
  static constexpr std::string_view name = "toy";
  using Tensor = zrt::device::Tensor;
  using Weight = zrt::device::Weight;
  using State = zrt::device::State;
  using Scratch = zrt::device::Scratch;
  using Device = toy_gpu::Device;
  using DeviceOptions = toy_gpu::DeviceOptions;
  using Memory = toy_gpu::Memory;
  using Program = zrt::device::StepProgram<Device>;
  using Recorder = zrt::device::DeviceRecorder<Program, Device>;
  using Claims = zrt::device::Claims;
  using Unsupported = zrt::device::Unsupported;
};

}  // namespace toy_gpu

namespace zrt::inline ZRT_ABI {

template <class O>
  requires device::RecordsDispatches<O>
struct Adapter<toy_gpu::Backend, O> : device::SharedAdapter<toy_gpu::Backend, O> {};

static_assert(CheckBackend<toy_gpu::Backend, ops::Catalog>::kOk);

}  // namespace zrt::inline ZRT_ABI
