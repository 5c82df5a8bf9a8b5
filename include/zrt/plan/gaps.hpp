// SPDX-License-Identifier: Apache-2.0
// zrt/plan/gaps.hpp: the gaps between what lies in an arena, and the one that a block goes into.
#pragma once

#include <zrt/core/vector.hpp>

#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::detail {

/// Bytes [begin, begin + size) of an arena that nothing lies in.
struct Gap {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

/// Which gap comes before which.
struct ByBegin {
  [[nodiscard]] static bool before(const Gap& a, const Gap& b) noexcept { return a.begin < b.begin; }
};
struct BySize {
  [[nodiscard]] static bool before(const Gap& a, const Gap& b) noexcept {
    return a.size != b.size ? a.size < b.size : a.begin < b.begin;
  }
};

/// Gaps in one order: a treap, so that each call takes logarithmic time.
template <class Order> class OrderedGaps {
 public:
  explicit OrderedGaps(Allocator a) noexcept : nodes_(a), unused_(a) {}

  [[nodiscard]] Result<void> insert(const Gap& gap) noexcept {
    const auto made = make(gap);
    if (!made) return pass(made);
    const auto [before, after] = split(root_, gap);
    root_ = merge(merge(before, *made), after);
    return {};
  }
  /// Removes a gap that is here.
  [[nodiscard]] Result<void> erase(const Gap& gap) noexcept {
    const auto [before, rest] = split(root_, gap);
    const std::uint32_t first = leftmost(rest);
    root_ = merge(before, without_leftmost(rest));
    return unused_.push_back(first);
  }
  /// The first gap that does not come before `least`, or null.
  [[nodiscard]] const Gap* from(const Gap& least) const noexcept {
    const Gap* found = nullptr;
    for (std::uint32_t n = root_; n != kNone;) {
      const bool early = Order::before(nodes_[n].gap, least);
      if (!early) found = &nodes_[n].gap;
      n = early ? nodes_[n].right : nodes_[n].left;
    }
    return found;
  }
  /// The last gap that comes before `limit`, or null.
  [[nodiscard]] const Gap* last_before(const Gap& limit) const noexcept {
    const Gap* found = nullptr;
    for (std::uint32_t n = root_; n != kNone;) {
      const bool early = Order::before(nodes_[n].gap, limit);
      if (early) found = &nodes_[n].gap;
      n = early ? nodes_[n].right : nodes_[n].left;
    }
    return found;
  }
  /// The first gap of at least `bytes`, or null.
  [[nodiscard]] const Gap* first_of(std::uint64_t bytes) const noexcept {
    std::uint32_t n = root_;
    while (n != kNone && nodes_[n].largest >= bytes) {
      if (largest(nodes_[n].left) >= bytes)
        n = nodes_[n].left;
      else if (nodes_[n].gap.size >= bytes)
        return &nodes_[n].gap;
      else
        n = nodes_[n].right;
    }
    return nullptr;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Node {
    Gap gap{};
    std::uint64_t largest = 0;  ///< size of the largest gap from here down
    std::uint64_t weight = 0;   ///< no node has a heavier one above it: random, so that the tree stays flat
    std::uint32_t left = kNone;
    std::uint32_t right = kNone;
  };

  [[nodiscard]] Result<std::uint32_t> make(const Gap& gap) noexcept {
    weight_ = weight_ * 6364136223846793005u + 1442695040888963407u;
    const Node node{gap, gap.size, weight_ >> 16, kNone, kNone};
    if (unused_.empty()) {
      if (auto r = nodes_.push_back(node); !r) return pass(r);
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t at = unused_.back();
    unused_.pop_back();
    nodes_[at] = node;
    return at;
  }
  [[nodiscard]] std::uint64_t largest(std::uint32_t n) const noexcept { return n == kNone ? 0 : nodes_[n].largest; }
  std::uint32_t renewed(std::uint32_t n) noexcept {
    Node& node = nodes_[n];
    const std::uint64_t left = largest(node.left);
    const std::uint64_t right = largest(node.right);
    const std::uint64_t below = left > right ? left : right;
    node.largest = node.gap.size > below ? node.gap.size : below;
    return n;
  }
  /// What comes before `at` of the tree under `n`, and the rest.
  std::pair<std::uint32_t, std::uint32_t> split(std::uint32_t n, const Gap& at) noexcept {
    if (n == kNone) return {kNone, kNone};
    if (Order::before(nodes_[n].gap, at)) {
      const auto [before, rest] = split(nodes_[n].right, at);
      nodes_[n].right = before;
      return {renewed(n), rest};
    }
    const auto [before, rest] = split(nodes_[n].left, at);
    nodes_[n].left = rest;
    return {before, renewed(n)};
  }
  std::uint32_t merge(std::uint32_t before, std::uint32_t after) noexcept {
    if (before == kNone) return after;
    if (after == kNone) return before;
    if (nodes_[before].weight > nodes_[after].weight) {
      nodes_[before].right = merge(nodes_[before].right, after);
      return renewed(before);
    }
    nodes_[after].left = merge(before, nodes_[after].left);
    return renewed(after);
  }
  [[nodiscard]] std::uint32_t leftmost(std::uint32_t n) const noexcept {
    while (nodes_[n].left != kNone) n = nodes_[n].left;
    return n;
  }
  std::uint32_t without_leftmost(std::uint32_t n) noexcept {
    if (nodes_[n].left == kNone) return nodes_[n].right;
    nodes_[n].left = without_leftmost(nodes_[n].left);
    return renewed(n);
  }

  Vector<Node> nodes_;
  Vector<std::uint32_t> unused_;
  std::uint32_t root_ = kNone;
  std::uint64_t weight_ = 0;
};

/// An arena without an end, of which ranges are taken and released.
class Gaps {
 public:
  /// `smallest`: a block goes into the smallest gap that is large enough, else into the lowest one.
  Gaps(Allocator a, bool smallest) noexcept : by_begin_(a), by_size_(a), smallest_(smallest) {}

  /// Where the next block of `bytes` begins, which takes them.
  [[nodiscard]] Result<std::uint64_t> take(std::uint64_t bytes) noexcept {
    const Gap* found = smallest_ ? by_size_.from({0, bytes}) : by_begin_.first_of(bytes);
    if (found == nullptr) {
      const std::uint64_t base = top_;
      top_ += bytes;
      return base;
    }
    const Gap gap = *found;
    if (auto r = erase(gap); !r) return pass(r);
    if (gap.size != bytes)
      if (auto r = insert({gap.begin + bytes, gap.size - bytes}); !r) return pass(r);
    return gap.begin;
  }
  /// Bytes [begin, end), which were taken, are free from now on.
  [[nodiscard]] Result<void> release(std::uint64_t begin, std::uint64_t end) noexcept {
    Gap freed{begin, end - begin};
    if (const Gap* low = by_begin_.last_before(freed); low != nullptr && low->begin + low->size == begin) {
      freed = {low->begin, low->size + freed.size};
      if (auto r = erase(Gap(*low)); !r) return r;
    }
    if (const Gap* high = by_begin_.from({end, 0}); high != nullptr && high->begin == end) {
      freed.size += high->size;
      if (auto r = erase(Gap(*high)); !r) return r;
    }
    if (freed.begin + freed.size != top_) return insert(freed);
    top_ = freed.begin;
    return {};
  }

 private:
  [[nodiscard]] Result<void> insert(const Gap& gap) noexcept {
    if (auto r = by_begin_.insert(gap); !r) return r;
    return smallest_ ? by_size_.insert(gap) : Result<void>();
  }
  [[nodiscard]] Result<void> erase(const Gap& gap) noexcept {
    if (auto r = by_begin_.erase(gap); !r) return r;
    return smallest_ ? by_size_.erase(gap) : Result<void>();
  }

  OrderedGaps<ByBegin> by_begin_;
  OrderedGaps<BySize> by_size_;  ///< empty unless the smallest gap is wanted
  std::uint64_t top_ = 0;        ///< nothing lies from here on
  bool smallest_;
};

}  // namespace zrt::inline ZRT_ABI::plan::detail

ZRT_LOAD_TIME_END
