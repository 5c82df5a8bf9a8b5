// SPDX-License-Identifier: Apache-2.0
// zrt/ops/index_space.hpp: the places that a loop visits in row-major order, in one tensor or in several at once.
#pragma once

#include <zrt/core/accumulator.hpp>
#include <zrt/ops/op.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// Axes with their strides in each of K tensors; neighbours that lie as one are one.
template <std::size_t K> class IndexSpace {
 public:
  /// Adds an axis inside all others.
  void add(std::uint64_t extent, const std::array<std::uint64_t, K>& stride) noexcept {
    elements_ *= extent;
    if (extent == 1) return;
    bool joins = rank_ > 0;
    for (std::size_t k = 0; k < K && joins; ++k) joins = axes_[rank_ - 1].stride[k] == extent * stride[k];
    if (joins)
      axes_[rank_ - 1] = {axes_[rank_ - 1].extent * extent, stride};
    else
      axes_[rank_++] = {extent, stride};
  }

  [[nodiscard]] std::uint64_t elements() const noexcept { return elements_; }

  /// The axes that there are, from the outermost to the innermost.
  struct Axis {
    std::uint64_t extent;
    std::array<std::uint64_t, K> stride;
  };
  [[nodiscard]] Span<const Axis> axes() const noexcept { return Span(axes_).first(rank_); }

  /// The strides of the one axis that a space of at most one has; a space of one place has strides of 1.
  [[nodiscard]] std::array<std::uint64_t, K> line() const noexcept {
    ZRT_ASSERT(is_line());
    std::array<std::uint64_t, K> stride;
    stride.fill(1);
    return rank_ == 0 ? stride : axes_[0].stride;
  }
  [[nodiscard]] bool is_line() const noexcept { return rank_ <= 1; }

  /// How far place `index` lies behind place 0 in each tensor; the space is not empty.
  [[nodiscard]] std::array<std::uint64_t, K> offsets(std::uint64_t index) const noexcept {
    std::array<std::uint64_t, K> offset{};
    for (std::size_t i = rank_; i-- > 0;) {
      const std::uint64_t at = index % axes_[i].extent;
      index /= axes_[i].extent;
      for (std::size_t k = 0; k < K; ++k) offset[k] += at * axes_[i].stride[k];
    }
    return offset;
  }

  /// Reads places [first, first + count) of tensor k, of `dtype` with place 0 at element `base`, cast to `as`.
  template <DomainValue T>
  void read(std::size_t k, DType dtype, const std::byte* data, std::uint64_t base, std::uint64_t first,
            std::uint64_t count, DType as, T* out) const noexcept {
    if (rank_ == 0 || (rank_ == 1 && axes_[0].stride[k] == 1))
      return unpack_as(dtype, data, base + first, count, as, out);
    for (std::uint64_t i = 0; i < count; ++i) unpack_as(dtype, data, base + offsets(first + i)[k], 1, as, out + i);
  }

 private:
  std::array<Axis, 2 * kMaxRank> axes_{};
  std::size_t rank_ = 0;
  std::uint64_t elements_ = 1;
};

}  // namespace zrt::inline ZRT_ABI::ops
