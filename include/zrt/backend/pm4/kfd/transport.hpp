// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/transport.hpp: a compute queue of /dev/kfd that takes packets and tells when they are done.
#pragma once

#include <zrt/backend/pm4/fenced_ring.hpp>
#include <zrt/backend/pm4/kfd/event_page.hpp>
#include <zrt/backend/pm4/kfd/saved_queue.hpp>

namespace zrt::inline ZRT_ABI::pm4::kfd {

using pm4::TransportOptions;

/// What the kernel knows of a queue that does not go on, by its events.
template <OperatingSystem Os> struct Losses {
  const Device<Os>* device = nullptr;
  SignalEvent<Os> signal;
  Event<Os> memory;
  Event<Os> exception;

  /// The packet behind which the queue's process is woken.
  [[nodiscard]] ReleaseMem interrupt() const noexcept {
    return {.address = signal.slot,
            .value = signal.event.id(),
            .interrupt = ReleaseInterrupt::after_write,
            .context = signal.event.id()};
  }
  /// Sleeps until that packet was executed, or there is something to tell. Errors as system_failure().
  [[nodiscard]] Result<void> sleep(std::uint32_t milliseconds) const noexcept {
    return wait_for_any(*device, std::array{&signal.event, &memory, &exception}, milliseconds);
  }

  [[nodiscard]] Result<void> operator()(std::uint64_t fence) const noexcept {
    EventData data;
    if (const auto faulted = memory.signalled(data); faulted && *faulted)
      return fail(Errc::spec_violation, "the GPU touched memory at ", std::string_view(Hex(data.fault.address)),
                  data.fault.not_present != 0  ? " that is not mapped"
                  : data.fault.read_only != 0  ? " that is not writable"
                  : data.fault.no_execute != 0 ? " that is not executable"
                                               : " that it may not",
                  data.fault.imprecise != 0 ? " (or near it)" : "", "; fence ", fence, " is lost");
    if (const auto reset = exception.signalled(data); reset && *reset)
      return fail(Errc::unsupported_device, "the GPU was reset; fence ", fence, " is lost");
    return {};
  }
};

/// One compute queue; move-only. The device outlives it. See FencedRing for submit() and wait().
template <OperatingSystem Os> class Transport : public FencedRing<Os, Losses<Os>> {
 public:
  using Device = kfd::Device<Os>;
  using Memory = kfd::Memory<Os>;

  /// Makes the queue with its buffers, each of the size that the kernel compares.
  ///
  /// Errors: Errc::invalid_argument for a ring of another size; those of Memory, SignalEvent, Event,
  /// SavedQueue.
  [[nodiscard]] static Result<Transport> open(const Device& device, const TransportOptions& options = {}) noexcept {
    if (auto r = check(options); !r) return pass(r);
    const GpuNode& node = device.node();
    auto ring = Memory::allocate(device, Heap::host_visible, options.ring_bytes, GpuAccess::read);
    if (!ring) return pass(ring);
    // A page for each pointer: the queue only reads the one.
    auto write_pointer = Memory::allocate(device, Heap::host_visible, kPageBytes, GpuAccess::read);
    if (!write_pointer) return pass(write_pointer);
    auto read_pointer = Memory::allocate(device, Heap::host_visible, kPageBytes, GpuAccess::read_write);
    if (!read_pointer) return pass(read_pointer);
    auto fence = Memory::allocate(device, Heap::host_visible, kPageBytes, GpuAccess::read_write);
    if (!fence) return pass(fence);
    auto eop = Memory::allocate(device, Heap::device_local, kEopBytes, GpuAccess::read_write);
    if (!eop) return pass(eop);
    auto signal_event = SignalEvent<Os>::create(device);
    if (!signal_event) return pass(signal_event);
    auto memory_event = Event<Os>::create(device, EventType::memory);
    if (!memory_event) return pass(memory_event);
    auto exception_event = Event<Os>::create(device, EventType::hw_exception);
    if (!exception_event) return pass(exception_event);
    constexpr std::uint32_t all_of_it = 100, usual_priority = 7;
    const CreateQueue arguments{.ring_base_address = ring->address(),
                                .write_pointer_address = write_pointer->address(),
                                .read_pointer_address = read_pointer->address(),
                                .ring_size = static_cast<std::uint32_t>(options.ring_bytes),
                                .gpu_id = node.gpu_id,
                                .queue_type = QueueType::compute,
                                .queue_percentage = all_of_it,
                                .queue_priority = usual_priority,
                                .eop_buffer_address = eop->address(),
                                .eop_buffer_size = kEopBytes};
    auto saved = SavedQueue<Os>::create(device, arguments);
    if (!saved) return pass(saved);
    const Queue<Os>& queue = saved->queue;
    const std::uint64_t in_page = queue.doorbell_offset() & (kDoorbellBytes - 1);
    auto doorbells = Mapping<Os>::make(device.os(),
                                       {.bytes = kDoorbellBytes,
                                        .protection = Protection::read_write,
                                        .file = device.calls_file(),
                                        .offset = queue.doorbell_offset() - in_page},
                                       "doorbells");
    if (!doorbells) return pass(doorbells);
    auto* const dwords = reinterpret_cast<std::uint32_t*>(ring->span().data());
    auto view = Ring::over({dwords, static_cast<std::size_t>(options.ring_bytes / 4)},
                           reinterpret_cast<std::uint64_t*>(write_pointer->span().data()),
                           reinterpret_cast<volatile std::uint64_t*>(doorbells->span().data() + in_page));
    if (!view) return pass(view);
    FencedRing<Os, Losses<Os>> fenced(
        device.os(),
        {.ring = *view,
         .fence = reinterpret_cast<const std::uint64_t*>(fence->span().data()),
         .fence_address = fence->address(),
         .read_pointer = reinterpret_cast<const std::uint64_t*>(read_pointer->span().data()),
         .queue = queue.id(),
         .generation = device.target().generation,
         .timeout = options.timeout},
        Losses<Os>{&device, std::move(*signal_event), std::move(*memory_event), std::move(*exception_event)});
    return Transport(device, std::move(fenced), std::move(*ring), std::move(*write_pointer), std::move(*read_pointer),
                     std::move(*fence), std::move(*eop), std::move(*saved), std::move(*doorbells));
  }

  /// The packet that executes a buffer of packets, in the form that this queue takes.
  [[nodiscard]] static constexpr IndirectBuffer indirect_buffer(std::uint64_t address, std::uint32_t dwords) noexcept {
    return {.address = address, .dwords = dwords};
  }

  [[nodiscard]] const Device& device() const noexcept { return *device_; }

  /// Calls `visit(memory)` for each piece of memory that the queue holds.
  template <class Visit> void for_each_memory(const Visit& visit) const {
    for (const Memory* memory : {&ring_memory_, &write_pointer_, &read_pointer_, &fence_, &eop_, &saved_.save})
      visit(*memory);
  }

 private:
  static constexpr std::uint64_t kDoorbellBytes = 0x2000;

  Transport(const Device& device, FencedRing<Os, Losses<Os>> fenced, Memory ring_memory, Memory write_pointer,
            Memory read_pointer, Memory fence, Memory eop, SavedQueue<Os> saved, Mapping<Os> doorbells) noexcept
      : FencedRing<Os, Losses<Os>>(std::move(fenced)),
        device_(&device),
        ring_memory_(std::move(ring_memory)),
        write_pointer_(std::move(write_pointer)),
        read_pointer_(std::move(read_pointer)),
        fence_(std::move(fence)),
        eop_(std::move(eop)),
        saved_(std::move(saved)),
        doorbells_(std::move(doorbells)) {}

  const Device* device_;
  // In the order in which they are made; they go in the opposite one, the queue before its buffers.
  Memory ring_memory_;
  Memory write_pointer_;
  Memory read_pointer_;
  Memory fence_;
  Memory eop_;
  SavedQueue<Os> saved_;
  Mapping<Os> doorbells_;
};

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
