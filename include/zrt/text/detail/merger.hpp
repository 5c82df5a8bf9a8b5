// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/merger.hpp: repeated merging of the best pair of neighbours, for both kinds of vocabulary.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/text/detail/text_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::text::detail {

/// What two neighbours would become: a lower priority goes first. No merge has the token kNoToken.
struct Merge {
  std::uint32_t priority = 0;
  std::int32_t token = kNoToken;
};

/// Merges neighbouring symbols best pair first, the leftmost of equals, in O(n log n).
///
/// A symbol stands at the index of its first byte, so that its place and its index are one number.
/// Holds scratch memory that is kept from one text to the next.
class Merger {
 public:
  explicit Merger(const Allocator& allocator) noexcept : symbols_(allocator), queue_(allocator) {}

  /// Makes room for a text of `bytes` bytes and forgets the one before.
  [[nodiscard]] Result<void> start(std::size_t bytes) noexcept {
    last_ = kNone;
    queue_.clear();
    if (symbols_.size() < bytes) return symbols_.resize(bytes);
    return {};
  }

  /// Adds the next symbol from the left: bytes [at, at + length).
  void add(std::uint32_t at, std::uint32_t length, std::int32_t token) noexcept {
    symbols_[at] = {length, last_, kNone, token};
    if (last_ != kNone) symbols_[last_].next = at;
    last_ = at;
  }

  /// Merges until no pair is left for which `lookup(at, left, right)` knows a merge.
  template <class Lookup> [[nodiscard]] Result<void> run(const Lookup& lookup) noexcept {
    for (std::uint32_t at = last_ == kNone ? kNone : 0; at != kNone; at = symbols_[at].next)
      if (auto r = consider(at, lookup); !r) return r;
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), &later);
      const Candidate best = queue_.back();
      queue_.pop_back();
      const auto at = static_cast<std::uint32_t>(best.order & 0xffffffffu);
      Symbol& left = symbols_[at];
      // Lengths tell a stale candidate: symbols only grow, and an absorbed one has length 0.
      if (left.length == 0 || left.next == kNone || left.length + symbols_[left.next].length != best.length) continue;
      Symbol& right = symbols_[left.next];
      left.length = best.length;
      left.token = best.token;
      left.next = right.next;
      right.length = 0;
      if (left.next != kNone) symbols_[left.next].previous = at;
      if (left.previous != kNone)
        if (auto r = consider(left.previous, lookup); !r) return r;
      if (auto r = consider(at, lookup); !r) return r;
    }
    return {};
  }

  /// Calls `take(at, length, token)` for each symbol from the left, as long as it succeeds.
  template <class Take> [[nodiscard]] Result<void> each(const Take& take) const noexcept {
    for (std::uint32_t at = last_ == kNone ? kNone : 0; at != kNone; at = symbols_[at].next)
      if (auto r = take(at, symbols_[at].length, symbols_[at].token); !r) return r;
    return {};
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Symbol {
    std::uint32_t length = 0;
    std::uint32_t previous = kNone;
    std::uint32_t next = kNone;
    std::int32_t token = kNoToken;
  };
  struct Candidate {
    std::uint64_t order = 0;  // priority, then place
    std::uint32_t length = 0;
    std::int32_t token = kNoToken;
  };

  static bool later(const Candidate& a, const Candidate& b) noexcept { return a.order > b.order; }

  template <class Lookup> [[nodiscard]] Result<void> consider(std::uint32_t at, const Lookup& lookup) noexcept {
    const Symbol& left = symbols_[at];
    if (left.next == kNone) return {};
    const Symbol& right = symbols_[left.next];
    const std::uint32_t length = left.length + right.length;
    const Merge merge = lookup(at, length, left.token, right.token);
    if (merge.token == kNoToken) return {};
    if (auto r = queue_.push_back({(std::uint64_t{merge.priority} << 32) | at, length, merge.token}); !r) return r;
    std::push_heap(queue_.begin(), queue_.end(), &later);
    return {};
  }

  Vector<Symbol> symbols_;
  Vector<Candidate> queue_;
  std::uint32_t last_ = kNone;
};

}  // namespace zrt::inline ZRT_ABI::text::detail
