// SPDX-License-Identifier: Apache-2.0
// zrt/core/heap.hpp: a binary heap: a priority queue whose growth can fail, and sorting without memory.
#pragma once

#include <zrt/core/vector.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

namespace detail {

/// Lets the element at `at` sink below those that come before it.
template <class T, class Before> constexpr void sift_down(Span<T> heap, std::size_t at, Before before) noexcept {
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap.size()) return;
    if (child + 1 < heap.size() && before(heap[child + 1], heap[child])) ++child;
    if (!before(heap[child], heap[at])) return;
    std::swap(heap[child], heap[at]);
    at = child;
  }
}

}  // namespace detail

/// Sorts in place by a strict weak order, in n log n steps. Equal elements end up in any order, the
/// same one every time.
template <class T, class Before> constexpr void heap_sort(Span<T> items, Before before) noexcept {
  // The last element on top of the heap, so that it goes to the back.
  const auto after = [&](const T& a, const T& b) noexcept { return before(b, a); };
  for (std::size_t i = items.size() / 2; i-- > 0;) detail::sift_down(items, i, after);
  for (std::size_t left = items.size(); left > 1; --left) {
    std::swap(items[0], items[left - 1]);
    detail::sift_down(items.first(left - 1), 0, after);
  }
}

/// Gives out first what comes before everything else in it. `Before` is a strict weak order.
template <class T, class Before> class PriorityQueue {
 public:
  explicit PriorityQueue(Allocator allocator, Before before = {}) noexcept : items_(allocator), before_(before) {}

  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] const T& top() const noexcept { return items_[0]; }

  [[nodiscard]] Result<void> push(const T& item) noexcept {
    if (auto r = items_.push_back(item); !r) return r;
    for (std::size_t at = items_.size() - 1; at != 0 && before_(items_[at], items_[(at - 1) / 2]); at = (at - 1) / 2)
      std::swap(items_[at], items_[(at - 1) / 2]);
    return {};
  }
  void pop() noexcept {
    std::swap(items_[0], items_.back());
    items_.pop_back();
    detail::sift_down(items_.span(), 0, before_);
  }

 private:
  Vector<T> items_;
  Before before_;
};

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
