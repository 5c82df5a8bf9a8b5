// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/transport.hpp: a compute queue of /dev/kfd that takes packets and tells when they are done.
#pragma once

#include <zrt/backend/pm4/decode.hpp>
#include <zrt/backend/pm4/dispatch.hpp>
#include <zrt/backend/pm4/kfd/memory.hpp>
#include <zrt/backend/pm4/kfd/queue.hpp>
#include <zrt/backend/pm4/ring.hpp>

namespace zrt::inline ZRT_ABI::pm4::kfd {

struct TransportOptions {
  std::uint64_t ring_bytes = std::uint64_t{1} << 20;          ///< a power of two, from 4096
  std::uint64_t timeout = std::uint64_t{10} * 1'000'000'000;  ///< nanoseconds that submit() waits for room
};

/// One compute queue; move-only, used by one thread at a time. The device outlives it.
///
/// Its fences are positions of its ring: the fence behind a submission has the position where the submission ends, 64
/// bits that never repeat, so a fence that was passed says how much of the ring is free. submit() and wait() make no
/// system call.
template <OperatingSystem Os> class Transport {
 public:
  /// Makes the queue with its buffers, each of the size that the kernel compares.
  ///
  /// Errors: Errc::invalid_argument for a ring of another size; those of context_save(), Memory, Queue, Event.
  [[nodiscard]] static Result<Transport> open(const Device<Os>& device, const TransportOptions& options = {}) noexcept {
    if (!std::has_single_bit(options.ring_bytes) || options.ring_bytes < kPageBytes ||
        options.ring_bytes > std::uint64_t{1} << 31)
      return fail(Errc::invalid_argument, "a ring of ", options.ring_bytes,
                  " bytes, a power of two from 4096 to 2^31 expected");
    const Node& node = device.node();
    auto save_area = context_save(node.queue());
    if (!save_area) return pass(save_area);
    if (node.cwsr_size != 0) save_area->save_bytes = node.cwsr_size;
    if (node.ctl_stack_size != 0) save_area->ctl_stack_bytes = node.ctl_stack_size;
    auto ring = Memory<Os>::allocate(device, Heap::host_visible, options.ring_bytes, Access::read);
    if (!ring) return pass(ring);
    auto words = Memory<Os>::allocate(device, Heap::host_visible, kPageBytes, Access::read_write);
    if (!words) return pass(words);
    auto fence = Memory<Os>::allocate(device, Heap::host_visible, kPageBytes, Access::read_write);
    if (!fence) return pass(fence);
    auto eop = Memory<Os>::allocate(device, Heap::device_local, kEopBytes, Access::read_write);
    if (!eop) return pass(eop);
    auto save = Memory<Os>::allocate(device, Heap::device_local, save_area->mapping_bytes, Access::read_write);
    if (!save) return pass(save);
    auto memory_event = Event<Os>::create(device, EventType::memory);
    if (!memory_event) return pass(memory_event);
    auto exception_event = Event<Os>::create(device, EventType::hw_exception);
    if (!exception_event) return pass(exception_event);
    constexpr std::uint32_t all_of_it = 100, usual_priority = 7;
    auto queue = Queue<Os>::create(device, {.ring_base_address = ring->address(),
                                            .write_pointer_address = words->address() + kWritePointerAt,
                                            .read_pointer_address = words->address(),
                                            .ring_size = static_cast<std::uint32_t>(options.ring_bytes),
                                            .gpu_id = node.gpu_id,
                                            .queue_type = QueueType::compute,
                                            .queue_percentage = all_of_it,
                                            .queue_priority = usual_priority,
                                            .eop_buffer_address = eop->address(),
                                            .eop_buffer_size = kEopBytes,
                                            .ctx_save_restore_address = save->address(),
                                            .ctx_save_restore_size = save_area->save_bytes,
                                            .ctl_stack_size = save_area->ctl_stack_bytes});
    if (!queue) return pass(queue);
    const std::uint64_t in_page = queue->doorbell_offset() & (kDoorbellBytes - 1);
    auto doorbells = Mapping<Os>::make(device.os(),
                                       {.bytes = kDoorbellBytes,
                                        .protection = Protection::read_write,
                                        .file = device.calls_file(),
                                        .offset = queue->doorbell_offset() - in_page},
                                       "doorbells");
    if (!doorbells) return pass(doorbells);
    auto* const dwords = reinterpret_cast<std::uint32_t*>(ring->span().data());
    auto view = Ring::over({dwords, static_cast<std::size_t>(options.ring_bytes / 4)},
                           reinterpret_cast<std::uint64_t*>(words->span().data() + kWritePointerAt),
                           reinterpret_cast<volatile std::uint64_t*>(doorbells->span().data() + in_page));
    if (!view) return pass(view);
    return Transport(device, options, *view, std::move(*ring), std::move(*words), std::move(*fence), std::move(*eop),
                     std::move(*save), std::move(*memory_event), std::move(*exception_event), std::move(*queue),
                     std::move(*doorbells));
  }

  /// Hands packets to the queue, with a fence behind them; returns the fence for wait(). Waits for room where the ring
  /// is full.
  ///
  /// Errors: Errc::capacity_exceeded for packets that the whole ring cannot hold; those of wait().
  [[nodiscard]] Result<std::uint64_t> submit(std::span<const std::uint32_t> packets) noexcept {
    if (!lost_) return pass(lost_);
    if (packets.size() > ring_.size() - kFenceDwords)
      return fail(Errc::capacity_exceeded, packets.size(), " dwords of packets and a fence of ", kFenceDwords,
                  " are submitted to a ring of ", ring_.size());
    const std::size_t needed = packets.size() + kFenceDwords;
    if (ring_.room() < needed) {
      // The end of that submission after which there is room; its fence may be a later one.
      const std::uint64_t enough = ring_.position() + needed - ring_.size();
      if (auto r = wait(enough, options_.timeout); !r) return pass(r);
    }
    const std::uint64_t fence = ring_.position() + needed;
    if (auto r = ring_.write(packets); !r) return pass(r);
    if (auto r = ring_.write(fence_packet(fence).span()); !r) return pass(r);
    ring_.publish();
    return fence;
  }

  /// True when everything before `fence` is done and visible to the host.
  [[nodiscard]] bool passed(std::uint64_t fence) const noexcept { return last_passed() >= fence; }
  /// The last fence that was passed; 0 before the first.
  [[nodiscard]] std::uint64_t last_passed() const noexcept {
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(fence_.span().data()), __ATOMIC_ACQUIRE);
  }

  /// Waits until `fence` is passed, at most `timeout` nanoseconds.
  ///
  /// Errors: Errc::invalid_argument for a fence that nothing submitted will write; spec_violation where the GPU touched
  /// memory that it may not; unsupported_device where it was reset; limit_exceeded after the timeout, with the ring's
  /// write and read pointers, the last fence that was passed and the packets behind it. After one of the last three the
  /// queue takes nothing more: close it.
  [[nodiscard]] Result<void> wait(std::uint64_t fence, std::uint64_t timeout) noexcept {
    if (!lost_) return lost_;
    if (fence > ring_.published())
      return fail(Errc::invalid_argument, "fence ", fence, " is waited for, ", ring_.published(), " is the last one");
    Os& os = device_->os();
    const std::uint64_t start = os.now();
    while (!passed(fence)) {
      if (os.now() - start >= timeout) {
        // Once more: the thread may have slept since its last look.
        if (passed(fence)) break;
        lost_ = why_not(fence, timeout);
        return lost_;
      }
      os.pause();
    }
    return ring_.release(last_passed());
  }

  /// Calls `visit(const PacketView&)` for the packets of the ring behind the last fence that was passed, `visit(Error)`
  /// for one that cannot be read; at most a page of dwords.
  template <class Visit> void for_each_pending(Visit&& visit) const noexcept {
    std::array<std::uint32_t, 1024> words{};
    const std::size_t count = ring_.copy_from(last_passed(), words);
    PacketReader reader(std::span<const std::uint32_t>(words).first(count), device_->target().generation);
    while (!reader.done()) {
      const auto packet = reader.next();
      if (packet)
        visit(*packet);
      else
        visit(packet.error());
    }
  }

  [[nodiscard]] const Device<Os>& device() const noexcept { return *device_; }
  [[nodiscard]] const Ring& ring() const noexcept { return ring_; }

 private:
  // The read pointer lies at the start of its page, the write pointer on a cache line of its own.
  static constexpr std::uint64_t kWritePointerAt = 128;
  static constexpr std::uint64_t kDoorbellBytes = 0x2000;

  Transport(const Device<Os>& device, const TransportOptions& options, const Ring& ring, Memory<Os> ring_memory,
            Memory<Os> pointers, Memory<Os> fence, Memory<Os> eop, Memory<Os> save, Event<Os> memory_event,
            Event<Os> exception_event, Queue<Os> queue, Mapping<Os> doorbells) noexcept
      : device_(&device),
        options_(options),
        ring_(ring),
        ring_memory_(std::move(ring_memory)),
        pointers_(std::move(pointers)),
        fence_(std::move(fence)),
        eop_(std::move(eop)),
        save_(std::move(save)),
        memory_event_(std::move(memory_event)),
        exception_event_(std::move(exception_event)),
        queue_(std::move(queue)),
        doorbells_(std::move(doorbells)) {}

  [[nodiscard]] FixedStream<kFenceDwords> fence_packet(std::uint64_t value) const noexcept {
    const ReleaseMem fence{.address = fence_.address(), .value = value};
    if (device_->target().generation == Generation::gfx11) return stream_of<Gfx1100, kFenceDwords>(fence);
    return stream_of<Gfx1201, kFenceDwords>(fence);
  }

  [[nodiscard]] Result<void> why_not(std::uint64_t fence, std::uint64_t timeout) const noexcept {
    EventData data;
    if (const auto faulted = memory_event_.signalled(data); faulted && *faulted)
      return fail(Errc::spec_violation, "the GPU touched memory at ", std::string_view(Hex(data.fault.address)),
                  data.fault.not_present != 0  ? " that is not mapped"
                  : data.fault.read_only != 0  ? " that is not writable"
                  : data.fault.no_execute != 0 ? " that is not executable"
                                               : " that it may not",
                  data.fault.imprecise != 0 ? " (or near it)" : "", "; fence ", fence, " is lost");
    if (const auto reset = exception_event_.signalled(data); reset && *reset)
      return fail(Errc::unsupported_device, "the GPU was reset; fence ", fence, " is lost");
    auto error = Error::of(Errc::limit_exceeded, "queue ", queue_.id(), " has not passed fence ", fence, " in ",
                           timeout / 1'000'000, " ms: written ", ring_.published(), ", read ", read_pointer(), " of ",
                           ring_.size(), " dwords, last fence ", last_passed(), ", behind it");
    for_each_pending([&]<class Found>(const Found& found) {
      if constexpr (std::is_same_v<Found, PacketView>)
        error.append(' ').append(found.kind->name);
      else
        error.append(" (unreadable)");
    });
    return std::unexpected<Error>(error);
  }
  /// What the queue reports: modulo the ring, and late.
  [[nodiscard]] std::uint64_t read_pointer() const noexcept {
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(pointers_.span().data()), __ATOMIC_ACQUIRE);
  }

  const Device<Os>* device_;
  TransportOptions options_;
  Ring ring_;
  Result<void> lost_{};
  // In the order in which they are made; they go in the opposite one, the queue before its buffers.
  Memory<Os> ring_memory_;
  Memory<Os> pointers_;
  Memory<Os> fence_;
  Memory<Os> eop_;
  Memory<Os> save_;
  Event<Os> memory_event_;
  Event<Os> exception_event_;
  Queue<Os> queue_;
  Mapping<Os> doorbells_;
};

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
