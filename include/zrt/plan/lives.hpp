// SPDX-License-Identifier: Apache-2.0
// zrt/plan/lives.hpp: the pieces of an arena by the time at which they live.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/plan/storage.hpp>

#include <algorithm>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::detail {

/// What lies in an arena at some time, in the order in which it dies. The pieces of a block share no byte here: each
/// byte dies with the last of the block's pieces that it is part of.
class Lives {
 public:
  Lives(const Storage& storage, Allocator a) noexcept
      : storage_(storage), dying_(a), pieces_(a), borders_(a), alive_(a) {}

  /// When a block is born.
  [[nodiscard]] std::uint32_t birth(std::size_t block) const noexcept {
    std::uint32_t first = Storage::kNone;
    for (std::uint32_t p = storage_.blocks[block].pieces; p != Storage::kNone; p = storage_.pieces[p].next)
      first = std::min(first, storage_.pieces[p].first);
    return first;
  }
  /// Adds the pieces of a block that begins at `base`.
  [[nodiscard]] Result<void> add(std::size_t block, std::uint64_t base) noexcept {
    const std::uint32_t head = storage_.blocks[block].pieces;
    if (storage_.pieces[head].next == Storage::kNone) return add(storage_.pieces[head], base);
    pieces_.clear();
    borders_.clear();
    for (std::uint32_t p = head; p != Storage::kNone; p = storage_.pieces[p].next) {
      const LivePiece& piece = storage_.pieces[p];
      if (auto r = pieces_.push_back(piece); !r) return r;
      for (const std::uint64_t border : {piece.begin, piece.end})
        if (auto r = borders_.push_back(border); !r) return r;
    }
    return add_apart(base);
  }
  /// True where something dies before `now`.
  [[nodiscard]] bool any_before(std::uint32_t now) const noexcept { return !dying_.empty() && dying_.top().last < now; }
  [[nodiscard]] const LivePiece& first_to_die() const noexcept { return dying_.top(); }
  void pop() noexcept { dying_.pop(); }

 private:
  struct DiesFirst {
    bool operator()(const LivePiece& a, const LivePiece& b) const noexcept { return a.last < b.last; }
  };
  struct DiesLast {
    bool operator()(const LivePiece& a, const LivePiece& b) const noexcept { return a.last > b.last; }
  };

  [[nodiscard]] Result<void> add(LivePiece piece, std::uint64_t base) noexcept {
    piece.begin += base;
    piece.end += base;
    return dying_.push(piece);
  }
  /// Adds `pieces_`, cut at `borders_`.
  [[nodiscard]] Result<void> add_apart(std::uint64_t base) noexcept {
    heap_sort(pieces_.span(), [](const LivePiece& a, const LivePiece& b) noexcept { return a.begin < b.begin; });
    heap_sort(borders_.span(), [](std::uint64_t a, std::uint64_t b) noexcept { return a < b; });
    std::size_t next = 0;
    for (std::size_t i = 0; i + 1 < borders_.size(); ++i) {
      if (borders_[i] == borders_[i + 1]) continue;
      for (; next < pieces_.size() && pieces_[next].begin <= borders_[i]; ++next)
        if (auto r = alive_.push(pieces_[next]); !r) return r;
      while (alive_.top().end <= borders_[i]) alive_.pop();
      LivePiece part = alive_.top();
      part.begin = borders_[i];
      part.end = borders_[i + 1];
      if (auto r = add(part, base); !r) return r;
    }
    while (!alive_.empty()) alive_.pop();
    return {};
  }

  const Storage& storage_;
  PriorityQueue<LivePiece, DiesFirst> dying_;
  // Of add.
  Vector<LivePiece> pieces_;
  Vector<std::uint64_t> borders_;
  PriorityQueue<LivePiece, DiesLast> alive_;
};

/// Pieces that have been placed, to be found by when they live. Placing one takes logarithmic time, and so does each
/// one found.
class LifeIndex {
 public:
  explicit LifeIndex(Allocator a) noexcept : by_first_(a), rank_(a), until_(a) {}

  /// Begins with none of `pieces` placed.
  [[nodiscard]] Result<void> begin(Span<const LivePiece> pieces) noexcept {
    pieces_ = pieces;
    while (leaves_ < pieces.size()) leaves_ *= 2;
    if (auto r = until_.resize(2 * leaves_); !r) return r;
    if (auto r = rank_.resize(pieces.size()); !r) return r;
    for (std::size_t p = 0; p < pieces.size(); ++p)
      if (auto r = by_first_.push_back({pieces[p].first, static_cast<std::uint32_t>(p), 0}); !r) return r;
    heap_sort(by_first_.span(), [](const Born& a, const Born& b) noexcept {
      return a.first != b.first ? a.first < b.first : a.piece < b.piece;
    });
    for (std::size_t i = 0; i < by_first_.size(); ++i) rank_[by_first_[i].piece] = static_cast<std::uint32_t>(i);
    return {};
  }
  /// Places piece `p` of a block that begins at `base`.
  void place(std::uint32_t p, std::uint64_t base) noexcept {
    by_first_[rank_[p]].base = base;
    const std::uint32_t until = pieces_[p].last + 1;
    for (std::size_t node = leaves_ + rank_[p]; node > 0; node /= 2) until_[node] = std::max(until_[node], until);
  }
  /// Calls `visit` for each placed piece, where it lies in the arena, that lives at some time from `first` to `last`.
  template <class Visit>
  [[nodiscard]] Result<void> each_alive(std::uint32_t first, std::uint32_t last, const Visit& visit) const noexcept {
    const auto end = std::upper_bound(by_first_.begin(), by_first_.end(), last,
                                      [](std::uint32_t at, const Born& born) { return at < born.first; });
    return each(1, 0, leaves_, static_cast<std::size_t>(end - by_first_.begin()), first, visit);
  }

 private:
  struct Born {
    std::uint32_t first = 0;
    std::uint32_t piece = 0;
    std::uint64_t base = 0;  ///< of its block, once it is placed
  };

  /// Of the pieces under `node`, whose ranks are from `begin` on, those below rank `end` that live after `first`.
  template <class Visit>
  [[nodiscard]] Result<void> each(std::size_t node, std::size_t begin, std::size_t count, std::size_t end,
                                  std::uint32_t first, const Visit& visit) const noexcept {
    if (begin >= end || until_[node] <= first) return {};
    if (count == 1) return visit(placed(by_first_[begin]));
    if (auto r = each(2 * node, begin, count / 2, end, first, visit); !r) return r;
    return each(2 * node + 1, begin + count / 2, count / 2, end, first, visit);
  }
  [[nodiscard]] LivePiece placed(const Born& born) const noexcept {
    LivePiece piece = pieces_[born.piece];
    piece.begin += born.base;
    piece.end += born.base;
    return piece;
  }

  Span<const LivePiece> pieces_{};
  Vector<Born> by_first_;
  Vector<std::uint32_t> rank_;   ///< by piece: its place in by_first_
  Vector<std::uint32_t> until_;  ///< by node of a binary tree over by_first_: when the last that is placed has died
  std::size_t leaves_ = 1;
};

}  // namespace zrt::inline ZRT_ABI::plan::detail

ZRT_LOAD_TIME_END
