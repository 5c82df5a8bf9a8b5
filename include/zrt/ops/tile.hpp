// SPDX-License-Identifier: Apache-2.0
// zrt/ops/tile.hpp: a tensor repeated along its axes.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/strided_copy.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct TileParams {
  std::array<std::uint32_t, kMaxRank> repeats{};
  std::uint32_t rank = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&TileParams::repeats, "repeats"}, Member{&TileParams::rank, "rank"});
};

/// Repeats x along every axis i repeats[i] times; x of any plain type (PTIR `Tile`).
struct Tile {
  using Params = TileParams;
  static constexpr Opcode opcode{80};
  static constexpr std::string_view name = "tile";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(attribute::numbers("repeats", &Params::repeats, &Params::rank));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    constexpr std::size_t kRepeats = at<Tile>("repeats");
    BasicShape<D> shape = c.in[0].shape;
    if (auto r = c.per_axis(kRepeats, shape.rank, 0); !r) return r;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto repeated = times(shape[axis], c.number(kRepeats, axis));
      if (!repeated) return c.too_large();
      shape.dims[axis] = *repeated;
    }
    return c.give(c.in[0].dtype, shape);
  }

  /// Where each axis is there once.
  static constexpr std::optional<std::uint64_t> view(const TypeCall<Tile>& c) noexcept {
    for (std::size_t axis = 0; axis < c.params.rank; ++axis)
      if (c.params.repeats[axis] != 1) return std::nullopt;
    return 0;
  }

  /// Which element of x each of y is.
  [[nodiscard]] static CopyBox box(const HostCall<Tile>& c, const ExecutionContext& step) noexcept {
    const RowMajor from(c.in[0], step);
    const RowMajor to(c.out[0], step);
    CopyBox box;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      box.add(c.params.repeats[axis], 0, from.extent[axis] * to.stride[axis]);
      box.add(from.extent[axis], from.stride[axis], to.stride[axis]);
    }
    return box;
  }

  static void reference(const HostCall<Tile>& c, const ExecutionContext& step, const Worker&) noexcept {
    copy_strided(c.in[0].type.dtype, c.in[0].data, c.out[0].data, box(c, step));
  }

  template <class G> static void gradient(G& c) noexcept {
    const auto x = c.in_type(0).shape;
    const auto repeats = c.words("repeats");
    auto g = c.cotangent();
    auto shape = g.shape();
    for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
      if (repeats[axis] == 1) continue;
      const std::int64_t outer = c.product(shape, 0, axis), inner = c.product(shape, axis + 1, shape.size());
      shape.dims[axis] = x[axis];
      const auto parted = c.builder().reshape(g, {outer, repeats[axis], c.extent(shape, axis) * inner});
      g = c.sum(parted, G::Numbers::all(1, 1), false);
    }
    c.give(0, c.reshape(g, x));
  }

  template <class E> static void emit_c(E& f, const Call<E, Tile>& c) noexcept {
    const RowMajor from = c.in[0].extents();
    const RowMajor to = c.out[0].extents();
    std::array<CopyAxis, kMaxCopyAxes> axes;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      axes[2 * axis] = {c.params.repeats[axis], 0, from.extent[axis] * to.stride[axis]};
      axes[2 * axis + 1] = {from.extent[axis], from.stride[axis], to.stride[axis]};
    }
    copy_box(f, c.in[0], 0, c.out[0], 0, Span(axes).first(2u * to.rank));
  }
};
static_assert(Op<Tile>);

}  // namespace zrt::inline ZRT_ABI::ops
