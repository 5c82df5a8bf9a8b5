// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/plane_shape.hpp: convolutions whose channels lie as planes, as sizes and offsets.
#pragma once

#include <zrt/ops/convolve.hpp>

#include <algorithm>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

/// A convolution of x [images * groups * channels, spatial..., 1] with w [groups, rows, channels * window] to
/// y [groups, rows, images, places], all f32.
///
/// The window slides over padded copies of the planes. Where it goes by steps, a copy holds the elements of each phase
/// of the steps side by side, so that neighbouring places read neighbours.
struct PlaneShape {
  /// Copies `lines` lines of `count` floats that lie `stride` apart; lines begin as far apart as said.
  using CopyLines = void (*)(const float* from, std::uint64_t from_pitch, std::uint64_t stride, float* to,
                             std::uint64_t to_pitch, std::uint64_t count, std::uint64_t lines) noexcept;
  static constexpr std::size_t kMaxSpatial = ops::ExtractPatchesParams::kMaxSpatial;

  ops::ExtractPatchesParams patches{};
  std::uint64_t images = 1, groups = 1, channels = 1, rows = 1;
  std::uint64_t window = 1;                         ///< elements
  std::uint64_t places = 1;                         ///< of an image
  std::uint64_t plane = 1;                          ///< elements of a copy
  std::uint64_t source = 1;                         ///< elements of a plane of x
  std::array<std::uint64_t, kMaxSpatial> extent{};  ///< of x
  std::array<std::uint64_t, kMaxSpatial> out{};     ///< places
  std::array<std::uint64_t, kMaxSpatial> phases{};
  std::array<std::uint64_t, kMaxSpatial> pitch{};   ///< of a copy, between neighbours of one phase
  std::array<std::uint64_t, kMaxSpatial> length{};  ///< of a copy, elements of one phase
  bool in_place = false;                            ///< the planes of x need no copy
  float alpha = 1.0f;

  /// False where the call is no such convolution, or an extent follows the step.
  template <class Call> [[nodiscard]] bool measure(const Call& c) noexcept {
    const ops::ConvolveParams& p = c.params;
    const ops::DotGeneralParams& dot = p.dot;
    const TensorType& x = c.in[0].type;
    const TensorType& w = c.in[1].type;
    const bool floats =
        x.dtype == DType::f32 && w.dtype == DType::f32 && dot.accum_dtype == DType::f32 && dot.out_dtype == DType::f32;
    if (!floats || p.patches_rhs != 1 || !(x.shape.last() == Dim(1)) || !is_fixed(x.shape) || !is_fixed(w.shape) ||
        !is_fixed(p.rows.shape()))
      return false;
    patches = p.patches;
    alpha = dot.alpha;
    return measure_window(x.shape) && measure_rows(p, x.shape[0].extent) && measure_weights(p, w.shape);
  }

  [[nodiscard]] std::uint64_t depth() const noexcept { return channels * window; }
  [[nodiscard]] std::uint64_t planes() const noexcept { return images * groups * channels; }

  /// Between neighbouring lines of a copy.
  [[nodiscard]] std::uint64_t pitch_of_lines() const noexcept {
    return patches.spatial < 2 ? length[0] : pitch[patches.spatial - 2u];
  }

  /// Where element `tap` of a window begins in a copy.
  [[nodiscard]] std::uint64_t tap_at(std::uint64_t tap) const noexcept {
    std::uint64_t at = 0;
    for (std::size_t i = patches.spatial; i-- > 0;) {
      const std::uint64_t t = tap % patches.window[i] * patches.dilation[i];
      tap /= patches.window[i];
      at += t / patches.strides[i] * pitch[i] + t % patches.strides[i] * phase_pitch_[i];
    }
    return at;
  }
  /// Where place `place` of an image begins in a copy.
  [[nodiscard]] std::uint64_t place_at(std::uint64_t place) const noexcept {
    std::uint64_t at = 0;
    for (std::size_t i = patches.spatial; i-- > 0; place /= out[i]) at += place % out[i] * pitch[i];
    return at;
  }

  /// Writes the padding of a copy, and of all that lies where a plane will.
  void pad(float* to) const noexcept {
    float padding = 0;
    std::memcpy(&padding, patches.pad_value.data(), sizeof padding);
    std::fill_n(to, plane, padding);
  }
  /// Copies the elements of a plane of x into padding.
  void copy(const float* from, float* to, CopyLines lines) const noexcept { copy_axis(0, from, to, source, lines); }

 private:
  [[nodiscard]] static bool is_fixed(const Shape& shape) noexcept {
    for (std::uint8_t axis = 0; axis < shape.rank; ++axis)
      if (shape[axis].symbol != 0) return false;
    return true;
  }

  [[nodiscard]] bool measure_window(const Shape& x) noexcept {
    in_place = true;
    for (std::size_t i = 0; i < patches.spatial; ++i) {
      const ops::WindowAxis a = patches.axis(i);
      extent[i] = x[i + 1].extent;
      const std::uint64_t span = std::uint64_t{a.window - 1u} * a.dilation;
      const std::uint64_t padded = extent[i] + a.low + a.high;
      if (extent[i] == 0 || padded <= span) return false;
      out[i] = (padded - span - 1) / a.stride + 1;
      phases[i] = span < a.stride ? span + 1 : a.stride;
      length[i] = out[i] + span / a.stride;
      in_place = in_place && a.stride == 1 && a.low == 0 && a.high == 0;
      window *= a.window;
      places *= out[i];
      source *= extent[i];
    }
    // The phases of all axes outside, then the elements of one.
    CheckedSize all = 1;
    for (std::size_t i = patches.spatial; i-- > 0; all *= CheckedSize(length[i])) pitch[i] = all.ok() ? all.raw() : 0;
    for (std::size_t i = patches.spatial; i-- > 0; all *= CheckedSize(phases[i]))
      phase_pitch_[i] = all.ok() ? all.raw() : 0;
    // A window may reach far over padding that no place needs: then a copy is no small thing beside the patches.
    if (!all.ok() || all.raw() > 4 * (source + window * places) + 4096) return false;
    plane = all.raw();
    return true;
  }

  /// Sorts the axes of the rows: images, groups and channels of x in this order, then places, then the window.
  [[nodiscard]] bool measure_rows(const ops::ConvolveParams& p, std::uint64_t all_planes) noexcept {
    const Shape shape = p.rows.shape();
    std::uint64_t stride = 1;
    std::array<std::uint64_t, 3> leading{1, 1, 1};  // images, groups, channels
    std::size_t reached = 2;                        // from the last axis on
    for (std::size_t axis = shape.rank; axis-- > 0;) {
      const std::uint64_t extent_here = shape[axis].extent;
      if (extent_here == 0) return false;
      if (extent_here == 1) continue;
      const std::size_t sort = is_in(p.dot.contract_rhs, p.dot.contract_count, axis) ? 2
                               : is_in(p.dot.batch_rhs, p.dot.batch_count, axis)     ? 1
                                                                                     : 0;
      const std::uint64_t end = stride * extent_here;
      if (stride < window) {
        if (sort != 2 || end > window) return false;
      } else if (stride < window * places) {
        if (sort != 0 || end > window * places) return false;
      } else {
        if (sort > reached) return false;
        reached = sort;
        leading[sort] *= extent_here;
      }
      stride = end;
    }
    images = leading[0];
    groups = leading[1];
    channels = leading[2];
    if (planes() != all_planes || stride != all_planes * places * window) return false;
    // In the order in which they lie, the contracted axes being the order of the sum.
    return ascends(p.dot.batch_rhs, p.dot.batch_count) && ascends(p.dot.contract_rhs, p.dot.contract_count);
  }

  [[nodiscard]] bool measure_weights(const ops::ConvolveParams& p, const Shape& w) noexcept {
    CheckedSize free = 1;
    for (std::uint32_t axis = p.dot.batch_count; axis + p.dot.contract_count < w.rank; ++axis)
      free *= CheckedSize(w[axis].extent);
    if (!free.ok() || free.raw() == 0) return false;
    rows = free.raw();
    return true;
  }

  template <class List>
  [[nodiscard]] static bool is_in(const List& list, std::uint32_t count, std::size_t axis) noexcept {
    for (std::uint32_t i = 0; i < count; ++i)
      if (list[i] == axis) return true;
    return false;
  }
  template <class List> [[nodiscard]] static bool ascends(const List& list, std::uint32_t count) noexcept {
    for (std::uint32_t i = 1; i < count; ++i)
      if (list[i] < list[i - 1]) return false;
    return true;
  }

  /// `count` elements of an axis of x from `first` on, a stride apart, stand in one phase of a copy from `at` on.
  struct PhaseRun {
    std::uint64_t first, count, at;
  };
  [[nodiscard]] PhaseRun phase_run(std::size_t i, std::uint64_t phase) const noexcept {
    const ops::WindowAxis a = patches.axis(i);
    const auto reaching = [&](std::uint64_t padded) noexcept {
      const std::uint64_t k = padded <= phase ? 0 : (padded - phase + a.stride - 1) / a.stride;
      return std::min(k, length[i]);
    };
    const std::uint64_t at = reaching(a.low);
    const std::uint64_t end = reaching(a.low + extent[i]);
    return at >= end ? PhaseRun{0, 0, 0} : PhaseRun{at * a.stride + phase - a.low, end - at, at};
  }

  /// `from` has `size` elements of x from axis `i` on.
  void copy_axis(std::size_t i, const float* from, float* to, std::uint64_t size, CopyLines lines) const noexcept {
    const std::size_t last = patches.spatial - 1u;
    const std::uint64_t stride = patches.strides[i];
    const std::uint64_t inner = size / extent[i];
    if (i + 1 >= last && patches.strides[last] == 1 && stride == 1) {
      const std::uint64_t count = i == last ? 1 : extent[i];
      lines(from, extent[last], 1, to + (i == last ? 0 : patches.pad_low[i] * pitch[i]) + patches.pad_low[last],
            pitch_of_lines(), extent[last], count);
      return;
    }
    for (std::uint64_t phase = 0; phase < phases[i]; ++phase, to += phase_pitch_[i]) {
      const PhaseRun run = phase_run(i, phase);
      const float* begin = from + run.first * inner;
      if (i < last)
        for (std::uint64_t k = 0; k < run.count; ++k)
          copy_axis(i + 1, begin + k * stride * inner, to + (run.at + k) * pitch[i], inner, lines);
      else
        lines(begin, 0, stride, to + run.at, 0, run.count, 1);
    }
  }

  std::array<std::uint64_t, kMaxSpatial> phase_pitch_{};  ///< between phases of an axis
};

}  // namespace zrt::inline ZRT_ABI::cpu
