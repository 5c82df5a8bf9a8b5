// SPDX-License-Identifier: Apache-2.0
// zrt/engine/arrival_turns.hpp: which of the submitted requests a step reads.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/engine/unread_requests.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Lets tenants take turns where more requests have come than a step reads, so that no tenant's flood delays another's.
/// That takes a time that grows with the tenants and with what a step reads, not with what waits.
class ArrivalTurns {
 public:
  explicit ArrivalTurns(const Allocator& a) noexcept : parts_(a), turns_(a) {}

  /// For `rows` of the mailbox, and at most `most` requests a step, which are more than rows.
  [[nodiscard]] Result<void> reserve(std::size_t rows, std::size_t most) noexcept {
    ZRT_ASSERT(rows <= most);
    most_ = most;
    if (auto r = parts_.resize(rows); !r) return r;
    return turns_.reserve(rows);
  }

  /// Appends the requests that the step reads to `read`, oldest first, until that has as many as a step reads; it has
  /// room for them. All of them, where there are no more; else as many of each tenant as of any other that has more.
  void choose(UnreadRequests& unread, Vector<Owned<ActiveRequest>>& read) noexcept {
    if (unread.empty() || read.size() >= most_) return;
    share_out(unread, most_ - read.size());
    turns_.clear();
    for (std::size_t row = 0; row < parts_.size(); ++row)
      if (parts_[row] != 0) (void)turns_.push_back({unread.oldest(row)->submitted, row});
    for (std::size_t i = turns_.size(); i-- > 0;) sift_down(turns_.span(), i, comes_before);
    while (!turns_.empty()) {
      Turn& next = turns_[0];
      (void)read.push_back(unread.take(*unread.oldest(next.row)));
      if (--parts_[next.row] != 0) {
        next.submitted = unread.oldest(next.row)->submitted;
      } else {
        next = turns_.back();
        turns_.pop_back();
      }
      sift_down(turns_.span(), 0, comes_before);
    }
  }

 private:
  /// A tenant whose oldest request is read when it is the oldest of all.
  struct Turn {
    std::uint64_t submitted;
    std::size_t row;
  };
  [[nodiscard]] static bool comes_before(const Turn& a, const Turn& b) noexcept { return a.submitted < b.submitted; }

  /// Finds how many requests of each row are read, at most `room` in all: in each round, as many more of every row that
  /// has more as the smallest of them has, or as there is room for.
  void share_out(const UnreadRequests& unread, std::size_t room) noexcept {
    std::size_t each = 0;
    for (std::size_t rise = 1; rise != 0; each += rise) {
      std::size_t have_more = 0, least = 0;
      for (std::size_t row = 0; row < parts_.size(); ++row) {
        if (unread.count(row) <= each) continue;
        const std::size_t more = unread.count(row) - each;
        least = have_more++ == 0 || more < least ? more : least;
      }
      if (have_more == 0) break;
      rise = room / have_more < least ? room / have_more : least;
      room -= rise * have_more;
    }
    for (std::size_t row = 0; row < parts_.size(); ++row)
      parts_[row] = unread.count(row) < each ? unread.count(row) : each;
  }

  std::size_t most_ = 0;
  Vector<std::size_t> parts_;  ///< requests to read, by the mailbox's rows
  Vector<Turn> turns_;         ///< a heap
};

}  // namespace zrt::inline ZRT_ABI::detail
