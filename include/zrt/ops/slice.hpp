// SPDX-License-Identifier: Apache-2.0
// zrt/ops/slice.hpp: a window of a tensor at a place known beforehand.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_params.hpp>
#include <zrt/ops/strided_copy.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct SliceParams {
  std::array<std::uint32_t, kMaxRank> starts{};
  ShapeParams sizes{};

  static constexpr std::uint8_t version = 2;
  static constexpr auto fields =
      field_list(Member{&SliceParams::starts, "starts"}, Member{&SliceParams::sizes, "sizes"});

  /// Elements [start, start + size) of the last axis of a tensor of shape `x`.
  [[nodiscard]] static constexpr SliceParams of_last(const Shape& x, std::uint32_t start, std::uint32_t size) noexcept {
    SliceParams params;
    params.sizes = ShapeParams::of(x.with_last(size));
    params.starts[x.rank == 0 ? 0u : x.rank - 1u] = start;
    return params;
  }
};

/// Takes elements [starts[i], starts[i] + sizes[i]) of every axis i; x of any plain type (PTIR `Slice`).
///
/// Where the window leaves x by an extent that follows the step, the step reports
/// Errc::spec_violation and y is zeros.
struct Slice {
  using Params = SliceParams;
  static constexpr Opcode opcode{77};
  static constexpr std::string_view name = "slice";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes =
      attribute_list(attribute::numbers_per_axis("starts", &Params::starts), attribute::shape("sizes", &Params::sizes));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    constexpr std::size_t kStarts = at<Slice>("starts");
    const BasicShape<D>& sizes = c.shape(at<Slice>("sizes"));
    const BasicShape<D>& from = c.in[0].shape;
    if (auto r = c.per_axis(kStarts, from.rank, 0); !r) return r;
    if (sizes.rank != from.rank)
      return c.no(Errc::invalid_params, "sizes has ", unsigned{sizes.rank}, " entries, expected ", unsigned{from.rank});
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      if (!from[axis].is_constant()) continue;
      // A size that is not known is at least 0, so the start alone may already be past the end.
      const CheckedSize end = CheckedSize(c.number(kStarts, axis)) + CheckedSize(sizes[axis].constant());
      if (!end.ok() || end.raw() > from[axis].constant())
        return c.wrong(Errc::shape_mismatch, 0, "start + size = ", c.number(kStarts, axis), " + ",
                       sizes[axis].constant(), " or more on axis ", axis);
    }
    return c.give(c.in[0].dtype, sizes);
  }

  /// The window is one run of x where it takes all of every axis behind the first that it cuts, and one
  /// element of every axis before that. Its place and extents must be the same in every step.
  static constexpr std::optional<std::uint64_t> view(const TypeCall<Slice>& c) noexcept {
    const TensorType& x = c.in[0].type;
    const Shape sizes = c.params.sizes.shape();
    CheckedSize inner = 1;  // elements of x per step along the axis
    CheckedSize first = 0;
    bool constant = true;
    bool cut = false;
    for (std::size_t axis = x.shape.rank; axis-- > 0;) {
      const Dim extent = x.shape[axis];
      const bool whole = c.params.starts[axis] == 0 && sizes[axis] == extent;
      if (cut ? sizes[axis] != Dim(1) : !whole && (extent.symbol != 0 || sizes[axis].symbol != 0)) return std::nullopt;
      if (!whole && (extent.symbol != 0 || (c.params.starts[axis] != 0 && !constant))) return std::nullopt;
      cut = cut || !whole;
      first += inner * c.params.starts[axis];
      inner *= extent.extent;
      constant = constant && extent.symbol == 0;
    }
    // Where two elements share a byte, the other half of the last one would be a neighbour's.
    if (!first.ok() || (info(x.dtype).block_elems != 1 && !(sizes == x.shape))) return std::nullopt;
    return bytes_of(x.dtype, first.raw());
  }

  /// Which element of x each of y is; none where the window leaves x.
  [[nodiscard]] static std::optional<CopyBox> box(const HostCall<Slice>& c, const ExecutionContext& step) noexcept {
    const RowMajor from(c.in[0], step);
    const RowMajor to(c.out[0], step);
    CopyBox box;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      if (c.params.starts[axis] + to.extent[axis] > from.extent[axis]) return std::nullopt;
      box.from_first += c.params.starts[axis] * from.stride[axis];
      box.add(to.extent[axis], from.stride[axis], to.stride[axis]);
    }
    return box;
  }

  static void reference(const HostCall<Slice>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    if (const auto window = box(c, step)) return copy_strided(c.in[0].type.dtype, c.in[0].data, c.out[0].data, *window);
    clear(c.out[0], step);
    step.violated(worker);
  }

  template <class G> static void gradient(G& c) noexcept {
    const auto whole = c.in_type(0).shape, part = c.out_type().shape;
    const auto starts = c.words("starts");
    typename G::Numbers low, high;
    for (std::size_t axis = 0; axis < whole.size(); ++axis) {
      low.append(starts[axis]);
      high.append(c.extent(whole, axis) - starts[axis] - c.extent(part, axis));
    }
    c.give(0, c.pad(c.cotangent(), low, high, G::Numbers::all(whole.size(), 0), 0));
  }

  template <class E> static void emit_c(E& f, const Call<E, Slice>& c) noexcept {
    const RowMajor from = c.in[0].extents();
    const RowMajor to = c.out[0].extents();
    std::array<CopyAxis, kMaxRank> axes;
    std::uint64_t first = 0;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      first += c.params.starts[axis] * from.stride[axis];
      axes[axis] = {to.extent[axis], from.stride[axis], to.stride[axis]};
    }
    copy_box(f, c.in[0], first, c.out[0], 0, Span(axes).first(to.rank));
  }
};
static_assert(Op<Slice>);

}  // namespace zrt::inline ZRT_ABI::ops
