// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/queue.hpp: queues and events of /dev/kfd that are destroyed when their owner goes.
#pragma once

#include <zrt/backend/pm4/kfd/device.hpp>

namespace zrt::inline ZRT_ABI::pm4::kfd {

/// A queue; move-only. The device and the queue's buffers outlive it.
template <OperatingSystem Os> class Queue {
 public:
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  Queue(Queue&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), id_(other.id_), doorbell_offset_(other.doorbell_offset_) {}
  Queue& operator=(Queue&&) = delete;
  ~Queue() {
    if (device_ != nullptr) (void)give_back(*device_, kDestroyQueue, DestroyQueue{.queue_id = id_});
  }

  /// Creates it as `arguments` say, in the form that the kernel's version takes. Errors as system_failure().
  [[nodiscard]] static Result<Queue> create(const Device<Os>& device, CreateQueue arguments) noexcept {
    constexpr std::uint32_t long_form_since = 17;
    const std::uint32_t request = device.minor_version() >= long_form_since ? kCreateQueue : kOldCreateQueue;
    if (auto r = device.call_with(request, arguments); !r) return pass(r);
    return Queue(device, arguments.queue_id, arguments.doorbell_offset);
  }

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  [[nodiscard]] std::uint64_t doorbell_offset() const noexcept { return doorbell_offset_; }

 private:
  Queue(const Device<Os>& device, std::uint32_t id, std::uint64_t doorbell_offset) noexcept
      : device_(&device), id_(id), doorbell_offset_(doorbell_offset) {}

  const Device<Os>* device_;
  std::uint32_t id_;
  std::uint64_t doorbell_offset_;
};

/// An event; move-only. The device outlives it.
template <OperatingSystem Os> class Event {
 public:
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event(Event&& other) noexcept : device_(std::exchange(other.device_, nullptr)), id_(other.id_), slot_(other.slot_) {}
  Event& operator=(Event&&) = delete;
  ~Event() {
    if (device_ != nullptr) (void)give_back(*device_, kDestroyEvent, EventById{.event_id = id_});
  }

  /// Errors as system_failure().
  [[nodiscard]] static Result<Event> create(const Device<Os>& device, EventType type) noexcept {
    return create(device, CreateEvent{.event_type = type});
  }
  [[nodiscard]] static Result<Event> create(const Device<Os>& device, CreateEvent arguments) noexcept {
    if (auto r = device.call_with(kCreateEvent, arguments); !r) return pass(r);
    return Event(device, arguments.event_id, arguments.event_slot_index);
  }

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  /// Of a signal, its place in the event page.
  [[nodiscard]] std::uint32_t slot() const noexcept { return slot_; }

  /// Whether it has been signalled, and its data; waits for nothing. Errors as system_failure().
  [[nodiscard]] Result<bool> signalled(EventData& data) const noexcept {
    data = {.event_id = id_};
    WaitEvents wait{.events_ptr = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&data)), .num_events = 1};
    if (auto r = device_->call_with(kWaitEvents, wait); !r) return pass(r);
    return wait.wait_result == WaitResult::complete;
  }

 private:
  Event(const Device<Os>& device, std::uint32_t id, std::uint32_t slot) noexcept
      : device_(&device), id_(id), slot_(slot) {}

  const Device<Os>* device_;
  std::uint32_t id_;
  std::uint32_t slot_;
};

/// Sleeps until one of the events is signalled, at most so many milliseconds. Errors as system_failure().
template <OperatingSystem Os, std::size_t kCount>
[[nodiscard]] Result<void> wait_for_any(const Device<Os>& device, const std::array<const Event<Os>*, kCount>& events,
                                        std::uint32_t milliseconds) noexcept {
  std::array<EventData, kCount> data{};
  for (std::size_t i = 0; i < kCount; ++i) data[i].event_id = events[i]->id();
  WaitEvents wait{.events_ptr = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(data.data())),
                  .num_events = kCount,
                  .timeout = milliseconds};
  return device.call_with(kWaitEvents, wait);
}

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
