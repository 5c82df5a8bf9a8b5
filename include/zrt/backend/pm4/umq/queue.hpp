// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/umq/queue.hpp: a user queue that is freed when its owner goes.
#pragma once

#include <zrt/backend/pm4/umq/device.hpp>

namespace zrt::inline ZRT_ABI::pm4::umq {

/// A queue; move-only. The device and the queue's buffers outlive it.
template <OperatingSystem Os> class Queue {
 public:
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  Queue(Queue&& other) noexcept : device_(std::exchange(other.device_, nullptr)), id_(other.id_) {}
  Queue& operator=(Queue&&) = delete;
  ~Queue() {
    if (device_ != nullptr)
      (void)give_back(*device_, kUserQueue, UserQueue{.op = QueueOperation::free, .queue_id = id_});
  }

  /// Errors as system_failure().
  [[nodiscard]] static Result<Queue> create(const Device<Os>& device, UserQueue arguments) noexcept {
    if (auto r = device.call_with(kUserQueue, arguments); !r) return pass(r);
    return Queue(device, answer_in<UserQueueOut>(arguments).queue_id);
  }

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }

 private:
  Queue(const Device<Os>& device, std::uint32_t id) noexcept : device_(&device), id_(id) {}

  const Device<Os>* device_;
  std::uint32_t id_;
};

}  // namespace zrt::inline ZRT_ABI::pm4::umq
