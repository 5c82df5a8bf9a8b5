// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/emulator/kfd/queues.hpp: the queues that a process has on the modelled GPU through /dev/kfd.
#pragma once

#include <zrt/backend/pm4/emulator/kfd/events.hpp>
#include <zrt/backend/pm4/emulator/ring_queue.hpp>
#include <zrt/core/owned.hpp>

namespace zrt::inline ZRT_ABI::pm4::emulator {

/// Queues with their doorbells.
///
/// A queue looks at its doorbell when advance() is called; stopped() says why one stopped.
class Queues {
 public:
  static constexpr std::uint64_t kDoorbellBytes = 0x2000;

  Queues(const Card& card, Buffers& buffers, Events& events, Refusal& refuse, GridHook grids,
         const Allocator& allocator) noexcept
      : card_(card),
        buffers_(buffers),
        events_(events),
        refuse_(refuse),
        grids_(grids),
        allocator_(allocator),
        queues_(allocator) {}

  [[nodiscard]] SystemValue create(kfd::CreateQueue& c) noexcept {
    if (const SystemValue r = check(c); r != 0) return r;
    if (const SystemValue r = check_buffers(c); r != 0) return r;
    auto queue = Owned<Queue>::make(allocator_, buffers_.memory(), *card_.target, allocator_);
    if (!queue || queues_.size() == kSlots ||
        !(*queue)->ring.open(next_, {.ring = c.ring_base_address,
                                     .bytes = c.ring_size,
                                     .write_pointer = c.write_pointer_address,
                                     .read_pointer = c.read_pointer_address}))
      return refuse_(ENOMEM, "CREATE_QUEUE: the model has no memory, or no doorbell is left");
    Queue& q = **queue;
    q.slot = free_slot();
    q.made = c;
    doorbells_[q.slot] = 0;
    if (!queues_.push_back(std::move(*queue))) return refuse_(ENOMEM, "CREATE_QUEUE: the model has no memory");
    ++next_;
    c.queue_id = q.ring.id();
    c.doorbell_offset = doorbell_base() + q.slot * 8;
    return 0;
  }

  [[nodiscard]] SystemValue destroy(const kfd::DestroyQueue& d) noexcept {
    for (Owned<Queue>& queue : queues_) {
      if (queue->ring.id() != d.queue_id) continue;
      queue = std::move(queues_.back());
      queues_.pop_back();
      return 0;
    }
    return refuse_(EINVAL, "DESTROY_QUEUE: there is no queue ", d.queue_id);
  }

  /// The page of the doorbells, for whoever maps it with the file of the calls.
  [[nodiscard]] SystemValue map_doorbells(const MapRequest& m) noexcept {
    if (m.offset != doorbell_base() || m.bytes != kDoorbellBytes || m.address != 0)
      return refuse_(EINVAL, "mmap: ", m.bytes, " bytes at offset ", hex(m.offset).view(), " are not the doorbells");
    return static_cast<SystemValue>(reinterpret_cast<std::uintptr_t>(doorbells_.data()));
  }
  [[nodiscard]] bool are_doorbells(std::uint64_t address) const noexcept {
    return address == static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(doorbells_.data()));
  }

  /// A queue whose ring, pages or save area are taken away leaves the chip.
  void evict_users_of(std::uint64_t address) noexcept {
    for (Owned<Queue>& queue : queues_)
      for (const std::uint64_t used : {queue->made.ring_base_address, page_of(queue->made.write_pointer_address),
                                       page_of(queue->made.read_pointer_address), queue->made.eop_buffer_address,
                                       queue->made.ctx_save_restore_address})
        if (used == address && !queue->ring.stopped())
          stop(*queue, Error::of(Errc::spec_violation, "a buffer of queue ", queue->ring.id(), " at ",
                                 hex(address).view(), " was taken away"));
  }

  void lose_next_fence() noexcept {
    for (Owned<Queue>& queue : queues_) queue->ring.processor().lose_next_fence();
  }

  /// The GPU is reset: what its queues had to do and its memory are lost, and their processes are told.
  void reset() noexcept {
    buffers_.lose_video();
    for (Owned<Queue>& queue : queues_) stop(*queue, Error::of(Errc::unsupported_device, "the GPU was reset"));
    events_.raise(kfd::EventType::hw_exception, {});
  }

  /// Lets every queue execute up to its next fence. Whether some packet was executed.
  bool advance() noexcept {
    bool any = false;
    for (Owned<Queue>& queue : queues_) {
      const std::uint64_t packets = queue->ring.counters().packets;
      advance(*queue);
      any = any || queue->ring.counters().packets != packets;
    }
    return any;
  }

  /// Why the last queue that stopped did; empty while none has.
  [[nodiscard]] std::string_view stopped() const noexcept { return why_stopped_.text(); }
  /// The last access that memory did not allow.
  [[nodiscard]] const QueueFault& fault() const noexcept { return fault_; }
  [[nodiscard]] std::size_t count() const noexcept { return queues_.size(); }
  [[nodiscard]] std::uint64_t doorbells_rung() const noexcept { return rung_; }
  /// What all queues have done, those that were destroyed left out.
  [[nodiscard]] QueueCounters counters() const noexcept {
    QueueCounters all;
    for (const Owned<Queue>& queue : queues_) all += queue->ring.counters();
    return all;
  }

 private:
  struct Queue {
    Queue(const AddressSpace& memory, const TargetFacts& target, const Allocator& allocator) noexcept
        : ring(memory, target, allocator) {}
    std::size_t slot = 0;
    kfd::CreateQueue made{};
    RingQueue ring;
  };
  static constexpr std::size_t kSlots = kDoorbellBytes / 8;

  [[nodiscard]] static std::uint64_t page_of(std::uint64_t address) noexcept { return address & ~(kPageBytes - 1); }
  [[nodiscard]] std::uint64_t doorbell_base() const noexcept {
    return std::uint64_t{3} << 62 | std::uint64_t{card_.gpu_id & 0xffffu} << 46;
  }
  [[nodiscard]] std::size_t free_slot() const noexcept {
    for (std::size_t slot = 0;; ++slot) {
      bool taken = false;
      for (const Owned<Queue>& queue : queues_) taken = taken || queue->slot == slot;
      if (!taken) return slot;
    }
  }

  /// What every kernel compares.
  [[nodiscard]] SystemValue check(kfd::CreateQueue& c) noexcept {
    if (c.doorbell_offset != 0 || c.queue_id != 0 || c.sdma_engine_id != 0 || c.pad != 0)
      return refuse_(EINVAL, "CREATE_QUEUE: fields that come out, or that mean nothing, are not 0");
    if (c.gpu_id != card_.gpu_id) return refuse_(EINVAL, "CREATE_QUEUE: there is no GPU ", c.gpu_id);
    if (c.queue_type != kfd::QueueType::compute)
      return refuse_(EINVAL, "CREATE_QUEUE: type ", static_cast<std::uint32_t>(c.queue_type),
                     " is not modelled, packets need 0");
    if ((c.queue_percentage & 0xffu) > 100 || c.queue_percentage >> 8 != 0)
      return refuse_(EINVAL, "CREATE_QUEUE: percentage ", c.queue_percentage, ", at most 100 expected");
    constexpr std::uint32_t most_priority = 15;
    if (c.queue_priority > most_priority)
      return refuse_(EINVAL, "CREATE_QUEUE: priority ", c.queue_priority, ", at most 15 expected");
    if (!std::has_single_bit(c.ring_size))
      return refuse_(EINVAL, "CREATE_QUEUE: a ring of ", c.ring_size, " bytes, a power of two expected");
    if (c.ring_size < card_.kernel.least_ring) c.ring_size = card_.kernel.least_ring;
    return 0;
  }

  /// The buffers: newer kernels compare their sizes, a card faults where they are too small.
  [[nodiscard]] SystemValue check_buffers(const kfd::CreateQueue& c) noexcept {
    const auto area = kfd::context_save(card_.node().queue());
    if (!area) return refuse_(EINVAL, "CREATE_QUEUE: ", area.error().text());
    if (c.ctl_stack_size != area->ctl_stack_bytes || c.ctx_save_restore_size != area->save_bytes)
      return refuse_(EINVAL, "CREATE_QUEUE: save area of ", c.ctx_save_restore_size, " bytes, stack ", c.ctl_stack_size,
                     ", ", area->save_bytes, " and ", area->ctl_stack_bytes, " expected");
    if (c.eop_buffer_size != kfd::kEopBytes)
      return refuse_(EINVAL, "CREATE_QUEUE: an EOP buffer of ", c.eop_buffer_size, " bytes, 4096 expected");
    if (c.write_pointer_address % 8 != 0 || c.read_pointer_address % 8 != 0)
      return refuse_(EINVAL, "CREATE_QUEUE: a pointer's address is no multiple of 8");
    const struct {
      std::string_view name;
      std::uint64_t address, bytes;
      Permission permission;
    } buffers[] = {
        {"ring", c.ring_base_address, c.ring_size, Permission::read},
        {"page of the write pointer", page_of(c.write_pointer_address), kPageBytes, Permission::read},
        {"page of the read pointer", page_of(c.read_pointer_address), kPageBytes, Permission::write},
        {"EOP buffer", c.eop_buffer_address, kfd::kEopBytes, Permission::read | Permission::write},
        {"save area", c.ctx_save_restore_address, area->mapping_bytes, Permission::read | Permission::write},
    };
    for (const auto& buffer : buffers) {
      const BufferObject* const object = buffers_.mapped_at(buffer.address);
      if (object == nullptr)
        return refuse_(EINVAL, "CREATE_QUEUE: no mapping begins at the ", buffer.name, ", ",
                       hex(buffer.address).view());
      if (card_.kernel.compares_sizes ? object->bytes != buffer.bytes : object->bytes < buffer.bytes)
        return refuse_(EINVAL, "CREATE_QUEUE: the mapping of the ", buffer.name, " has ", object->bytes, " bytes, ",
                       buffer.bytes, " expected");
      if (const auto r = buffers_.memory().at(buffer.address, buffer.bytes, buffer.permission); !r)
        return refuse_(EINVAL, "CREATE_QUEUE: the ", buffer.name, ": ", r.error().text());
    }
    return 0;
  }

  void advance(Queue& q) noexcept {
    const std::uint64_t interrupts = q.ring.counters().interrupts, rung = q.ring.doorbells_rung();
    const auto ran = q.ring.advance(__atomic_load_n(&doorbells_[q.slot], __ATOMIC_ACQUIRE), grids_);
    rung_ += q.ring.doorbells_rung() - rung;
    if (q.ring.counters().interrupts != interrupts) events_.interrupt();
    if (ran) return;
    why_stopped_ = ran.error();
    if (q.ring.fault().happened()) tell(q.ring.fault());
  }

  /// The event of an access that memory does not allow; as the kernel's, it names the page.
  void tell(const QueueFault& fault) noexcept {
    fault_ = fault;
    const AccessFault& access = fault.access;
    events_.raise(kfd::EventType::memory,
                  {.not_present = access.mapped ? 0u : 1u,
                   .read_only = access.mapped && access.wanted != Permission::execute ? 1u : 0u,
                   .no_execute = access.mapped && access.wanted == Permission::execute ? 1u : 0u,
                   .address = page_of(access.address),
                   .gpu_id = card_.gpu_id});
  }

  void stop(Queue& q, const Error& why) noexcept {
    q.ring.stop();
    why_stopped_ = why;
  }

  const Card& card_;
  Buffers& buffers_;
  Events& events_;
  Refusal& refuse_;
  GridHook grids_;
  Allocator allocator_;
  Vector<Owned<Queue>> queues_;
  Error why_stopped_{};
  QueueFault fault_{};
  std::uint32_t next_ = 0;
  std::uint64_t rung_ = 0;
  alignas(64) std::array<std::uint64_t, kSlots> doorbells_{};
};

}  // namespace zrt::inline ZRT_ABI::pm4::emulator
