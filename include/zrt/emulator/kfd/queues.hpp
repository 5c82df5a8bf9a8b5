// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/kfd/queues.hpp: the queues that a process has on the modelled GPU through /dev/kfd.
#pragma once

#include <zrt/emulator/kfd/events.hpp>
#include <zrt/emulator/queue_set.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// Queues with their doorbells.
class Queues : public QueueSet {
 public:
  static constexpr std::uint64_t kDoorbellBytes = 0x2000;

  Queues(const Card& card, Buffers& buffers, Events& events, SyscallRefusal& refuse, GridHook grids,
         const Allocator& allocator) noexcept
      : QueueSet(card, grids, allocator, 0), card_(card), buffers_(buffers), events_(events), refuse_(refuse) {}

  [[nodiscard]] pm4::SystemValue create(pm4::kfd::CreateQueue& c) noexcept {
    if (const pm4::SystemValue r = check(c); r != 0) return r;
    if (const pm4::SystemValue r = check_buffers(c); r != 0) return r;
    std::uint64_t* const doorbell = free_doorbell();
    const HostedQueue* const queue =
        doorbell == nullptr ? nullptr
                            : add(buffers_.memory(),
                                  {.ring = c.ring_base_address,
                                   .bytes = c.ring_size,
                                   .write_pointer = c.write_pointer_address,
                                   .read_pointer = c.read_pointer_address},
                                  doorbell,
                                  {c.ring_base_address, page_of(c.write_pointer_address),
                                   page_of(c.read_pointer_address), c.eop_buffer_address, c.ctx_save_restore_address});
    if (queue == nullptr) return refuse_(ENOMEM, "CREATE_QUEUE: the model has no memory, or no doorbell is left");
    c.queue_id = queue->ring.id();
    c.doorbell_offset = doorbell_base() + static_cast<std::uint64_t>(doorbell - doorbells_.data()) * 8;
    return 0;
  }

  [[nodiscard]] pm4::SystemValue destroy(const pm4::kfd::DestroyQueue& d) noexcept {
    return remove(d.queue_id) ? 0 : refuse_(EINVAL, "DESTROY_QUEUE: there is no queue ", d.queue_id);
  }

  /// The page of the doorbells, for whoever maps it with the file of the calls.
  [[nodiscard]] pm4::SystemValue map_doorbells(const pm4::MapRequest& m) noexcept {
    if (m.offset != doorbell_base() || m.bytes != kDoorbellBytes || m.address != 0)
      return refuse_(EINVAL, "mmap: ", m.bytes, " bytes at offset ", hex(m.offset).view(), " are not the doorbells");
    return static_cast<pm4::SystemValue>(reinterpret_cast<std::uintptr_t>(doorbells_.data()));
  }
  [[nodiscard]] bool are_doorbells(std::uint64_t address) const noexcept {
    return address == static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(doorbells_.data()));
  }

  /// The GPU is reset: what its queues had to do and its memory are lost, and their processes are told.
  void reset() noexcept {
    buffers_.lose_video();
    stop_all(Error::of(Errc::unsupported_device, "the GPU was reset"));
    events_.raise(pm4::kfd::EventType::hw_exception, {});
  }

  /// Lets every queue execute up to its next fence. Whether some packet was executed.
  bool advance() noexcept {
    return advance_each([this](bool interrupted, bool faulted) noexcept {
      if (interrupted) events_.interrupt();
      if (faulted) tell(fault());
    });
  }

 private:
  static constexpr std::size_t kSlots = kDoorbellBytes / 8;

  [[nodiscard]] static std::uint64_t page_of(std::uint64_t address) noexcept {
    return address & ~(pm4::kPageBytes - 1);
  }
  [[nodiscard]] std::uint64_t doorbell_base() const noexcept {
    return std::uint64_t{3} << 62 | std::uint64_t{card_.gpu_id & 0xffffu} << 46;
  }
  [[nodiscard]] std::uint64_t* free_doorbell() noexcept {
    for (std::uint64_t& doorbell : doorbells_)
      if (!rings_in({&doorbell, 1})) return &doorbell;
    return nullptr;
  }

  /// What every kernel compares.
  [[nodiscard]] pm4::SystemValue check(pm4::kfd::CreateQueue& c) noexcept {
    if (c.doorbell_offset != 0 || c.queue_id != 0 || c.sdma_engine_id != 0 || c.pad != 0)
      return refuse_(EINVAL, "CREATE_QUEUE: fields that come out, or that mean nothing, are not 0");
    if (c.gpu_id != card_.gpu_id) return refuse_(EINVAL, "CREATE_QUEUE: there is no GPU ", c.gpu_id);
    if (const BufferObject* const lost = buffers_.lost())
      return refuse_(EIO, "CREATE_QUEUE: a reset took what the memory at ", hex(lost->address).view(),
                     " held, and it has not been freed");
    if (c.queue_type != pm4::kfd::QueueType::compute)
      return refuse_(EINVAL, "CREATE_QUEUE: type ", static_cast<std::uint32_t>(c.queue_type),
                     " is not modelled, packets need 0");
    // A queue of 0 is made and never runs.
    if ((c.queue_percentage & 0xffu) > 100 || c.queue_percentage >> 8 != 0 || c.queue_percentage == 0)
      return refuse_(EINVAL, "CREATE_QUEUE: percentage ", c.queue_percentage, ", 1 to 100 expected");
    constexpr std::uint32_t most_priority = 15;
    if (c.queue_priority > most_priority)
      return refuse_(EINVAL, "CREATE_QUEUE: priority ", c.queue_priority, ", at most 15 expected");
    if (!std::has_single_bit(c.ring_size))
      return refuse_(EINVAL, "CREATE_QUEUE: a ring of ", c.ring_size, " bytes, a power of two expected");
    if (c.ring_size < card_.kernel.least_ring) c.ring_size = card_.kernel.least_ring;
    return 0;
  }

  /// The buffers: newer kernels compare their sizes, a card faults where they are too small.
  [[nodiscard]] pm4::SystemValue check_buffers(const pm4::kfd::CreateQueue& c) noexcept {
    const SaveArea area = card_.save_area();
    if (area.save_bytes == 0)
      return refuse_(EINVAL, "CREATE_QUEUE: the save area of ", card_.target->name, " with ", card_.compute_units,
                     " compute units is not modelled");
    const bool fits = card_.kernel.compares_sizes
                          ? c.ctl_stack_size == area.ctl_stack_bytes && c.ctx_save_restore_size == area.save_bytes
                          : c.ctl_stack_size >= area.ctl_stack_bytes && c.ctx_save_restore_size >= area.save_bytes;
    if (!fits)
      return refuse_(EINVAL, "CREATE_QUEUE: save area of ", c.ctx_save_restore_size, " bytes, stack ", c.ctl_stack_size,
                     ", ", area.save_bytes, " and ", area.ctl_stack_bytes, " expected");
    if (c.eop_buffer_size != pm4::kfd::kEopBytes)
      return refuse_(EINVAL, "CREATE_QUEUE: an EOP buffer of ", c.eop_buffer_size, " bytes, 4096 expected");
    if (c.write_pointer_address % 8 != 0 || c.read_pointer_address % 8 != 0)
      return refuse_(EINVAL, "CREATE_QUEUE: a pointer's address is no multiple of 8");
    if (c.write_pointer_address == c.read_pointer_address)
      return refuse_(EINVAL, "CREATE_QUEUE: the pointers have one address");
    const struct {
      std::string_view name;
      std::uint64_t address, bytes;
      Permission permission;
    } buffers[] = {
        {"ring", c.ring_base_address, c.ring_size, Permission::read},
        {"page of the write pointer", page_of(c.write_pointer_address), pm4::kPageBytes, Permission::read},
        {"page of the read pointer", page_of(c.read_pointer_address), pm4::kPageBytes, Permission::write},
        {"EOP buffer", c.eop_buffer_address, pm4::kfd::kEopBytes, Permission::read | Permission::write},
        {"save area", c.ctx_save_restore_address, area.mapping_bytes, Permission::read | Permission::write},
    };
    for (const auto& buffer : buffers) {
      const BufferObject* const object = buffers_.mapped_at(buffer.address);
      if (object == nullptr)
        return refuse_(EINVAL, "CREATE_QUEUE: no mapping begins at the ", buffer.name, ", ",
                       hex(buffer.address).view());
      if (card_.kernel.compares_sizes ? object->bytes != buffer.bytes : object->bytes < buffer.bytes)
        return refuse_(EINVAL, "CREATE_QUEUE: the mapping of the ", buffer.name, " has ", object->bytes, " bytes, ",
                       buffer.bytes, " expected");
      if (uses(buffer.address))
        return refuse_(EBUSY, "CREATE_QUEUE: the ", buffer.name, " at ", hex(buffer.address).view(),
                       " is that of a living queue");
      if (const auto r = buffers_.memory().at(buffer.address, buffer.bytes, buffer.permission); !r)
        return refuse_(EINVAL, "CREATE_QUEUE: the ", buffer.name, ": ", r.error().text());
    }
    return 0;
  }

  /// The event of an access that memory does not allow; as the kernel's, it names the page.
  void tell(const QueueFault& fault) noexcept {
    const AccessFault& access = fault.access;
    events_.raise(pm4::kfd::EventType::memory,
                  {.not_present = access.mapped ? 0u : 1u,
                   .read_only = access.mapped && access.wanted != Permission::execute ? 1u : 0u,
                   .no_execute = access.mapped && access.wanted == Permission::execute ? 1u : 0u,
                   .address = page_of(access.address),
                   .gpu_id = card_.gpu_id});
  }

  const Card& card_;
  Buffers& buffers_;
  Events& events_;
  SyscallRefusal& refuse_;
  alignas(64) std::array<std::uint64_t, kSlots> doorbells_{};
};

}  // namespace zrt::inline ZRT_ABI::emulator
