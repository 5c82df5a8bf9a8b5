// SPDX-License-Identifier: Apache-2.0
// zrt/plan/placement.hpp: offsets in one arena for blocks that live at different times.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/plan/gaps.hpp>
#include <zrt/plan/lives.hpp>

#include <array>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// How a block gets its place in the arena.
enum class Fit : std::uint8_t {
  /// Whichever way makes the arena smallest: by birth or from the largest to the smallest block, in the
  /// lowest or the smallest gap. From the largest on only while few thousand blocks live at the same time.
  least,
  first,  ///< block after block as they are born, in the lowest gap
  best,   ///< block after block as they are born, in the smallest gap
};

inline constexpr auto kFits = std::to_array({Fit::least, Fit::first, Fit::best});

[[nodiscard]] constexpr std::string_view name(Fit fit) noexcept {
  switch (fit) {
    case Fit::least:
      return "least";
    case Fit::first:
      return "first";
    case Fit::best:
      return "best";
  }
  return "unknown";
}

namespace detail {

enum class PlacementOrder : std::uint8_t { by_birth, by_size };

/// Where each block begins.
struct Placement {
  explicit Placement(Allocator a) noexcept : base(a) {}

  Vector<std::uint64_t> base;
  std::uint64_t arena_bytes = 0;
};

/// Places block after block where nothing lies that lives at the same time.
class Placer {
 public:
  Placer(const Storage& storage, Allocator allocator) noexcept
      : storage_(storage), taken_(allocator), allocator_(allocator) {}

  /// `smallest`: of all gaps the smallest that is large enough, else the lowest one. Returns false where the arena would
  /// not be smaller than `limit`, or where by_size would meet more than most_meetings() pieces.
  [[nodiscard]] Result<bool> run(PlacementOrder sequence, bool smallest, std::uint64_t limit, Placement& out) noexcept {
    if (auto r = out.base.resize(storage_.blocks.size()); !r) return pass(r);
    return sequence == PlacementOrder::by_birth ? by_birth(smallest, limit, out) : by_size(smallest, limit, out);
  }

  /// The most bytes that live at the same time, which no arena is smaller than. Known after a run by birth to its end.
  [[nodiscard]] std::uint64_t most_alive() const noexcept { return most_alive_; }

 private:
  /// Places of the block that are not free: `from` up to, but not including, `to`.
  struct Taken {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };

  // By birth. A piece that a block gets later lies within one that lives until then. So what lives when a block is born
  // is all that the block can meet, and the bytes of a block only ever become fewer.

  [[nodiscard]] Result<bool> by_birth(bool smallest, std::uint64_t limit, Placement& out) noexcept {
    Gaps gaps(allocator_, smallest);
    Lives lives(storage_, allocator_);
    std::uint64_t alive = 0;
    for (std::size_t block = 0; block < storage_.blocks.size(); ++block) {
      if (storage_.blocks[block].pieces == Storage::kNone) continue;
      const std::uint64_t bytes = storage_.blocks[block].bytes;
      for (const std::uint32_t now = lives.birth(block); lives.any_before(now); lives.pop()) {
        const LivePiece& dead = lives.first_to_die();
        if (auto r = gaps.release(dead.begin, dead.end); !r) return pass(r);
        alive -= dead.end - dead.begin;
      }
      const auto base = gaps.take(bytes);
      if (!base) return pass(base);
      alive += bytes;
      most_alive_ = alive > most_alive_ ? alive : most_alive_;
      if (!settle(block, *base, limit, out)) return false;
      if (auto r = lives.add(block, *base); !r) return pass(r);
    }
    return true;
  }

  /// Notes where a block begins; false where the arena is no smaller than `limit` with it.
  [[nodiscard]] bool settle(std::size_t block, std::uint64_t base, std::uint64_t limit, Placement& out) const noexcept {
    out.base[block] = base;
    const std::uint64_t end = base + storage_.blocks[block].bytes;
    out.arena_bytes = end > out.arena_bytes ? end : out.arena_bytes;
    return out.arena_bytes < limit;
  }

  // By size.

  /// A limit on the pieces that blocks meet, each counted once for each block: preparing a long program stays fast. Only
  /// where thousands of blocks live at the same time are there more.
  [[nodiscard]] std::uint64_t most_meetings() const noexcept {
    return (std::uint64_t{1} << 21) + 64 * storage_.pieces.size();
  }

  [[nodiscard]] Result<bool> by_size(bool smallest, std::uint64_t limit, Placement& out) noexcept {
    const auto order = largest_first();
    if (!order) return pass(order);
    LifeIndex placed(allocator_);
    if (auto r = placed.begin(storage_.pieces.span()); !r) return pass(r);
    std::uint64_t meetings = 0;
    for (std::uint32_t block : *order) {
      if (storage_.blocks[block].pieces == Storage::kNone) continue;
      if (auto r = find_taken(placed, block); !r) return pass(r);
      meetings += taken_.size();
      const std::uint64_t base = choose(smallest);
      if (!settle(block, base, limit, out) || meetings > most_meetings()) return false;
      for (std::uint32_t p = storage_.blocks[block].pieces; p != Storage::kNone; p = storage_.pieces[p].next)
        placed.place(p, base);
    }
    return true;
  }
  [[nodiscard]] Result<Vector<std::uint32_t>> largest_first() const noexcept {
    Vector<std::uint32_t> order(allocator_);
    if (auto r = order.resize(storage_.blocks.size()); !r) return pass(r);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    heap_sort(order.span(), [this](std::uint32_t a, std::uint32_t b) noexcept {
      const std::uint64_t x = storage_.blocks[a].bytes;
      const std::uint64_t y = storage_.blocks[b].bytes;
      return x != y ? x > y : a < b;
    });
    return order;
  }

  /// Finds where a piece of `block` would meet one that has been placed.
  [[nodiscard]] Result<void> find_taken(const LifeIndex& placed, std::uint32_t block) noexcept {
    taken_.clear();
    for (std::uint32_t p = storage_.blocks[block].pieces; p != Storage::kNone; p = storage_.pieces[p].next) {
      const LivePiece& mine = storage_.pieces[p];
      const auto meet = [&](const LivePiece& other) -> Result<void> {
        if (other.end <= mine.begin) return {};
        const std::uint64_t from = other.begin < mine.end ? 0 : other.begin - mine.end + 1;
        return taken_.push_back({from, other.end - mine.begin});
      };
      if (auto r = placed.each_alive(mine.first, mine.last, meet); !r) return r;
    }
    heap_sort(taken_.span(), [](const Taken& a, const Taken& b) noexcept { return a.from < b.from; });
    return {};
  }

  /// Offsets are multiples of kArenaAlign, because all lengths are.
  [[nodiscard]] std::uint64_t choose(bool smallest) const noexcept {
    std::uint64_t free = 0;
    std::uint64_t chosen = 0;
    std::uint64_t slack = ~std::uint64_t{0};
    for (const Taken& t : taken_) {
      if (t.from > free) {
        if (!smallest) return free;
        if (t.from - free < slack) {
          slack = t.from - free;
          chosen = free;
        }
      }
      free = t.to > free ? t.to : free;
    }
    return slack == ~std::uint64_t{0} ? free : chosen;
  }

  const Storage& storage_;
  Vector<Taken> taken_;
  std::uint64_t most_alive_ = 0;
  Allocator allocator_;
};

/// Places all blocks as `fit` says.
///
/// Errors: Errc::size_overflow when the blocks one after the other do not fit 64 bits, out_of_memory.
[[nodiscard]] inline Result<Placement> place(const Storage& storage, Fit fit, Allocator allocator) noexcept {
  constexpr std::uint64_t kAny = ~std::uint64_t{0};
  CheckedSize all = 0;
  for (const Block& block : storage.blocks) all += block.bytes;
  if (auto r = all.get("the arena"); !r) return pass(r);
  Placer placer(storage, allocator);
  Placement least(allocator);
  if (auto r = placer.run(PlacementOrder::by_birth, fit == Fit::best, kAny, least); !r) return pass(r);
  if (fit != Fit::least) return least;
  for (const auto& [sequence, smallest] :
       {std::pair{PlacementOrder::by_size, false}, {PlacementOrder::by_birth, true}, {PlacementOrder::by_size, true}}) {
    if (least.arena_bytes == placer.most_alive()) break;
    Placement other(allocator);
    const auto smaller = placer.run(sequence, smallest, least.arena_bytes, other);
    if (!smaller) return pass(smaller);
    if (*smaller) least = std::move(other);
  }
  return least;
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
