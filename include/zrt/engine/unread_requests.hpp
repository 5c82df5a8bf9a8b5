// SPDX-License-Identifier: Apache-2.0
// zrt/engine/unread_requests.hpp: submitted requests that no step has read, in a queue per tenant.
#pragma once

#include <zrt/engine/active_request.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// A queue for each of the mailbox's rows of tenants, oldest first.
///
/// The links lie in the requests: nothing here allocates but `reserve`, and all of it but `take_oldest`, `merge` and
/// `each` takes a time that does not grow with the requests.
class UnreadRequests {
 public:
  explicit UnreadRequests(const Allocator& a) noexcept : rows_(a) {}
  UnreadRequests(const UnreadRequests&) = delete;
  UnreadRequests& operator=(const UnreadRequests&) = delete;
  // Here and not in a request's destructor, which would call itself for the next one, and that for the one after.
  ~UnreadRequests() {
    for (Queue& queue : rows_)
      while (queue.first) (void)take(*queue.first);
  }

  [[nodiscard]] Result<void> reserve(std::size_t rows) noexcept { return rows_.resize(rows); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }
  [[nodiscard]] std::size_t count(std::size_t row) const noexcept { return rows_[row].count; }
  /// The oldest of a row, or null.
  [[nodiscard]] ActiveRequest* oldest(std::size_t row) const noexcept { return rows_[row].first.get(); }

  /// Puts a request behind those of its row.
  void push(Owned<ActiveRequest> request) noexcept {
    request->unread = true;
    ++size_;
    rows_[request->tenant_row].push(std::move(request));
  }
  /// Takes out a request that is here.
  [[nodiscard]] Owned<ActiveRequest> take(ActiveRequest& a) noexcept {
    ZRT_ASSERT(a.unread);
    --size_;
    a.unread = false;
    return rows_[a.tenant_row].take(a);
  }
  /// Takes out the one that was submitted first, or none. Takes a time that grows with the rows.
  [[nodiscard]] Owned<ActiveRequest> take_oldest() noexcept {
    ActiveRequest* found = nullptr;
    for (const Queue& queue : rows_)
      if (queue.first && (found == nullptr || queue.first->submitted < found->submitted)) found = queue.first.get();
    return found == nullptr ? Owned<ActiveRequest>{} : take(*found);
  }

  /// Takes all of `others`, of as many rows, behind its own.
  void append(UnreadRequests& others) noexcept {
    for (std::size_t row = 0; row < rows_.size(); ++row) rows_[row].append(others.rows_[row]);
    size_ += std::exchange(others.size_, 0);
  }
  /// Gives the requests of one row to another, in the order in which all of them were submitted.
  void merge(std::uint32_t from, std::uint32_t to) noexcept {
    Queue both;
    for (Queue &a = rows_[from], &b = rows_[to]; a.first || b.first;) {
      const bool first = !b.first || (a.first && a.first->submitted < b.first->submitted);
      Queue& queue = first ? a : b;
      Owned<ActiveRequest> next = queue.take(*queue.first);
      next->tenant_row = to;
      both.push(std::move(next));
    }
    rows_[to] = std::move(both);
  }

  /// Calls `f(request)` for each, row by row.
  template <class F> void each(const F& f) const noexcept {
    for (const Queue& queue : rows_)
      for (const ActiveRequest* a = queue.first.get(); a != nullptr; a = a->younger.get()) f(*a);
  }

 private:
  struct Queue {
    Owned<ActiveRequest> first;
    ActiveRequest* last = nullptr;
    std::size_t count = 0;

    void push(Owned<ActiveRequest> request) noexcept {
      ActiveRequest* const pushed = request.get();
      pushed->older = last;
      (last == nullptr ? first : last->younger) = std::move(request);
      last = pushed;
      ++count;
    }
    [[nodiscard]] Owned<ActiveRequest> take(ActiveRequest& a) noexcept {
      Owned<ActiveRequest>& link = a.older == nullptr ? first : a.older->younger;
      Owned<ActiveRequest> taken = std::move(link);
      link = std::move(a.younger);
      (link ? link->older : last) = a.older;
      a.older = nullptr;
      --count;
      return taken;
    }
    void append(Queue& others) noexcept {
      if (!others.first) return;
      others.first->older = last;
      (last == nullptr ? first : last->younger) = std::move(others.first);
      last = std::exchange(others.last, nullptr);
      count += std::exchange(others.count, 0);
    }
  };

  Vector<Queue> rows_;
  std::size_t size_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::detail
