// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/nest.hpp: nested loops over axes, with the strides of each tensor along them.
#pragma once

#include <zrt/ops/strided_copy.hpp>
#include <zrt/plan/c/element.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// Loops over axes from the outermost to the innermost; neighbours that lie as one are one loop.
class Nest {
 public:
  static constexpr std::size_t kTensors = 3;
  using Strides = std::array<std::uint64_t, kTensors>;

  /// `letter` begins the names of the loops' variables.
  explicit Nest(char letter) noexcept : letter_(letter) {}

  /// Adds an axis inside all others; one of extent 1 takes no loop.
  void add(std::uint64_t extent, const Strides& stride) noexcept {
    elements_ *= extent;
    if (extent == 1) return;
    bool joins = rank_ > 0;
    for (std::size_t k = 0; k < kTensors && joins; ++k) joins = axes_[rank_ - 1].stride[k] == extent * stride[k];
    if (joins)
      axes_[rank_ - 1] = {axes_[rank_ - 1].extent * extent, stride};
    else
      axes_[rank_++] = {extent, stride};
  }
  [[nodiscard]] std::uint64_t elements() const noexcept { return elements_; }

  /// Opens the loops, or a block where there is none.
  void open(Source& w) const noexcept {
    if (rank_ == 0) w.open({});
    for (std::size_t i = 0; i < rank_; ++i) w.loop(variable(i), axes_[i].extent);
  }
  /// Opens the loops for one of several workers, which take parts of the outermost one; there is one.
  void open_in_parts(Source& w) const noexcept {
    w.open({"for (uint64_t ", variable(0), " = zrt_part(", axes_[0].extent, ", part, parts); ", variable(0),
            " < zrt_part(", axes_[0].extent, ", part + 1, parts); ++", variable(0), ")"});
    for (std::size_t i = 1; i < rank_; ++i) w.loop(variable(i), axes_[i].extent);
  }
  [[nodiscard]] bool loops() const noexcept { return rank_ != 0; }
  void close(Source& w) const noexcept {
    for (std::size_t i = 0; i < (rank_ == 0 ? 1 : rank_); ++i) w.close();
  }
  /// The element of tensor k at the loops' place, `base` being the one at their beginning.
  [[nodiscard]] Expr at(std::size_t k, const Expr& base = {}) const noexcept {
    Expr sum = base.view() == "0" ? Expr() : base;
    for (std::size_t i = 0; i < rank_; ++i) {
      const std::uint64_t stride = axes_[i].stride[k];
      if (stride == 0) continue;
      sum.append({sum.empty() ? "" : " + ", variable(i)});
      if (stride != 1) sum.append({" * ", stride});
    }
    return sum.empty() ? Expr{"0"} : sum;
  }

 private:
  struct Axis {
    std::uint64_t extent;
    Strides stride;
  };
  [[nodiscard]] Expr variable(std::size_t i) const noexcept { return {std::string_view(&letter_, 1), i}; }

  char letter_;
  std::array<Axis, 2 * kMaxRank> axes_{};
  std::size_t rank_ = 0;
  std::uint64_t elements_ = 1;
};

/// Copies the elements of a box (ops/strided_copy.hpp), its first from `from_first` to `to_first`.
inline void copy_box(Source& w, DType dtype, const Expr& from, const Expr& from_first, const Expr& to,
                     const Expr& to_first, Span<const ops::CopyAxis> axes) noexcept {
  for (const ops::CopyAxis& axis : axes)
    if (axis.extent == 0) return;
  std::uint64_t run = 1;
  std::size_t outer = axes.size();
  for (; outer != 0; --outer) {
    const ops::CopyAxis& axis = axes[outer - 1];
    if (axis.extent != 1 && (axis.from_stride != run || axis.to_stride != run)) break;
    run *= axis.extent;
  }
  Nest nest('i');
  for (std::size_t i = 0; i < outer; ++i) nest.add(axes[i].extent, {axes[i].from_stride, axes[i].to_stride});
  nest.open(w);
  copy(w, dtype, to, nest.at(1, to_first), from, nest.at(0, from_first), Expr{run});
  nest.close(w);
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
