// SPDX-License-Identifier: Apache-2.0
// zrt/engine/request_table.hpp: requests by their ids.
#pragma once

#include <zrt/engine/active_request.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Finds requests that have not ended by their ids, at once: ids are counted up, so those of requests that came together
/// lie in buckets side by side. The chains of the buckets lie in the requests; only `reserve` allocates.
class RequestTable {
 public:
  explicit RequestTable(const Allocator& a) noexcept : buckets_(a) {}

  /// Makes room for `count` requests; more make the look-up slower. After an error all is as it was.
  [[nodiscard]] Result<void> reserve(std::size_t count) noexcept {
    constexpr std::size_t kLeast = 16, kInABucket = 2;
    std::size_t buckets = kLeast;
    while (buckets < count / kInABucket) buckets *= 2;
    if (buckets <= buckets_.size()) return {};
    RequestTable larger(buckets_.allocator());
    if (auto r = larger.buckets_.resize(buckets); !r) return r;
    for (ActiveRequest* next : buckets_)
      while (next != nullptr) larger.add(*std::exchange(next, next->next_in_bucket));
    buckets_ = std::move(larger.buckets_);
    return {};
  }

  void add(ActiveRequest& a) noexcept {
    ActiveRequest*& head = bucket(a.id);
    a.next_in_bucket = head;
    head = &a;
  }
  /// Forgets a request; one that is not here leaves all as it is.
  void drop(const ActiveRequest& a) noexcept {
    ActiveRequest** link = &bucket(a.id);
    while (*link != nullptr && *link != &a) link = &(*link)->next_in_bucket;
    if (*link != nullptr) *link = a.next_in_bucket;
  }
  /// A request, or null.
  [[nodiscard]] ActiveRequest* find(RequestId id) noexcept {
    ActiveRequest* a = bucket(id);
    while (a != nullptr && a->id != id) a = a->next_in_bucket;
    return a;
  }

 private:
  [[nodiscard]] ActiveRequest*& bucket(RequestId id) noexcept {
    return buckets_[static_cast<std::uint64_t>(id) & (buckets_.size() - 1)];
  }

  Vector<ActiveRequest*> buckets_;  ///< a power of two of them
};

}  // namespace zrt::inline ZRT_ABI::detail
