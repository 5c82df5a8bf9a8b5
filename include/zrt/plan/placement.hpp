// SPDX-License-Identifier: Apache-2.0
// zrt/plan/placement.hpp: offsets in one arena for blocks that live at different times.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/plan/storage.hpp>

#include <array>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// How a block gets its place in the arena.
enum class Fit : std::uint8_t {
  /// Whichever way makes the arena smallest: by birth or from the largest to the smallest block, in the
  /// lowest or the smallest gap.
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

/// Places block after block where nothing lies that lives at the same time. Takes as many steps as there
/// are pairs of pieces, at most.
class Placer {
 public:
  Placer(const Storage& storage, Allocator allocator) noexcept
      : storage_(storage), placed_(allocator), taken_(allocator), order_(allocator), allocator_(allocator) {}

  /// `smallest`: of all gaps the smallest that is large enough, else the lowest one.
  [[nodiscard]] Result<Placement> run(PlacementOrder sequence, bool smallest) noexcept {
    Placement out(allocator_);
    placed_.clear();
    if (auto r = out.base.resize(storage_.blocks.size()); !r) return pass(r);
    if (auto r = order_.resize(storage_.blocks.size()); !r) return pass(r);
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::uint32_t>(i);
    if (sequence == PlacementOrder::by_size)
      heap_sort(order_.span(), [this](std::uint32_t a, std::uint32_t b) noexcept {
        const std::uint64_t x = storage_.blocks[a].bytes;
        const std::uint64_t y = storage_.blocks[b].bytes;
        return x != y ? x > y : a < b;
      });
    for (std::uint32_t block : order_) {
      if (storage_.blocks[block].pieces == Storage::kNone) continue;
      if (sequence == PlacementOrder::by_birth) forget_before(birth(block));
      if (auto r = find_taken(block); !r) return pass(r);
      const std::uint64_t base = choose(smallest);
      out.base[block] = base;
      const std::uint64_t end = base + storage_.blocks[block].bytes;
      out.arena_bytes = end > out.arena_bytes ? end : out.arena_bytes;
      for (std::uint32_t p = storage_.blocks[block].pieces; p != Storage::kNone; p = storage_.pieces[p].next) {
        LivePiece piece = storage_.pieces[p];
        piece.begin += base;
        piece.end += base;
        if (auto r = insert(piece); !r) return pass(r);
      }
    }
    return out;
  }

 private:
  /// Places of the block that are not free: `from` up to, but not including, `to`.
  struct Taken {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };

  [[nodiscard]] std::uint32_t birth(std::uint32_t block) const noexcept {
    std::uint32_t first = Storage::kNone;
    for (std::uint32_t p = storage_.blocks[block].pieces; p != Storage::kNone; p = storage_.pieces[p].next)
      first = storage_.pieces[p].first < first ? storage_.pieces[p].first : first;
    return first;
  }

  /// Keeps what has been placed in the order of where it begins.
  [[nodiscard]] Result<void> insert(const LivePiece& piece) noexcept {
    if (auto r = placed_.push_back(piece); !r) return r;
    std::size_t at = placed_.size() - 1;
    for (; at != 0 && placed_[at - 1].begin > piece.begin; --at) placed_[at] = placed_[at - 1];
    placed_[at] = piece;
    return {};
  }

  /// Drops what died before `now`: no later block meets it.
  void forget_before(std::uint32_t now) noexcept {
    std::size_t kept = 0;
    for (const LivePiece& piece : placed_)
      if (piece.last >= now) placed_[kept++] = piece;
    while (placed_.size() > kept) placed_.pop_back();
  }

  /// Finds where a piece of `block` would meet one that has been placed.
  [[nodiscard]] Result<void> find_taken(std::uint32_t block) noexcept {
    taken_.clear();
    for (std::uint32_t p = storage_.blocks[block].pieces; p != Storage::kNone; p = storage_.pieces[p].next) {
      const LivePiece& mine = storage_.pieces[p];
      for (const LivePiece& other : placed_) {
        if (mine.last < other.first || other.last < mine.first || other.end <= mine.begin) continue;
        const std::uint64_t from = other.begin < mine.end ? 0 : other.begin - mine.end + 1;
        if (auto r = taken_.push_back({from, other.end - mine.begin}); !r) return r;
      }
    }
    // Those of one piece are in order already.
    if (storage_.pieces[storage_.blocks[block].pieces].next != Storage::kNone)
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
  Vector<LivePiece> placed_;
  Vector<Taken> taken_;
  Vector<std::uint32_t> order_;
  Allocator allocator_;
};

/// Places all blocks as `fit` says.
///
/// Errors: Errc::size_overflow when the blocks one after the other do not fit 64 bits, out_of_memory.
[[nodiscard]] inline Result<Placement> place(const Storage& storage, Fit fit, Allocator allocator) noexcept {
  CheckedSize all = 0;
  for (const Block& block : storage.blocks) all += block.bytes;
  if (auto r = all.get("the arena"); !r) return pass(r);
  Placer placer(storage, allocator);
  if (fit != Fit::least) return placer.run(PlacementOrder::by_birth, fit == Fit::best);
  Placement least(allocator);
  least.arena_bytes = ~std::uint64_t{0};
  for (const bool smallest : {false, true}) {
    for (const PlacementOrder sequence : {PlacementOrder::by_birth, PlacementOrder::by_size}) {
      auto other = placer.run(sequence, smallest);
      if (!other) return other;
      if (other->arena_bytes < least.arena_bytes) least = std::move(*other);
    }
  }
  return least;
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
