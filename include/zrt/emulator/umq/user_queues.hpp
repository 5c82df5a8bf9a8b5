// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/umq/user_queues.hpp: the user queues of one open render node on the modelled GPU.
#pragma once

#include <zrt/emulator/queue_set.hpp>
#include <zrt/emulator/umq/gem.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// User queues for compute.
class UserQueues : public QueueSet {
 public:
  /// More are refused.
  static constexpr std::size_t kMostQueues = 512;

  UserQueues(const Card& card, GemObjects& gem, SyscallRefusal& refuse, GridHook grids,
             const Allocator& allocator) noexcept
      : QueueSet(card, grids, allocator, 1), card_(card), gem_(gem), refuse_(refuse) {}

  [[nodiscard]] pm4::SystemValue create(const pm4::umq::UserQueue& c, pm4::umq::UserQueueOut& out) noexcept {
    if (const pm4::SystemValue r = check(c); r != 0) return r;
    GemObject* const doorbells = gem_.find(c.doorbell_handle);
    if (doorbells == nullptr || !doorbells->doorbells)
      return refuse_(EINVAL, "USERQ: there is no buffer of doorbells ", c.doorbell_handle);
    if (c.doorbell_offset >= doorbells->doorbells->words.size())
      return refuse_(EINVAL, "USERQ: doorbell ", c.doorbell_offset, " lies behind its buffer");
    std::uint64_t* const doorbell = &doorbells->doorbells->words[c.doorbell_offset];
    if (QueueSet::rings_in({doorbell, 1})) return refuse_(EBUSY, "USERQ: doorbell ", c.doorbell_offset, " is taken");
    HostedQueue* const queue = count() == kMostQueues ? nullptr
                                                      : add(gem_.memory(),
                                                            {.ring = c.queue_va,
                                                             .bytes = c.queue_size,
                                                             .write_pointer = c.wptr_va,
                                                             .read_pointer = c.rptr_va,
                                                             .inherits_vmid = true},
                                                            doorbell, {c.queue_va, c.wptr_va, c.rptr_va, eop_});
    if (queue == nullptr) return refuse_(ENOMEM, "USERQ: the model has no memory, or there are too many queues");
    queue->ring.processor().require_masks();
    out = {.queue_id = queue->ring.id()};
    return 0;
  }

  [[nodiscard]] pm4::SystemValue free(const pm4::umq::UserQueue& f) noexcept {
    pm4::umq::UserQueue bare{.op = f.op, .queue_id = f.queue_id};
    if (std::memcmp(&f, &bare, sizeof f) != 0)
      return refuse_(EINVAL, "USERQ: of a free every field but op and queue_id is 0");
    return remove(f.queue_id) ? 0 : refuse_(ENOENT, "USERQ: there is no queue ", f.queue_id);
  }

  [[nodiscard]] bool rings_in(const GemObject& doorbells) const noexcept {
    return QueueSet::rings_in(doorbells.doorbells->words);
  }
  void reset() noexcept { stop_all(Error::of(Errc::unsupported_device, "the GPU was reset")); }
  /// Lets every queue execute up to its next fence. Whether some packet was executed.
  bool advance() noexcept {
    return advance_each([](bool, bool) noexcept {});
  }

  /// The same as the driver tells it: it names the page.
  [[nodiscard]] pm4::umq::GpuvmFault told_fault() const noexcept {
    constexpr std::uint32_t refused = 1u << 4;
    if (!fault().happened()) return {};
    const AccessFault& access = fault().access;
    return {.addr = access.address & ~(pm4::kPageBytes - 1),
            .status = refused | (access.wanted == Permission::write ? pm4::umq::kFaultWrote : 0)};
  }

 private:
  [[nodiscard]] pm4::SystemValue check(const pm4::umq::UserQueue& c) noexcept {
    constexpr std::uint32_t priority = 3, secure = 1u << 2;
    if ((c.flags & ~(priority | secure)) != 0) return refuse_(EINVAL, "USERQ: flags ", c.flags);
    if (const GemObject* const lost = gem_.lost())
      return refuse_(EIO, "USERQ: a reset took what buffer ", lost->handle, " held, and it has not been closed");
    if (c.ip_type != pm4::umq::kIpCompute) return refuse_(EINVAL, "USERQ: engine ", c.ip_type, ", compute is modelled");
    if ((c.flags & secure) != 0) return refuse_(EINVAL, "USERQ: secure queues are not modelled");
    if ((c.flags & priority) == priority) return refuse_(EACCES, "USERQ: high priority is for administrators");
    if (c.queue_va == 0 || c.queue_size == 0 || c.rptr_va == 0 || c.wptr_va == 0)
      return refuse_(EINVAL, "USERQ: no ring, or no place of a pointer");
    if ((c.queue_size & (c.queue_size - 1)) != 0 || c.queue_size < pm4::kPageBytes)
      return refuse_(EINVAL, "USERQ: a ring of ", c.queue_size, " bytes, a power of two from 4096 expected");
    if (c.mqd == 0) return refuse_(EFAULT, "USERQ: no MQD");
    if (c.mqd_size != sizeof(pm4::umq::ComputeMqd))
      return refuse_(EINVAL, "USERQ: an MQD of ", c.mqd_size, " bytes, ", sizeof(pm4::umq::ComputeMqd), " expected");
    pm4::umq::ComputeMqd mqd;
    std::memcpy(&mqd, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(c.mqd)), sizeof mqd);
    eop_ = mqd.eop_va;
    const struct {
      std::string_view name;
      std::uint64_t address, bytes;
      Permission permission;
    } buffers[] = {
        {"ring", c.queue_va, c.queue_size, Permission::read},
        {"read pointer", c.rptr_va, pm4::kPageBytes, Permission::write},
        {"write pointer", c.wptr_va, pm4::kPageBytes, Permission::read},
        {"EOP buffer", eop_, card_.eop_bytes, Permission::read | Permission::write},
    };
    for (const auto& buffer : buffers) {
      if (gem_.mapped_over(buffer.address, buffer.bytes) == nullptr)
        return refuse_(EINVAL, "USERQ: no mapping has the ", buffer.bytes, " bytes of the ", buffer.name, " at ",
                       hex(buffer.address).view());
      if ((gem_.mapped_over(buffer.address, buffer.bytes)->va_flags & 0xfu << 5) != pm4::umq::kVaUncached)
        return refuse_(EINVAL, "USERQ: the ", buffer.name,
                       " is not mapped uncached: the command processor reads past the L2");
      // The kernel does not ask whether the page tables are written; the queue would fault.
      if (const auto r = gem_.memory().at(buffer.address, buffer.bytes, buffer.permission); !r)
        return refuse_(EINVAL, "USERQ: the ", buffer.name, ": ", r.error().text());
    }
    if (const std::uint64_t bytes = gem_.mapped_over(c.wptr_va, pm4::kPageBytes)->bytes; bytes > pm4::kPageBytes)
      return refuse_(EINVAL, "USERQ: the buffer of the write pointer has ", bytes, " bytes, one page expected");
    if (gem_.mapped_over(c.wptr_va, pm4::kPageBytes)->made.domains != pm4::umq::kDomainGtt)
      return refuse_(EINVAL, "USERQ: the write pointer is not in GTT, where the kernel pins it");
    return 0;
  }

  const Card& card_;
  GemObjects& gem_;
  SyscallRefusal& refuse_;
  std::uint64_t eop_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::emulator
