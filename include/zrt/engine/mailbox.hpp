// SPDX-License-Identifier: Apache-2.0
// zrt/engine/mailbox.hpp: what any thread asks of an engine, until the thread that steps takes it.
#pragma once

#include <zrt/core/atomic.hpp>
#include <zrt/core/mutex.hpp>
#include <zrt/engine/active_request.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Submitted requests and notes of cancellation.
class Mailbox {
 public:
  explicit Mailbox(const Allocator& allocator) noexcept : requests_(allocator), cancels_(allocator) {}

  [[nodiscard]] Result<void> reserve(std::size_t count) noexcept {
    if (auto r = requests_.reserve(count); !r) return r;
    return cancels_.reserve(count);
  }

  /// An id that no other request has. Any thread.
  [[nodiscard]] RequestId next_id() noexcept { return RequestId{next_id_.fetch_add(1, MemoryOrder::relaxed)}; }

  /// Leaves a request for the next step and returns its id. Any thread.
  [[nodiscard]] Result<RequestId> post(Owned<ActiveRequest> request) noexcept {
    const RequestId id = request->id;
    const MutexLock lock(mutex_);
    if (auto r = requests_.push_back(std::move(request)); !r) return pass(r);
    mail_.store(true, MemoryOrder::release);
    return id;
  }

  /// Leaves a note. Without memory for it the request simply runs on; the caller may ask again. Any thread.
  void cancel(RequestId id) noexcept {
    const MutexLock lock(mutex_);
    if (cancels_.push_back(id)) mail_.store(true, MemoryOrder::release);
  }

  /// Whether a request or a note has come since the last step. Any thread.
  [[nodiscard]] bool has_mail() const noexcept { return mail_.load(MemoryOrder::acquire); }
  [[nodiscard]] bool has_requests() noexcept {
    const MutexLock lock(mutex_);
    return !requests_.empty();
  }

  /// Appends what has come to `requests` and puts the notes in the place of `cancelled`. Locks only when
  /// there is something; after an error all of it is still there.
  [[nodiscard]] Result<void> collect(Vector<Owned<ActiveRequest>>& requests, Vector<RequestId>& cancelled) noexcept {
    cancelled.clear();
    if (!mail_.load(MemoryOrder::acquire)) return {};
    const MutexLock lock(mutex_);
    if (auto r = requests.reserve(requests.size() + requests_.size()); !r) return r;
    for (Owned<ActiveRequest>& request : requests_) (void)requests.push_back(std::move(request));
    requests_.clear();
    std::swap(cancelled, cancels_);
    mail_.store(false, MemoryOrder::release);
    return {};
  }

 private:
  Mutex mutex_;
  Vector<Owned<ActiveRequest>> requests_;
  Vector<RequestId> cancels_;
  Atomic<bool> mail_{false};
  Atomic<std::uint64_t> next_id_{1};
};

}  // namespace zrt::inline ZRT_ABI::detail
