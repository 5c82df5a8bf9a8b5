// SPDX-License-Identifier: Apache-2.0
// zrt/engine/mailbox.hpp: what any thread asks of an engine, until the thread that steps takes it.
#pragma once

#include <zrt/core/atomic.hpp>
#include <zrt/core/mutex.hpp>
#include <zrt/engine/request_table.hpp>
#include <zrt/engine/unread_requests.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// A note that the client of a request reads no more, or again.
struct PauseNote {
  RequestId request{};
  bool on = false;
};

/// Submitted requests, notes of cancellation and of clients that do not read, and the requests that have not ended by
/// their ids.
///
/// It counts for each tenant the requests that no step has read, so that none of them fills the memory. Rows of the
/// counts are the scheduler's rows of tenants: the host's is the first. Whoever names no tenant that is there shares the
/// row behind them. Nothing that it does takes a time that grows with the requests, but `forget` with the tenant's own.
class Mailbox {
 public:
  explicit Mailbox(const Allocator& allocator) noexcept
      : requests_(allocator),
        known_(allocator),
        cancels_(allocator),
        pauses_(allocator),
        tenants_(allocator),
        unread_(allocator) {}

  /// Makes room for `tenants`, which may have `most_unread` requests each that no step has read. The scheduler has no
  /// more than that.
  [[nodiscard]] Result<void> reserve(std::size_t tenants, std::size_t most_unread) noexcept {
    constexpr std::size_t kUsual = 16;
    most_unread_ = most_unread;
    if (auto r = requests_.reserve(tenants + 1); !r) return r;
    if (auto r = cancels_.reserve(kUsual); !r) return r;
    if (auto r = pauses_.reserve(kUsual); !r) return r;
    if (auto r = tenants_.resize(tenants); !r) return r;
    if (auto r = unread_.resize(tenants + 1); !r) return r;
    return reserve_ids(1);
  }
  /// Makes room for the ids of the requests of `tenants`, and of those that the scheduler has.
  [[nodiscard]] Result<void> reserve_ids(std::size_t tenants) noexcept {
    const MutexLock lock(mutex_);
    return known_.reserve((tenants + 1) * most_unread_);
  }
  /// A tenant has come.
  void admit(TenantId tenant) noexcept {
    const MutexLock lock(mutex_);
    tenants_[serve::row_of(static_cast<serve::Handle>(tenant))] = tenant;
  }
  /// A tenant has gone. What it sent is a stranger's, and counts in the row of nobody who comes after it: what no step
  /// has read, and the part of that which was `collected`.
  void forget(TenantId tenant, UnreadRequests& collected) noexcept {
    const MutexLock lock(mutex_);
    const std::uint32_t row = row_of(tenant);
    tenants_[serve::row_of(static_cast<serve::Handle>(tenant))] = TenantId{~std::uint64_t{0}};
    const std::uint32_t strangers = row_of(tenant);
    collected.merge(row, strangers);
    requests_.merge(row, strangers);
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
    request->submitted = ++submitted_;
    known_.add(*request);
    requests_.push(std::move(request));
    ++unread_[row];
    mail_.store(true, MemoryOrder::release);
    return id;
  }

  /// Leaves a note, unless the request has one or has ended. Without memory for it the request simply runs on; the caller
  /// may ask again. Any thread.
  void cancel(RequestId id) noexcept {
    const MutexLock lock(mutex_);
    ActiveRequest* const a = known_.find(id);
    if (a == nullptr || a->cancel_noted || !cancels_.push_back(id)) return;
    a->cancel_noted = true;
    mail_.store(true, MemoryOrder::release);
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
  /// there is something.
  void collect(UnreadRequests& requests, Vector<RequestId>& cancelled, Vector<PauseNote>& pauses) noexcept {
    cancelled.clear();
    pauses.clear();
    if (!mail_.load(MemoryOrder::acquire)) return;
    const MutexLock lock(mutex_);
    requests.append(requests_);
    std::swap(cancelled, cancels_);
    std::swap(pauses, pauses_);
    mail_.store(false, MemoryOrder::release);
  }

  /// Notes that of the requests collected so far no step has read these.
  void note_unread(const UnreadRequests& collected) noexcept {
    const MutexLock lock(mutex_);
    for (std::size_t row = 0; row < unread_.size(); ++row) unread_[row] = collected.count(row) + requests_.count(row);
  }

  /// Takes in a request that came by no post.
  void know(ActiveRequest& a) noexcept {
    const MutexLock lock(mutex_);
    known_.add(a);
  }
  /// A request has ended, and is gone soon.
  void drop(const ActiveRequest& a) noexcept {
    const MutexLock lock(mutex_);
    known_.drop(a);
  }
  /// A request that has not ended, or null. The thread that steps.
  [[nodiscard]] ActiveRequest* find(RequestId id) noexcept {
    const MutexLock lock(mutex_);
    return known_.find(id);
  }

 private:
  [[nodiscard]] std::uint32_t row_of(TenantId tenant) const noexcept {
    const std::uint32_t row = serve::row_of(static_cast<serve::Handle>(tenant));
    const bool known = row < tenants_.size() && tenants_[row] == tenant;
    return known ? row : static_cast<std::uint32_t>(tenants_.size());
  }

  Mutex mutex_;
  UnreadRequests requests_;
  RequestTable known_;
  Vector<RequestId> cancels_;
  Vector<PauseNote> pauses_;
  Vector<TenantId> tenants_;    ///< by row; the host's is TenantId{}, as rows that no tenant has had
  Vector<std::size_t> unread_;  ///< requests, by row, and of strangers
  std::size_t most_unread_ = 0;
  std::uint64_t submitted_ = 0;  ///< requests
  Atomic<bool> mail_{false};
  Atomic<std::uint64_t> next_id_{1};
};

}  // namespace zrt::inline ZRT_ABI::detail
