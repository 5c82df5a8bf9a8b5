// SPDX-License-Identifier: Apache-2.0
// zrt/engine/mailbox.hpp: what any thread asks of an engine, until the thread that steps takes it.
#pragma once

#include <zrt/core/atomic.hpp>
#include <zrt/core/mutex.hpp>
#include <zrt/engine/active_request.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// A note that the client of a request reads no more, or again.
struct PauseNote {
  RequestId request{};
  bool on = false;
};

/// Submitted requests, and notes of cancellation and of clients that do not read.
///
/// It counts for each tenant the requests that no step has read, so that none of them fills the memory. Rows of the
/// counts are the scheduler's rows of tenants: the host's is the first. Whoever names no tenant that is there shares the
/// row behind them.
class Mailbox {
 public:
  explicit Mailbox(const Allocator& allocator) noexcept
      : requests_(allocator), cancels_(allocator), pauses_(allocator), tenants_(allocator), unread_(allocator) {}

  /// Makes room for `tenants`, which may have `most_unread` requests each that no step has read.
  [[nodiscard]] Result<void> reserve(std::size_t tenants, std::size_t most_unread) noexcept {
    constexpr std::size_t kUsual = 16;
    most_unread_ = most_unread;
    if (auto r = requests_.reserve(kUsual); !r) return r;
    if (auto r = cancels_.reserve(kUsual); !r) return r;
    if (auto r = pauses_.reserve(kUsual); !r) return r;
    if (auto r = tenants_.resize(tenants); !r) return r;
    return unread_.resize(tenants + 1);
  }
  /// A tenant has come.
  void admit(TenantId tenant) noexcept {
    const MutexLock lock(mutex_);
    tenants_[serve::row_of(static_cast<serve::Handle>(tenant))] = tenant;
  }
  /// A tenant has gone. What it sent is a stranger's, and counts in the row of nobody who comes after it: what no step
  /// has read, and the part of that which was `collected`.
  void forget(TenantId tenant, Span<Owned<ActiveRequest>> collected) noexcept {
    const MutexLock lock(mutex_);
    const std::uint32_t row = row_of(tenant);
    tenants_[serve::row_of(static_cast<serve::Handle>(tenant))] = TenantId{~std::uint64_t{0}};
    const std::uint32_t strangers = row_of(tenant);
    for (Span<Owned<ActiveRequest>> all : {collected, requests_.span()})
      for (Owned<ActiveRequest>& request : all)
        if (request->tenant_row == row) request->tenant_row = strangers;
    unread_[strangers] += unread_[row];
    unread_[row] = 0;
  }

  /// An id that no other request has. Any thread.
  [[nodiscard]] RequestId next_id() noexcept { return RequestId{next_id_.fetch_add(1, MemoryOrder::relaxed)}; }

  /// Leaves a request for the next step and returns its id. Any thread. Errors: Errc::capacity_exceeded where no step has
  /// read as many of its tenant.
  [[nodiscard]] Result<RequestId> post(Owned<ActiveRequest> request) noexcept {
    const RequestId id = request->id;
    const MutexLock lock(mutex_);
    const std::uint32_t row = row_of(request->tenant);
    if (unread_[row] >= most_unread_)
      return fail(Errc::capacity_exceeded, "no step has read ", unread_[row],
                  " requests of this tenant, as many as there may be; submit again after the next step");
    request->tenant_row = row;
    if (auto r = requests_.push_back(std::move(request)); !r) return pass(r);
    ++unread_[row];
    mail_.store(true, MemoryOrder::release);
    return id;
  }

  /// Leaves a note. Without memory for it the request simply runs on; the caller may ask again. Any thread.
  void cancel(RequestId id) noexcept {
    const MutexLock lock(mutex_);
    if (cancels_.push_back(id)) mail_.store(true, MemoryOrder::release);
  }

  /// Leaves a note of a client. Any thread. Errors: Errc::out_of_memory.
  [[nodiscard]] Result<void> pause(RequestId id, bool on) noexcept {
    const MutexLock lock(mutex_);
    if (auto r = pauses_.push_back({id, on}); !r) return r;
    mail_.store(true, MemoryOrder::release);
    return {};
  }

  /// Whether a request or a note has come since the last step. Any thread.
  [[nodiscard]] bool has_mail() const noexcept { return mail_.load(MemoryOrder::acquire); }
  [[nodiscard]] bool has_requests() noexcept {
    const MutexLock lock(mutex_);
    return !requests_.empty();
  }

  /// Whether a tenant has requests that no step has read. Any thread.
  [[nodiscard]] bool has_unread(TenantId tenant) noexcept {
    const MutexLock lock(mutex_);
    return unread_[row_of(tenant)] != 0;
  }

  /// Appends what has come to `requests` and puts the notes in the places of `cancelled` and `pauses`. Locks only when
  /// there is something; after an error all of it is still there.
  [[nodiscard]] Result<void> collect(Vector<Owned<ActiveRequest>>& requests, Vector<RequestId>& cancelled,
                                     Vector<PauseNote>& pauses) noexcept {
    cancelled.clear();
    pauses.clear();
    if (!mail_.load(MemoryOrder::acquire)) return {};
    const MutexLock lock(mutex_);
    if (auto r = requests.reserve(requests.size() + requests_.size()); !r) return r;
    for (Owned<ActiveRequest>& request : requests_) (void)requests.push_back(std::move(request));
    requests_.clear();
    std::swap(cancelled, cancels_);
    std::swap(pauses, pauses_);
    mail_.store(false, MemoryOrder::release);
    return {};
  }

  /// Notes that of the requests collected so far no step has read these.
  void note_unread(Span<const Owned<ActiveRequest>> collected) noexcept {
    const MutexLock lock(mutex_);
    for (std::size_t& count : unread_) count = 0;
    for (const Owned<ActiveRequest>& request : collected) ++unread_[request->tenant_row];
    for (const Owned<ActiveRequest>& request : requests_) ++unread_[request->tenant_row];
  }

 private:
  [[nodiscard]] std::uint32_t row_of(TenantId tenant) const noexcept {
    const std::uint32_t row = serve::row_of(static_cast<serve::Handle>(tenant));
    const bool known = row < tenants_.size() && tenants_[row] == tenant;
    return known ? row : static_cast<std::uint32_t>(tenants_.size());
  }

  Mutex mutex_;
  Vector<Owned<ActiveRequest>> requests_;
  Vector<RequestId> cancels_;
  Vector<PauseNote> pauses_;
  Vector<TenantId> tenants_;    ///< by row; the host's is TenantId{}, as rows that no tenant has had
  Vector<std::size_t> unread_;  ///< requests, by row, and of strangers
  std::size_t most_unread_ = 0;
  Atomic<bool> mail_{false};
  Atomic<std::uint64_t> next_id_{1};
};

}  // namespace zrt::inline ZRT_ABI::detail
