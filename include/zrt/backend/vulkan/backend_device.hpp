// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/backend_device.hpp: an opened Vulkan device as a backend's: memory, weights, kernels and a queue.
#pragma once

#include <zrt/backend/vulkan/numerics_probe.hpp>
#include <zrt/backend/vulkan/self_test.hpp>
#include <zrt/backend/vulkan/staging.hpp>
#include <zrt/backend/vulkan/step_commands.hpp>
#include <zrt/device/served_device.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// What a host hands to an engine on a Vulkan device.
template <VulkanLoader Loader> struct DeviceOptions {
  [[no_unique_address]] Loader loader{};
  KernelFiles kernels{};  ///< outlive the engine
  DeviceChoice device{};
  std::uint64_t step_timeout =
      std::uint64_t{600} * 1'000'000'000;  ///< nanoseconds that a step, or a piece of one, may take
  SelfTest self_test = SelfTest::on_gpu;   ///< kernels are tried, each on a small case, before the engine opens
  /// Nanoseconds that a submission is to take at most, as drivers end what takes too long. A step of more is handed over
  /// in pieces, between which a stop ends it.
  std::uint64_t piece_time = 100'000'000;
};

/// A Vulkan device with its queue, opened by ready().
template <VulkanLoader Loader> class BackendDevice : public device::ServedDevice<BackendDevice<Loader>, Memory> {
 public:
  static constexpr std::string_view kName = "vulkan";
  using Memory = vulkan::Memory;
  using Commands = StepCommands;
  using WeightStore = device::WeightStore<Memory>;

  BackendDevice() noexcept : BackendDevice(system_allocator()) {}
  explicit BackendDevice(const Allocator& allocator, const ThreadHook& = {},
                         const DeviceOptions<Loader>& options = {}) noexcept
      : allocator_(allocator), options_(options), pace_(options.piece_time) {}

  /// Opens the device, probes its numerics, lists the kernels, and tries them where DeviceOptions::self_test says so.
  ///
  /// Errors: Errc::not_found without the probe's kernel; those of Device::open, probe_numerics, PipelineSet and
  /// test_kernels().
  [[nodiscard]] Result<void> ready() noexcept {
    if (opened_) return {};
    auto device = Device::open(allocator_, options_.loader, options_.device);
    if (!device) return pass(device);
    auto opened = Owned<Opened>::make(allocator_, std::move(*device), allocator_, options_.step_timeout);
    if (!opened) return pass(opened);
    Opened& o = **opened;
    if (auto r = probe(o); !r) return r;
    if (auto r = make_copies(o); !r) return r;
    if (auto r = o.kernels.list(options_.kernels); !r) return r;
    const bool tests = options_.self_test == SelfTest::always ||
                       (options_.self_test == SelfTest::on_gpu && !o.device->facts().is_software());
    if (tests)
      if (auto r = test_kernels(*o.device, o.kernels, o.numerics, allocator_); !r) return r;
    opened_ = std::move(*opened);
    return {};
  }

  // --- what the room asks of a device; everything below after ready() ---------------------------------

  [[nodiscard]] Result<Memory> allocate_for(device::MemoryRole use, std::uint64_t bytes) noexcept {
    return Memory::allocate(*opened_->device, heap_of(use), bytes);
  }
  /// Null also where the host would read slowly: copies know how.
  [[nodiscard]] std::byte* host_view(std::uint64_t address) noexcept {
    const auto range = opened_->device->addresses().find(address);
    return range && range->reads_fast && range->seen != nullptr ? range->seen + (address - range->address) : nullptr;
  }
  /// Errors: those of Staging.
  [[nodiscard]] Result<void> copy_in(std::uint64_t address, Span<const std::byte> from) noexcept {
    return opened_->staging.copy_in(address, from);
  }
  [[nodiscard]] Result<void> copy_out(std::uint64_t address, Span<std::byte> to) noexcept {
    return opened_->staging.copy_out(address, to);
  }
  [[nodiscard]] WeightStore& weight_store() noexcept { return opened_->weights; }

  [[nodiscard]] static constexpr Span<const device::UploadFunctions> weight_types() noexcept {
    return device::kAllUploads;
  }
  [[nodiscard]] Span<const device::KernelSignature> signatures() const noexcept {
    return opened_->kernels.signatures();
  }
  /// Command buffers lie in the driver's memory.
  [[nodiscard]] static CheckedSize command_bytes(const device::StepRecord&) noexcept { return 0; }
  /// Errors: those of StepCommands::write.
  [[nodiscard]] Result<void> make_commands(const device::PlacedStep<Memory>& step, StepCommands& to) noexcept {
    return to.write(*opened_->device, opened_->kernels, opened_->numerics, step);
  }
  /// Errors: those of Device::submit.
  [[nodiscard]] Result<std::uint64_t> submit(const StepCommands& commands, std::size_t first,
                                             std::size_t end) noexcept {
    const bool begins = first == 0, ends = end == commands.pieces();
    Staging& staging = opened_->staging;
    const auto fence = opened_->device->submit(commands.of(first, end),
                                               begins ? staging.before() : Span<const VkCommandBufferSubmitInfo>(),
                                               ends ? staging.behind() : Span<const VkCommandBufferSubmitInfo>());
    if (fence) staging.handed_over(*fence, begins, ends);
    return fence;
  }
  /// Errors: those of Device::wait.
  [[nodiscard]] Result<void> wait(std::uint64_t fence) noexcept {
    if (auto r = opened_->device->wait(fence, options_.step_timeout); !r) return r;
    opened_->staging.ended(fence);
    return {};
  }
  // What a step takes along and leaves; see Staging.
  void expect_no_read() noexcept { opened_->staging.expect_no_read(); }
  void expect_read(std::uint64_t address, std::uint64_t bytes, std::uint64_t index = 0) noexcept {
    opened_->staging.expect_read(address, bytes, index);
  }
  [[nodiscard]] const std::byte* written(std::uint64_t address, std::uint64_t bytes) const noexcept {
    return opened_->staging.written(address, bytes);
  }
  [[nodiscard]] bool amend(std::uint64_t address, Span<const std::byte> bytes) noexcept {
    return opened_->staging.amend(address, bytes);
  }
  [[nodiscard]] device::Pace& pace() noexcept { return pace_; }
  [[nodiscard]] static std::uint64_t now() noexcept { return monotonic_clock()(); }
  [[nodiscard]] std::uint32_t most_groups() const noexcept { return opened_->device->facts().most_groups[0]; }
  [[nodiscard]] std::uint32_t clock_bits() const noexcept { return opened_->device->facts().timestamp_bits; }
  /// Errors: Errc::unsupported_device for a queue without a clock.
  [[nodiscard]] Result<std::uint32_t> clock_rate() noexcept {
    const DeviceFacts& facts = opened_->device->facts();
    if (facts.timestamp_bits == 0 || !(facts.timestamp_period > 0.0f))
      return fail(Errc::unsupported_device, "the queue of ", facts.name.view(), " has no clock");
    return static_cast<std::uint32_t>(1e6f / facts.timestamp_period + 0.5f);
  }

  /// Bytes that are left where weights, states and arenas go. Errors: those of choose_memory_type.
  [[nodiscard]] Result<std::uint64_t> bytes_left() const noexcept {
    const auto type = choose_memory_type(opened_->device->memory(), ~0u, Heap::device);
    if (!type) return pass(type);
    return opened_->device->bytes_left(opened_->device->memory().memoryTypes[*type].heapIndex);
  }

  [[nodiscard]] const Allocator& allocator() const noexcept { return allocator_; }
  [[nodiscard]] const DeviceOptions<Loader>& options() const noexcept { return options_; }
  [[nodiscard]] const DeviceFacts& facts() const noexcept { return opened_->device->facts(); }
  /// What the probe found: canonical where every expression has the reference's bits.
  [[nodiscard]] const DeviceNumerics& numerics() const noexcept { return opened_->numerics; }

  /// Calls `visit(what, memory)` for each piece of memory that the device itself holds.
  template <class Visit> void for_each_memory(const Visit& visit) const {
    for (const auto& pool : opened_->weights.pools()) visit(std::string_view("weights"), pool.memory());
  }

 private:
  struct Opened {
    Opened(Owned<Device> opened, const Allocator& a, std::uint64_t timeout) noexcept
        : device(std::move(opened)),
          staging(*device, a, timeout),
          kernels(a),
          weights(a, largest_pool(device->facts())) {}
    Owned<Device> device;
    Pipeline copies;  ///< none where the host sees and reads all
    Staging staging;
    PipelineSet kernels;
    WeightStore weights;
    DeviceNumerics numerics{};
  };

  /// Drivers give allocations of a GiB where larger ones fail, whatever they say.
  [[nodiscard]] static std::uint64_t largest_pool(const DeviceFacts& facts) noexcept {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
    return facts.largest_allocation < kMost ? facts.largest_allocation : kMost;
  }
  [[nodiscard]] static constexpr Heap heap_of(device::MemoryRole use) noexcept {
    if (use == device::MemoryRole::program) return Heap::shared;
    return use == device::MemoryRole::answers ? Heap::for_host : Heap::device;
  }
  /// A kernel of the backend's own, which no plan calls.
  [[nodiscard]] Result<Vector<std::uint32_t>> own_kernel(std::string_view name) const noexcept {
    for (const KernelFile& file : options_.kernels)
      if (file.name == name) return words_of(file, allocator_);
    return fail(Errc::not_found, "no kernel ", name, " is among the ", options_.kernels.size(), " given");
  }
  [[nodiscard]] Result<void> probe(Opened& o) const noexcept {
    const auto words = own_kernel(kProbeName);
    if (!words) return pass(words);
    const auto numerics = probe_numerics(*o.device, words->span());
    if (!numerics) return pass(numerics);
    o.numerics = *numerics;
    return {};
  }
  [[nodiscard]] Result<void> make_copies(Opened& o) const noexcept {
    const auto type = choose_memory_type(o.device->memory(), ~0u, Heap::device);
    if (!type) return pass(type);
    constexpr VkMemoryPropertyFlags reads_all = detail::kSeen | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    if ((o.device->memory().memoryTypes[*type].propertyFlags & reads_all) == reads_all) return {};
    const auto words = own_kernel(kCopyName);
    if (!words) return pass(words);
    auto kernel = Pipeline::make(*o.device, kCopyName, words->span(), o.numerics.constants());
    if (!kernel) return pass(kernel);
    o.copies = std::move(*kernel);
    return o.staging.use(o.copies);
  }

  Allocator allocator_;
  DeviceOptions<Loader> options_;
  device::Pace pace_;
  Owned<Opened> opened_{};
};

}  // namespace zrt::inline ZRT_ABI::vulkan
