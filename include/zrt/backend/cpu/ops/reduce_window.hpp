// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/reduce_window.hpp: folds under a window that slides along every axis.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/typed_elements.hpp>
#include <zrt/ops/reduce_window.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::cpu {

/// x in the accumulator's domain where it is not of it, and behind a fence the folds.
template <> struct Adapter<ops::ReduceWindow> {
  static constexpr Loops loops = Loops::typed;

  static constexpr CheckedSize scratch(const TypeCall<ops::ReduceWindow>& c, const Extents& bounds) noexcept {
    if (stays(c.in[0].type.dtype, c.params.accum_dtype)) return 0;
    return c.in[0].type.shape.elements(bounds) * CheckedSize(ops::domain_bytes(c.params.accum_dtype));
  }
  static Result<void> record(Recorder& r, const HostCall<ops::ReduceWindow>& c) noexcept {
    if (!stays(c.in[0].type.dtype, c.params.accum_dtype))
      if (auto widened = r.push(&widen, c); !widened) return widened;
    return r.push(&fold, c);
  }

 private:
  /// Neighbouring results that are folded side by side, where the same elements of the window lie in x.
  static constexpr std::uint64_t kWidth = 32;

  /// Whether elements are folded as they lie.
  [[nodiscard]] static constexpr bool stays(DType dtype, DType accumulator) noexcept {
    return dtype == accumulator && (dtype == DType::f32 || dtype == DType::f64);
  }
  /// Places of an axis from `at` on under which the whole window lies in x, `most` at most; 1 where it does not.
  [[nodiscard]] static std::uint64_t neighbours(const ops::WindowAxis& axis, std::uint64_t at, std::uint64_t extent,
                                                std::uint64_t most) noexcept {
    const std::uint64_t span = std::uint64_t{axis.window - 1u} * axis.dilation;
    const std::uint64_t end = extent + axis.low;  // of x in the padded axis
    const std::uint64_t begin = at * axis.stride;
    if (axis.base_dilation != 1 || begin < axis.low || begin + span >= end) return 1;
    return std::min(most, (end - span - 1 - begin) / axis.stride + 1);
  }

  /// The elements of an axis under the window at one place: `count` of them, `step` apart from `first` on.
  struct Covered {
    std::uint64_t first = 0;
    std::uint64_t step = 0;
    std::uint64_t count = 0;

    Covered() = default;
    Covered(const ops::WindowAxis& axis, std::uint64_t at, std::uint64_t extent) noexcept {
      for (std::uint32_t w = 0; w < axis.window; ++w) {
        const std::uint64_t element = axis.source(at, w, extent);
        if (element == ops::WindowAxis::kPadding) continue;
        if (count == 0) first = element;
        if (count == 1) step = element - first;
        ++count;
      }
    }
  };
  using CoveredAxes = std::array<Covered, kMaxRank>;

  /// Elements are split.
  static void widen(const HostCall<ops::ReduceWindow>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Range part = split(c.in[0].elements(step), kTypedRun, worker);
    visit_domain(c.params.accum_dtype, [&]<class T>(std::type_identity<T>) {
      T* values = reinterpret_cast<T*>(worker.scratch.data());
      for (std::uint64_t first = part.first; first < part.last; first += kTypedRun)
        read_as(c.in[0].type.dtype, c.in[0].data, first, std::min(part.last - first, kTypedRun), c.params.accum_dtype,
                values + first);
    });
  }

  /// Folds the elements under the window for `width` neighbouring results, whose elements lie `apart`, into y.
  template <ops::ReduceKind kKind, class T>
  static void under(const T* values, const CoveredAxes& covered, const ops::RowMajor& x, T start, std::uint64_t apart,
                    std::uint64_t width, T* y) noexcept {
    T lanes[16][kWidth];
    std::uint64_t base = 0;
    std::uint64_t count = 1;
    for (std::size_t axis = 0; axis < x.rank; ++axis) {
      base += covered[axis].first * x.stride[axis];
      count *= covered[axis].count;
    }
    const std::uint64_t used = std::min<std::uint64_t>(count, 16);
    for (std::uint64_t n = 0; n < std::max<std::uint64_t>(used, 1); ++n) std::fill_n(lanes[n], width, start);
    std::array<std::uint64_t, kMaxRank> at{};
    for (std::uint64_t n = 0; n < count; ++n) {
      T* lane = lanes[n % 16];
      const T* from = values + base;
      if (apart == 1)
        for (std::uint64_t i = 0; i < width; ++i) lane[i] = ops::fold(kKind, lane[i], from[i]);
      else if (apart == 2)
        for (std::uint64_t i = 0; i < width; ++i) lane[i] = ops::fold(kKind, lane[i], from[2 * i]);
      else
        for (std::uint64_t i = 0; i < width; ++i) lane[i] = ops::fold(kKind, lane[i], from[i * apart]);
      for (std::size_t axis = x.rank; axis-- > 0;) {
        const std::uint64_t stride = covered[axis].step * x.stride[axis];
        base += stride;
        if (++at[axis] != covered[axis].count) break;
        at[axis] = 0;
        base -= stride * covered[axis].count;
      }
    }
    // Lanes without elements hold the identity, which changes nothing.
    for (std::uint64_t half = 8; half != 0; half /= 2)
      for (std::uint64_t n = 0; n < half && n + half < used; ++n)
        for (std::uint64_t i = 0; i < width; ++i) lanes[n][i] = ops::fold(kKind, lanes[n][i], lanes[n + half][i]);
    std::copy_n(lanes[0], width, y);
  }

  /// Results are split.
  static void fold(const HostCall<ops::ReduceWindow>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const ops::ReduceWindowParams& p = c.params;
    const ops::RowMajor x(c.in[0], step);
    const ops::RowMajor y(c.out[0], step);
    const Range part = split(y.elements, kTypedRun, worker);
    if (part.first == part.last) return;
    const std::size_t last = x.rank == 0 ? 0 : x.rank - 1u;
    const ops::WindowAxis inner = x.rank == 0 ? ops::WindowAxis{} : p.axis(last);
    const bool as_they_lie = stays(c.in[0].type.dtype, p.accum_dtype);
    ops::ElementIndex at = ops::ElementIndex::of(y, part.first);
    CoveredAxes covered;
    for (std::size_t axis = 0; axis < x.rank; ++axis)
      covered[axis] = Covered(p.axis(axis), at.at[axis], x.extent[axis]);
    visit_domain(p.accum_dtype, [&]<class T>(std::type_identity<T>) {
      const T* values = reinterpret_cast<const T*>(as_they_lie ? c.in[0].data : worker.scratch.data());
      const T start = ops::identity<T>(p.kind, p.accum_dtype);
      with_kind<ops::kReduceKinds>(p.kind, [&](auto kind) {
        T results[kTypedRun];
        for (std::uint64_t i = part.first; i < part.last;) {
          const std::uint64_t in_run = (i - part.first) % kTypedRun;
          std::uint64_t width = 1;
          if (x.rank != 0)
            width = neighbours(inner, at.at[last], x.extent[last],
                               std::min({y.extent[last] - at.at[last], kWidth, kTypedRun - in_run, part.last - i}));
          under<decltype(kind)::value>(values, covered, x, start, inner.stride, width, results + in_run);
          i += width;
          if (in_run + width == kTypedRun || i == part.last)
            write_accumulated(p.accum_dtype, results, in_run + width, p.out_dtype,
                              c.out[0].data + bytes_of(p.out_dtype, i - in_run - width));
          for (std::size_t axis = x.rank; axis-- > 0; width = 1) {
            at.at[axis] += width;
            const bool wraps = at.at[axis] == y.extent[axis];
            if (wraps) at.at[axis] = 0;
            covered[axis] = Covered(p.axis(axis), at.at[axis], x.extent[axis]);
            if (!wraps) break;
          }
        }
      });
    });
  }
};
static_assert(Records<ops::ReduceWindow>);

}  // namespace zrt::inline ZRT_ABI::cpu
