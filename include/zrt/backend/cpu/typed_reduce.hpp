// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/typed_reduce.hpp: folds over any axes of any type, results split over workers.
#pragma once

#include <zrt/backend/cpu/box_copy.hpp>
#include <zrt/backend/cpu/fold_run.hpp>
#include <zrt/backend/cpu/typed_elements.hpp>
#include <zrt/backend/cpu/typed_lines.hpp>
#include <zrt/ops/reduce.hpp>

#include <algorithm>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::cpu {

/// The folds of one kind in the domain of T.
template <ops::ReduceKind kKind, DomainValue T> class TypedReduce {
 public:
  TypedReduce(const HostCall<ops::Reduce>& c, const ExecutionContext& step) noexcept : c_(&c) {
    const ops::RowMajor x(c.in[0], step);
    for (std::size_t axis = 0; axis < x.rank; ++axis)
      (ops::Reduce::reduced(c.params, axis) ? folded_ : kept_).add(x.extent[axis], {x.stride[axis]});
  }

  /// Computes elements [first, last) of the output; `first` is even.
  void run(std::uint64_t first, std::uint64_t last) const noexcept {
    const ops::ReduceParams& p = c_->params;
    T results[kTypedRun];
    std::uint64_t filled = 0;
    for (std::uint64_t y = first; y < last;) {
      std::uint64_t width = 1;
      if (side_by_side()) {
        const std::uint64_t row = kept_.axes().back().extent;
        width = std::min({row - y % row, last - y, kWidth, kTypedRun - filled});
        columns(y, width, results + filled);
      } else {
        results[filled] = line(y);
      }
      y += width;
      filled += width;
      if (filled != kTypedRun && y != last) continue;
      write_accumulated(p.accum_dtype, results, filled, p.out_dtype,
                        c_->out[0].data + bytes_of(p.out_dtype, y - filled));
      filled = 0;
    }
  }

 private:
  /// Results that are folded side by side.
  static constexpr std::uint64_t kWidth = 64;
  using Lane = std::conditional_t<std::integral<T>, std::uint64_t, T>;

  /// Whether neighbouring results are folds of neighbours in x.
  [[nodiscard]] bool side_by_side() const noexcept {
    return !kept_.axes().empty() && kept_.axes().back().stride[0] == 1;
  }

  /// One result: the rows of the innermost folded axis, one after the other.
  [[nodiscard]] T line(std::uint64_t y) const noexcept {
    const ops::ReduceParams& p = c_->params;
    const std::uint64_t base = kept_.offsets(y)[0];
    FoldRun<kKind, T> fold(p.accum_dtype);
    if (folded_.elements() == 0) return fold.result();
    BoxWalk rows;
    ops::CopyAxis inner{1, 1, 0};
    for (const auto& axis : folded_.axes()) {
      if (&axis == &folded_.axes().back())
        inner = {axis.extent, axis.stride[0], 0};
      else
        rows.add({axis.extent, axis.stride[0], 0});
    }
    T run[kTypedRun];
    for (std::uint64_t row = 0; row < rows.places(); ++row, rows.next())
      for (std::uint64_t first = 0; first < inner.extent; first += kTypedRun) {
        const std::uint64_t count = std::min(inner.extent - first, kTypedRun);
        read_line(c_->in[0].type.dtype, c_->in[0].data, base + rows.from + first * inner.from_stride, inner.from_stride,
                  count, p.accum_dtype, run);
        fold.take(run, count);
      }
    return fold.result();
  }

  /// `width` results, lane by lane: one row of neighbours in x for every folded place.
  void columns(std::uint64_t y, std::uint64_t width, T* results) const noexcept {
    const ops::ReduceParams& p = c_->params;
    constexpr bool kSum = kKind == ops::ReduceKind::sum;
    constexpr std::size_t kLanes = kSum && std::floating_point<T> ? 16 : 1;
    const std::uint64_t base = kept_.offsets(y)[0];
    T lanes[kLanes][kWidth];
    for (auto& lane : lanes) std::fill_n(lane, width, ops::identity<T>(kKind, p.accum_dtype));
    BoxWalk places;
    for (const auto& axis : folded_.axes()) places.add({axis.extent, axis.stride[0], 0});
    const std::uint64_t count = folded_.elements();
    T run[kWidth];
    for (std::uint64_t n = 0; n < count; ++n, places.next()) {
      read_as(c_->in[0].type.dtype, c_->in[0].data, base + places.from, width, p.accum_dtype, run);
      T* lane = lanes[n % kLanes];
      for (std::uint64_t i = 0; i < width; ++i) lane[i] = ops::fold(kKind, lane[i], run[i]);
    }
    for (std::size_t half = kLanes / 2; half != 0; half /= 2)
      for (std::size_t n = 0; n < half; ++n)
        for (std::uint64_t i = 0; i < width; ++i) lanes[n][i] = ops::plus(lanes[n][i], lanes[n + half][i]);
    std::copy_n(lanes[0], width, results);
  }

  const HostCall<ops::Reduce>* c_;
  ops::IndexSpace<1> kept_;
  ops::IndexSpace<1> folded_;
};

/// A reduction of any types over any axes; results are split.
inline void typed_reduce(const HostCall<ops::Reduce>& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range part = split(c.out[0].elements(step), 64, worker);
  visit_domain(c.params.accum_dtype, [&]<class T>(std::type_identity<T>) {
    with_kind<ops::kReduceKinds>(
        c.params.kind, [&](auto kind) { TypedReduce<decltype(kind)::value, T>(c, step).run(part.first, part.last); });
  });
}

}  // namespace zrt::inline ZRT_ABI::cpu
ZRT_FP_END
