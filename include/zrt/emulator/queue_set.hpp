// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/queue_set.hpp: queues of the device model that one driver has made in one address space.
#pragma once

#include <zrt/core/owned.hpp>
#include <zrt/emulator/card.hpp>
#include <zrt/emulator/ring_queue.hpp>

#include <utility>

namespace zrt::inline ZRT_ABI::emulator {

/// A queue with its doorbell, and the addresses of the buffers without which it leaves the chip.
struct HostedQueue {
  HostedQueue(const AddressSpace& memory, const pm4::TargetFacts& target, const Allocator& allocator) noexcept
      : ring(memory, target, allocator) {}

  RingQueue ring;
  std::uint64_t* doorbell = nullptr;
  std::array<std::uint64_t, 5> buffers{};  ///< 0: none
};

/// What every driver does with the queues that it has made. A queue looks at its doorbell when the set advances;
/// stopped() says why one stopped.
class QueueSet {
 public:
  QueueSet(const Card& card, GridHook grids, const Allocator& allocator, std::uint32_t first_id) noexcept
      : card_(card), grids_(grids), allocator_(allocator), queues_(allocator), next_(first_id) {}

  /// The buffers that lie in that range are taken away: a queue that uses one leaves the chip.
  void evict_users_of(std::uint64_t address, std::uint64_t bytes) noexcept {
    for (Owned<HostedQueue>& queue : queues_)
      for (const std::uint64_t used : queue->buffers)
        if (used != 0 && used >= address && used - address < bytes && !queue->ring.stopped())
          stop(*queue, Error::of(Errc::spec_violation, "a buffer of queue ", queue->ring.id(), " at ",
                                 hex(address).view(), " was taken away"));
  }
  /// Whether a buffer of some queue that has not stopped begins there.
  [[nodiscard]] bool uses(std::uint64_t address) const noexcept {
    for (const Owned<HostedQueue>& queue : queues_)
      for (const std::uint64_t used : queue->buffers)
        if (used != 0 && used == address && !queue->ring.stopped()) return true;
    return false;
  }
  void lose_next_fence() noexcept {
    for (Owned<HostedQueue>& queue : queues_) queue->ring.processor().lose_next_fence();
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
    for (const Owned<HostedQueue>& queue : queues_) all += queue->ring.counters();
    return all;
  }
  /// Whether some queue has a doorbell among those words.
  [[nodiscard]] bool rings_in(Span<const std::uint64_t> words) const noexcept {
    for (const Owned<HostedQueue>& queue : queues_)
      if (queue->doorbell >= words.data() && queue->doorbell < words.data() + words.size()) return true;
    return false;
  }

 protected:
  /// A new queue, or null where the model has no memory.
  [[nodiscard]] HostedQueue* add(const AddressSpace& memory, const RingPlace& place, std::uint64_t* doorbell,
                                 const std::array<std::uint64_t, 5>& buffers) noexcept {
    auto queue = Owned<HostedQueue>::make(allocator_, memory, *card_.target, allocator_);
    if (!queue || !(*queue)->ring.open(next_, place)) return nullptr;
    (*queue)->ring.processor().require_alignment();
    (*queue)->ring.processor().set_engines(card_.shader_engines);
    if (card_.follows_workgroups) (*queue)->ring.processor().follow_workgroups();
    (*queue)->doorbell = doorbell;
    (*queue)->buffers = buffers;
    if (!queues_.push_back(std::move(*queue))) return nullptr;
    *doorbell = 0;
    ++next_;
    return &*queues_.back();
  }
  /// False where there is no queue of that number.
  [[nodiscard]] bool remove(std::uint32_t id) noexcept {
    for (Owned<HostedQueue>& queue : queues_) {
      if (queue->ring.id() != id) continue;
      if (&queue != &queues_.back()) queue = std::move(queues_.back());
      queues_.pop_back();
      return true;
    }
    return false;
  }

  /// Lets every queue execute up to its next fence, then calls `seen(interrupted, stopped)` for it. Whether some packet
  /// was executed.
  template <class Seen> bool advance_each(Seen&& seen) noexcept {
    bool any = false;
    for (Owned<HostedQueue>& queue : queues_) {
      RingQueue& ring = queue->ring;
      const QueueCounters before = ring.counters();
      const std::uint64_t rung = ring.doorbells_rung();
      const auto ran = ring.advance(__atomic_load_n(queue->doorbell, __ATOMIC_ACQUIRE), grids_);
      rung_ += ring.doorbells_rung() - rung;
      any = any || ring.counters().packets != before.packets;
      if (!ran) {
        why_stopped_ = ran.error();
        if (ring.fault().happened()) fault_ = ring.fault();
      }
      seen(ring.counters().interrupts != before.interrupts, !ran && ring.fault().happened());
    }
    return any;
  }
  void stop_all(const Error& why) noexcept {
    for (Owned<HostedQueue>& queue : queues_) stop(*queue, why);
  }

 private:
  void stop(HostedQueue& q, const Error& why) noexcept {
    q.ring.stop();
    why_stopped_ = why;
  }

  const Card& card_;
  GridHook grids_;
  Allocator allocator_;
  Vector<Owned<HostedQueue>> queues_;
  Error why_stopped_{};
  QueueFault fault_{};
  std::uint64_t rung_ = 0;
  std::uint32_t next_;
};

}  // namespace zrt::inline ZRT_ABI::emulator
