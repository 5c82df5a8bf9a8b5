// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/emulator/umq/user_queues.hpp: the user queues of one open render node on the modelled GPU.
#pragma once

#include <zrt/backend/pm4/emulator/ring_queue.hpp>
#include <zrt/backend/pm4/emulator/umq/gem.hpp>

namespace zrt::inline ZRT_ABI::pm4::emulator {

/// User queues for compute. A queue looks at its doorbell when advance() is called; stopped() says why one stopped.
class UserQueues {
 public:
  /// More are refused.
  static constexpr std::size_t kMostQueues = 512;

  UserQueues(const Card& card, GemObjects& gem, Refusal& refuse, GridHook grids, const Allocator& allocator) noexcept
      : card_(card), gem_(gem), refuse_(refuse), grids_(grids), allocator_(allocator), queues_(allocator) {}

  [[nodiscard]] SystemValue create(const umq::UserQueue& c, umq::UserQueueOut& out) noexcept {
    if (const SystemValue r = check(c); r != 0) return r;
    GemObject* const doorbells = gem_.find(c.doorbell_handle);
    if (doorbells == nullptr || !doorbells->doorbells)
      return refuse_(EINVAL, "USERQ: there is no buffer of doorbells ", c.doorbell_handle);
    if (c.doorbell_offset >= doorbells->doorbells->words.size())
      return refuse_(EINVAL, "USERQ: doorbell ", c.doorbell_offset, " lies behind its buffer");
    std::uint64_t* const doorbell = &doorbells->doorbells->words[c.doorbell_offset];
    for (const Owned<Queue>& queue : queues_)
      if (queue->doorbell == doorbell) return refuse_(EBUSY, "USERQ: doorbell ", c.doorbell_offset, " is taken");
    auto queue = Owned<Queue>::make(allocator_, gem_.memory(), *card_.target, allocator_);
    if (!queue || queues_.size() == kMostQueues ||
        !(*queue)->ring.open(next_, {.ring = c.queue_va,
                                     .bytes = c.queue_size,
                                     .write_pointer = c.wptr_va,
                                     .read_pointer = c.rptr_va,
                                     .inherits_vmid = true}))
      return refuse_(ENOMEM, "USERQ: the model has no memory, or there are too many queues");
    (*queue)->made = c;
    (*queue)->eop = eop_;
    (*queue)->doorbell = doorbell;
    *doorbell = 0;
    if (!queues_.push_back(std::move(*queue))) return refuse_(ENOMEM, "USERQ: the model has no memory");
    out = {.queue_id = next_++};
    return 0;
  }

  [[nodiscard]] SystemValue free(const umq::UserQueue& f) noexcept {
    umq::UserQueue bare{.op = f.op, .queue_id = f.queue_id};
    if (std::memcmp(&f, &bare, sizeof f) != 0)
      return refuse_(EINVAL, "USERQ: of a free every field but op and queue_id is 0");
    for (Owned<Queue>& queue : queues_) {
      if (queue->ring.id() != f.queue_id) continue;
      if (&queue != &queues_.back()) queue = std::move(queues_.back());
      queues_.pop_back();
      return 0;
    }
    return refuse_(ENOENT, "USERQ: there is no queue ", f.queue_id);
  }

  /// A queue whose buffers are taken away leaves the chip.
  void evict_users_of(std::uint64_t address, std::uint64_t bytes) noexcept {
    for (Owned<Queue>& queue : queues_)
      for (const std::uint64_t used : {queue->made.queue_va, queue->made.wptr_va, queue->made.rptr_va, queue->eop})
        if (used >= address && used - address < bytes && !queue->ring.stopped())
          stop(*queue, Error::of(Errc::spec_violation, "a buffer of queue ", queue->ring.id(), " at ",
                                 hex(address).view(), " was taken away"));
  }
  [[nodiscard]] bool rings_in(const GemObject& doorbells) const noexcept {
    for (const Owned<Queue>& queue : queues_)
      if (queue->made.doorbell_handle == doorbells.handle) return true;
    return false;
  }

  void reset() noexcept {
    for (Owned<Queue>& queue : queues_) stop(*queue, Error::of(Errc::unsupported_device, "the GPU was reset"));
  }

  void lose_next_fence() noexcept {
    for (Owned<Queue>& queue : queues_) queue->ring.processor().lose_next_fence();
  }

  /// Lets every queue execute up to its next fence. Whether some packet was executed.
  bool advance() noexcept {
    bool any = false;
    for (Owned<Queue>& queue : queues_) {
      const std::uint64_t rung = queue->ring.doorbells_rung(), packets = queue->ring.counters().packets;
      const auto ran = queue->ring.advance(__atomic_load_n(queue->doorbell, __ATOMIC_ACQUIRE), grids_);
      rung_ += queue->ring.doorbells_rung() - rung;
      any = any || queue->ring.counters().packets != packets;
      if (ran) continue;
      why_stopped_ = ran.error();
      if (queue->ring.fault().happened()) fault_ = queue->ring.fault();
    }
    return any;
  }

  /// The last access that memory did not allow.
  [[nodiscard]] const QueueFault& fault() const noexcept { return fault_; }
  /// The same as the driver tells it: it names the page.
  [[nodiscard]] umq::GpuvmFault told_fault() const noexcept {
    constexpr std::uint32_t refused = 1u << 4;
    if (!fault_.happened()) return {};
    return {.addr = fault_.access.address & ~(kPageBytes - 1),
            .status = refused | (fault_.access.wanted == Permission::write ? umq::kFaultWrote : 0)};
  }
  /// Why the last queue that stopped did; empty while none has.
  [[nodiscard]] std::string_view stopped() const noexcept { return why_stopped_.text(); }
  [[nodiscard]] std::size_t count() const noexcept { return queues_.size(); }
  [[nodiscard]] std::uint64_t doorbells_rung() const noexcept { return rung_; }
  /// What all queues have done, those that were freed left out.
  [[nodiscard]] QueueCounters counters() const noexcept {
    QueueCounters all;
    for (const Owned<Queue>& queue : queues_) all += queue->ring.counters();
    return all;
  }

 private:
  struct Queue {
    Queue(const AddressSpace& memory, const TargetFacts& target, const Allocator& allocator) noexcept
        : ring(memory, target, allocator) {}
    umq::UserQueue made{};
    std::uint64_t eop = 0;
    std::uint64_t* doorbell = nullptr;
    RingQueue ring;
  };

  [[nodiscard]] SystemValue check(const umq::UserQueue& c) noexcept {
    constexpr std::uint32_t priority = 3, secure = 1u << 2;
    if ((c.flags & ~(priority | secure)) != 0) return refuse_(EINVAL, "USERQ: flags ", c.flags);
    if (c.ip_type != umq::kIpCompute) return refuse_(EINVAL, "USERQ: engine ", c.ip_type, ", compute is modelled");
    if ((c.flags & secure) != 0) return refuse_(EINVAL, "USERQ: secure queues are not modelled");
    if ((c.flags & priority) == priority) return refuse_(EACCES, "USERQ: high priority is for administrators");
    if (c.queue_va == 0 || c.queue_size == 0 || c.rptr_va == 0 || c.wptr_va == 0)
      return refuse_(EINVAL, "USERQ: no ring, or no place of a pointer");
    if ((c.queue_size & (c.queue_size - 1)) != 0 || c.queue_size < kPageBytes)
      return refuse_(EINVAL, "USERQ: a ring of ", c.queue_size, " bytes, a power of two from 4096 expected");
    if (c.mqd == 0) return refuse_(EFAULT, "USERQ: no MQD");
    if (c.mqd_size != sizeof(umq::ComputeMqd))
      return refuse_(EINVAL, "USERQ: an MQD of ", c.mqd_size, " bytes, ", sizeof(umq::ComputeMqd), " expected");
    umq::ComputeMqd mqd;
    std::memcpy(&mqd, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(c.mqd)), sizeof mqd);
    eop_ = mqd.eop_va;
    const struct {
      std::string_view name;
      std::uint64_t address, bytes;
      Permission permission;
    } buffers[] = {
        {"ring", c.queue_va, c.queue_size, Permission::read},
        {"read pointer", c.rptr_va, kPageBytes, Permission::write},
        {"write pointer", c.wptr_va, kPageBytes, Permission::read},
        {"EOP buffer", eop_, kPageBytes, Permission::read | Permission::write},
    };
    for (const auto& buffer : buffers) {
      if (gem_.mapped_over(buffer.address, buffer.bytes) == nullptr)
        return refuse_(EINVAL, "USERQ: no mapping has the ", buffer.bytes, " bytes of the ", buffer.name, " at ",
                       hex(buffer.address).view());
      // The kernel does not ask whether the page tables are written; the queue would fault.
      if (const auto r = gem_.memory().at(buffer.address, buffer.bytes, buffer.permission); !r)
        return refuse_(EINVAL, "USERQ: the ", buffer.name, ": ", r.error().text());
    }
    if (const std::uint64_t bytes = gem_.mapped_over(c.wptr_va, kPageBytes)->bytes; bytes > kPageBytes)
      return refuse_(EINVAL, "USERQ: the buffer of the write pointer has ", bytes, " bytes, one page expected");
    if (gem_.mapped_over(c.wptr_va, kPageBytes)->made.domains != umq::kDomainGtt)
      return refuse_(EINVAL, "USERQ: the write pointer is not in GTT, where the kernel pins it");
    return 0;
  }

  void stop(Queue& q, const Error& why) noexcept {
    q.ring.stop();
    why_stopped_ = why;
  }

  const Card& card_;
  GemObjects& gem_;
  Refusal& refuse_;
  GridHook grids_;
  Allocator allocator_;
  Vector<Owned<Queue>> queues_;
  Error why_stopped_{};
  QueueFault fault_{};
  std::uint64_t eop_ = 0;
  std::uint64_t rung_ = 0;
  std::uint32_t next_ = 1;
};

}  // namespace zrt::inline ZRT_ABI::pm4::emulator
