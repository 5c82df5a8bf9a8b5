// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit_movement.hpp: ops that move elements from one place to another in C.
#pragma once

#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/concat.hpp>
#include <zrt/ops/pad.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/slice.hpp>
#include <zrt/ops/stop_gradient.hpp>
#include <zrt/ops/tile.hpp>
#include <zrt/ops/transpose.hpp>
#include <zrt/plan/c/emit.hpp>

namespace zrt::inline ZRT_ABI::plan::c {

/// Copies a box of x into y, from element `from_first` to `to_first`.
inline void copy_box(Context& f, const Tensor& x, std::uint64_t from_first, const Tensor& y, std::uint64_t to_first,
                     Span<const ops::CopyAxis> axes) noexcept {
  copy_box(f.w, x.dtype(), x.pointer(), Expr{from_first}, y.pointer(), Expr{to_first}, axes);
}

template <> struct Emit<ops::Reshape> {
  static void emit(Context& f, const EmitCall<ops::Reshape>& c) noexcept { copy_whole(f.w, c.in[0], c.out[0]); }
};
template <> struct Emit<ops::StopGradient> {
  static void emit(Context& f, const EmitCall<ops::StopGradient>& c) noexcept { copy_whole(f.w, c.in[0], c.out[0]); }
};

template <> struct Emit<ops::BroadcastTo> {
  static void emit(Context& f, const EmitCall<ops::BroadcastTo>& c) noexcept {
    const ops::RowMajor from = c.in[0].extents();
    const ops::RowMajor to = c.out[0].extents();
    const std::size_t lead = std::size_t{to.rank} - from.rank;
    std::array<ops::CopyAxis, kMaxRank> axes;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      const bool repeated = axis < lead || from.extent[axis - lead] != to.extent[axis];
      axes[axis] = {to.extent[axis], repeated ? 0 : from.stride[axis - lead], to.stride[axis]};
    }
    copy_box(f, c.in[0], 0, c.out[0], 0, Span(axes).first(to.rank));
  }
};

template <> struct Emit<ops::Transpose> {
  static void emit(Context& f, const EmitCall<ops::Transpose>& c) noexcept {
    const ops::RowMajor from = c.in[0].extents();
    const ops::RowMajor to = c.out[0].extents();
    std::array<ops::CopyAxis, kMaxRank> axes;
    for (std::size_t axis = 0; axis < to.rank; ++axis)
      axes[axis] = {to.extent[axis], from.stride[c.params.perm[axis]], to.stride[axis]};
    copy_box(f, c.in[0], 0, c.out[0], 0, Span(axes).first(to.rank));
  }
};

template <> struct Emit<ops::Slice> {
  static void emit(Context& f, const EmitCall<ops::Slice>& c) noexcept {
    const ops::RowMajor from = c.in[0].extents();
    const ops::RowMajor to = c.out[0].extents();
    std::array<ops::CopyAxis, kMaxRank> axes;
    std::uint64_t first = 0;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      first += c.params.starts[axis] * from.stride[axis];
      axes[axis] = {to.extent[axis], from.stride[axis], to.stride[axis]};
    }
    copy_box(f, c.in[0], first, c.out[0], 0, Span(axes).first(to.rank));
  }
};

template <> struct Emit<ops::Concat> {
  static void emit(Context& f, const EmitCall<ops::Concat>& c) noexcept {
    const ops::RowMajor to = c.out[0].extents();
    std::uint64_t first = 0;
    for (const Tensor& x : c.in) {
      const ops::RowMajor from = x.extents();
      std::array<ops::CopyAxis, kMaxRank> axes;
      for (std::size_t axis = 0; axis < to.rank; ++axis)
        axes[axis] = {from.extent[axis], from.stride[axis], to.stride[axis]};
      copy_box(f, x, 0, c.out[0], first, Span(axes).first(to.rank));
      first += from.extent[c.params.axis] * to.stride[c.params.axis];
    }
  }
};

template <> struct Emit<ops::Pad> {
  static void emit(Context& f, const EmitCall<ops::Pad>& c) noexcept {
    const ops::RowMajor from = c.in[0].extents();
    const ops::RowMajor to = c.out[0].extents();
    f.w.loop({"i"}, to.elements);
    copy(f.w, c.out[0].dtype(), c.out[0].pointer(), {"i"}, f.element(c.params.value, c.out[0].dtype()), {"0"}, {"1"});
    f.w.close();
    std::array<ops::CopyAxis, kMaxRank> axes;
    std::uint64_t first = 0;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      first += c.params.low[axis] * to.stride[axis];
      axes[axis] = {from.extent[axis], from.stride[axis],
                    (c.params.interior[axis] + std::uint64_t{1}) * to.stride[axis]};
    }
    copy_box(f, c.in[0], 0, c.out[0], first, Span(axes).first(to.rank));
  }
};

template <> struct Emit<ops::Tile> {
  static void emit(Context& f, const EmitCall<ops::Tile>& c) noexcept {
    const ops::RowMajor from = c.in[0].extents();
    const ops::RowMajor to = c.out[0].extents();
    std::array<ops::CopyAxis, ops::kMaxCopyAxes> axes;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      axes[2 * axis] = {c.params.repeats[axis], 0, from.extent[axis] * to.stride[axis]};
      axes[2 * axis + 1] = {from.extent[axis], from.stride[axis], to.stride[axis]};
    }
    copy_box(f, c.in[0], 0, c.out[0], 0, Span(axes).first(2u * to.rank));
  }
};

}  // namespace zrt::inline ZRT_ABI::plan::c
