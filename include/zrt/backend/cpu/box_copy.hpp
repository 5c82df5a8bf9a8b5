// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/box_copy.hpp: moving the elements of a box, its pieces split over workers.
#pragma once

#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/strided_copy.hpp>

#include <array>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

/// Walks the places of some axes in row-major order and keeps how far they lie from the first one on either side.
class BoxWalk {
 public:
  /// Adds an axis inside all others.
  void add(const ops::CopyAxis& axis) noexcept { axis_[rank_++] = axis; }

  [[nodiscard]] std::uint64_t places() const noexcept {
    std::uint64_t count = 1;
    for (std::size_t i = 0; i < rank_; ++i) count *= axis_[i].extent;
    return count;
  }
  /// Goes to place `index`; there is one.
  void seek(std::uint64_t index) noexcept {
    from = to = 0;
    for (std::size_t i = rank_; i-- > 0;) {
      at_[i] = index % axis_[i].extent;
      index /= axis_[i].extent;
      from += at_[i] * axis_[i].from_stride;
      to += at_[i] * axis_[i].to_stride;
    }
  }
  void next() noexcept {
    for (std::size_t i = rank_; i-- > 0;) {
      const ops::CopyAxis& axis = axis_[i];
      from += axis.from_stride;
      to += axis.to_stride;
      if (++at_[i] != axis.extent) return;
      at_[i] = 0;
      from -= axis.from_stride * axis.extent;
      to -= axis.to_stride * axis.extent;
    }
  }
  /// The index on the axis that was added `back` before the last one.
  [[nodiscard]] std::uint64_t at(std::size_t back) const noexcept { return at_[rank_ - 1 - back]; }

  std::uint64_t from = 0;
  std::uint64_t to = 0;

 private:
  static constexpr std::size_t kAxes = ops::kMaxCopyAxes + 2;
  std::array<ops::CopyAxis, kAxes> axis_{};
  std::array<std::uint64_t, kAxes> at_{};
  std::size_t rank_ = 0;
};

/// A box of elements of whole bytes as pieces of two axes: `count` units of each are moved at a time.
///
/// A unit is a word of 1, 2, 4, 8 or 16 bytes, or a byte of a run of neighbours. Strides are in bytes.
struct BoxPieces {
  struct Axis {
    std::uint64_t extent = 1;
    std::uint64_t count = 1;
    std::uint64_t from_stride = 0;
    std::uint64_t to_stride = 0;
  };
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::uint64_t word = 0;  ///< bytes of a word, or 0 where the inner axis is a run
  std::uint64_t pieces = 0;
  Axis outer{};
  Axis inner{};
  BoxWalk walk{};

  /// Describes elements of `bytes` bytes each. Neighbouring axes that lie as one on both sides are one; elements
  /// that stay together are one run or one larger word; where the order changes, the axis whose elements are
  /// neighbours at `source` is taken in tiles with the one whose elements are neighbours at `target`.
  BoxPieces() = default;
  BoxPieces(std::uint64_t bytes, const std::byte* source, std::byte* target, const ops::CopyBox& box) noexcept {
    std::array<ops::CopyAxis, ops::kMaxCopyAxes> axes{};
    std::size_t rank = 0;
    for (std::size_t i = 0; i < box.rank; ++i) {
      const ops::CopyAxis axis{box.axis[i].extent, box.axis[i].from_stride * bytes, box.axis[i].to_stride * bytes};
      if (axis.extent == 0) return;
      if (axis.extent == 1) continue;
      const bool joins = rank != 0 && axes[rank - 1].from_stride == axis.extent * axis.from_stride &&
                         axes[rank - 1].to_stride == axis.extent * axis.to_stride;
      if (joins)
        axes[rank - 1] = {axes[rank - 1].extent * axis.extent, axis.from_stride, axis.to_stride};
      else
        axes[rank++] = axis;
    }
    // Not before: of a box without elements either may be null.
    from = source + box.from_first * bytes;
    to = target + box.to_first * bytes;
    std::uint64_t unit = bytes;
    if (rank != 0 && axes[rank - 1].from_stride == bytes && axes[rank - 1].to_stride == bytes)
      unit *= axes[--rank].extent;
    const bool is_word = unit <= 16 && (unit & (unit - 1)) == 0;
    const auto take = [&](std::size_t which, std::uint64_t count) noexcept {
      const ops::CopyAxis axis = axes[which];
      for (std::size_t i = which; i + 1 < rank; ++i) axes[i] = axes[i + 1];
      --rank;
      return Axis{axis.extent, count, axis.from_stride, axis.to_stride};
    };
    if (!is_word) {
      inner = {unit, kRunBytes, 1, 1};
      if (rank != 0) outer = take(rank - 1, kRunBytes / unit + 1);
    } else {
      word = unit;
      if (rank != 0) inner = take(rank - 1, kWords);
      if (inner.to_stride == unit && inner.from_stride > unit)
        for (std::size_t i = rank; i-- > 0;)
          if (axes[i].from_stride == unit) {
            outer = take(i, kTile);
            inner.count = kTile;
            break;
          }
    }
    for (std::size_t i = 0; i < rank; ++i) walk.add(axes[i]);
    for (const Axis& axis : {outer, inner})
      walk.add(
          {(axis.extent + axis.count - 1) / axis.count, axis.count * axis.from_stride, axis.count * axis.to_stride});
    pieces = walk.places();
  }

 private:
  static constexpr std::uint64_t kRunBytes = 16384;
  static constexpr std::uint64_t kWords = 4096;
  static constexpr std::uint64_t kTile = 32;
};

namespace detail {

template <std::size_t kBytes> struct CopyWord {
  std::byte bytes[kBytes];
};

/// Moves `rows` times `cols` words of a piece.
template <std::size_t kBytes>
void move_words(const BoxPieces& box, const std::byte* from, std::byte* to, std::uint64_t rows,
                std::uint64_t cols) noexcept {
  using W = CopyWord<kBytes>;
  const auto load = [](const std::byte* p) noexcept {
    W word;
    std::memcpy(&word, p, kBytes);
    return word;
  };
  const std::uint64_t apart = box.inner.from_stride;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const std::byte* source = from + r * box.outer.from_stride;
    std::byte* target = to + r * box.outer.to_stride;
    if (box.inner.to_stride != kBytes) {
      for (std::uint64_t c = 0; c < cols; ++c)
        std::memcpy(target + c * box.inner.to_stride, source + c * apart, kBytes);
    } else if (apart == 0) {
      const W word = load(source);
      for (std::uint64_t c = 0; c < cols; ++c) std::memcpy(target + c * kBytes, &word, kBytes);
    } else {
      for (std::uint64_t c = 0; c < cols; ++c) {
        const W word = load(source + c * apart);
        std::memcpy(target + c * kBytes, &word, kBytes);
      }
    }
  }
}

}  // namespace detail

/// Moves this worker's pieces. A kernel: pieces are split.
inline void move_pieces(const BoxPieces& box, const ExecutionContext&, const Worker& worker) noexcept {
  const Range part = split(box.pieces, 1, worker);
  if (part.first == part.last) return;
  BoxWalk walk = box.walk;
  walk.seek(part.first);
  for (std::uint64_t i = part.first; i < part.last; ++i, walk.next()) {
    const auto left = [](const BoxPieces::Axis& axis, std::uint64_t at) noexcept {
      const std::uint64_t rest = axis.extent - at * axis.count;
      return rest < axis.count ? rest : axis.count;
    };
    const std::uint64_t rows = left(box.outer, walk.at(1));
    const std::uint64_t cols = left(box.inner, walk.at(0));
    const std::byte* from = box.from + walk.from;
    std::byte* to = box.to + walk.to;
    switch (box.word) {
      case 1:
        detail::move_words<1>(box, from, to, rows, cols);
        break;
      case 2:
        detail::move_words<2>(box, from, to, rows, cols);
        break;
      case 4:
        detail::move_words<4>(box, from, to, rows, cols);
        break;
      case 8:
        detail::move_words<8>(box, from, to, rows, cols);
        break;
      case 16:
        detail::move_words<16>(box, from, to, rows, cols);
        break;
      default:
        for (std::uint64_t r = 0; r < rows; ++r)
          std::memcpy(to + r * box.outer.to_stride, from + r * box.outer.from_stride, cols);
    }
  }
}

/// Copies the elements of a box of any plain type; the sides do not overlap, and no other box of the call has a byte
/// of its target.
///
/// Two 4-bit elements share a byte: where the box fills its target from the first element on in order, workers
/// split it at even ones; else one worker moves all of them.
inline void copy_box(DType dtype, const std::byte* from, std::byte* to, const ops::CopyBox& box,
                     const ExecutionContext& step, const Worker& worker) noexcept {
  if (info(dtype).block_elems == 1) return move_pieces({info(dtype).block_bytes, from, to, box}, step, worker);
  BoxWalk walk;
  bool in_order = box.to_first == 0;
  std::uint64_t run = 1;
  for (std::size_t i = 0; i < box.rank; ++i) walk.add(box.axis[i]);
  for (std::size_t i = box.rank; i-- > 0; run *= box.axis[i].extent)
    in_order = in_order && (box.axis[i].extent == 1 || box.axis[i].to_stride == run);
  const Range part = split(walk.places(), in_order ? 2 : ~std::uint64_t{0} / 2, worker);
  if (part.first == part.last) return;
  walk.seek(part.first);
  for (std::uint64_t i = part.first; i < part.last; ++i, walk.next())
    copy_elements(dtype, from, box.from_first + walk.from, to, box.to_first + walk.to, 1);
}

/// Writes `value`, as it stands in a tensor of `dtype`, to the first `count` elements at `to`.
inline void fill_elements(DType dtype, const std::byte* value, std::byte* to, std::uint64_t count,
                          const ExecutionContext& step, const Worker& worker) noexcept {
  ops::CopyBox box;
  box.add(count, 0, 1);
  copy_box(dtype, value, to, box, step, worker);
}

/// Copies the bytes of the first `count` elements at `from`.
inline void copy_all(DType dtype, const std::byte* from, std::byte* to, std::uint64_t count,
                     const ExecutionContext& step, const Worker& worker) noexcept {
  ops::CopyBox box;
  box.add(bytes_of(dtype, count), 1, 1);
  copy_box(DType::ui8, from, to, box, step, worker);
}

/// Sets the bytes of the first `count` elements at `to` to 0.
inline void clear_elements(DType dtype, std::byte* to, std::uint64_t count, const ExecutionContext& step,
                           const Worker& worker) noexcept {
  constexpr std::byte kZero{};
  fill_elements(DType::ui8, &kZero, to, bytes_of(dtype, count), step, worker);
}

}  // namespace zrt::inline ZRT_ABI::cpu
