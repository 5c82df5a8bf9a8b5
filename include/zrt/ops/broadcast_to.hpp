// SPDX-License-Identifier: Apache-2.0
// zrt/ops/broadcast_to.hpp: repetition of axes of extent 1.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_params.hpp>
#include <zrt/ops/strided_copy.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct BroadcastToParams {
  ShapeParams shape{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&BroadcastToParams::shape, "shape"});
};

/// Repeats axes of extent 1, right-aligned, up to the shape of the parameters; x of any plain type
/// (PTIR `BroadcastTo`).
struct BroadcastTo {
  using Params = BroadcastToParams;
  static constexpr Opcode opcode{76};
  static constexpr std::string_view name = "broadcast_to";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(attribute::shape("result_shape", &Params::shape));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const BasicShape<D>& to = c.shape(at<BroadcastTo>("result_shape"));
    const BasicShape<D>& from = c.in[0].shape;
    if (from.rank > to.rank) return c.wrong(Errc::shape_mismatch, 0, "at most ", unsigned{to.rank}, " axes");
    const std::size_t lead = to.size() - from.size();
    BasicShape<D> result = to;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      if (from[axis].is_constant(1)) continue;
      const D wanted = to[lead + axis];
      D both;
      if (!unify(from[axis], wanted, both))
        return wanted.is_constant(1) ? c.wrong(Errc::shape_mismatch, 0, "1 on axis ", axis)
                                     : c.wrong(Errc::shape_mismatch, 0, "1 or ", wanted, " on axis ", axis);
      // The result's own word stands; one that says nothing is made more exact by a constant.
      if (wanted.is_open() && from[axis].is_constant()) result.dims[lead + axis] = from[axis];
    }
    return c.give(c.in[0].dtype, result);
  }

  /// Where nothing but axes of one element comes to x, nothing is repeated.
  static constexpr std::optional<std::uint64_t> view(const TypeCall<BroadcastTo>& c) noexcept {
    const Shape& from = c.in[0].type.shape;
    const Shape to = c.params.shape.shape();
    const std::size_t lead = std::size_t{to.rank} - from.rank;
    for (std::size_t axis = 0; axis < to.rank; ++axis)
      if (to[axis] != (axis < lead ? Dim(1) : from[axis - lead])) return std::nullopt;
    return 0;
  }

  /// Which element of x each of y is.
  [[nodiscard]] static CopyBox box(const HostCall<BroadcastTo>& c, const ExecutionContext& step) noexcept {
    const RowMajor from(c.in[0], step);
    const RowMajor to(c.out[0], step);
    const std::size_t lead = std::size_t{to.rank} - from.rank;
    CopyBox box;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      const bool repeated = axis < lead || from.extent[axis - lead] != to.extent[axis];
      box.add(to.extent[axis], repeated ? 0 : from.stride[axis - lead], to.stride[axis]);
    }
    return box;
  }

  static void reference(const HostCall<BroadcastTo>& c, const ExecutionContext& step, const Worker&) noexcept {
    copy_strided(c.in[0].type.dtype, c.in[0].data, c.out[0].data, box(c, step));
  }

  template <class G> static void gradient(G& c) noexcept {
    c.give(0, c.unbroadcast(c.cotangent(), c.in_type(0).shape));
  }

  template <class E> static void emit_c(E& f, const Call<E, BroadcastTo>& c) noexcept {
    const RowMajor from = c.in[0].extents();
    const RowMajor to = c.out[0].extents();
    const std::size_t lead = std::size_t{to.rank} - from.rank;
    std::array<CopyAxis, kMaxRank> axes;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      const bool repeated = axis < lead || from.extent[axis - lead] != to.extent[axis];
      axes[axis] = {to.extent[axis], repeated ? 0 : from.stride[axis - lead], to.stride[axis]};
    }
    copy_box(f, c.in[0], 0, c.out[0], 0, Span(axes).first(to.rank));
  }
};
static_assert(Op<BroadcastTo>);

}  // namespace zrt::inline ZRT_ABI::ops
