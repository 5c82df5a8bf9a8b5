// SPDX-License-Identifier: Apache-2.0
// zrt/ops/concat.hpp: tensors one after the other along an axis.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/strided_copy.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ConcatParams {
  std::uint32_t axis = 0;

  static constexpr std::uint8_t version = 2;
  static constexpr auto fields = field_list(Member{&ConcatParams::axis, "axis"});

  /// The last axis of tensors of shape `x`.
  [[nodiscard]] static constexpr ConcatParams of_last(const Shape& x) noexcept {
    return {x.rank == 0 ? 0u : x.rank - 1u};
  }
};

/// Joins one tensor or more of one plain type along `axis`; the other axes agree (PTIR `Concat`).
///
/// The extents along the axis are constants, or multiples of one symbol.
struct Concat {
  using Params = ConcatParams;
  static constexpr Opcode opcode{78};
  static constexpr std::string_view name = "concat";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr bool repeats_inputs = true;
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(attribute::axis("axis", &Params::axis));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const auto axis = c.axis(at<Concat>("axis"), c.in[0].shape.rank);
    if (!axis) return pass(axis);
    BasicShape<D> all = c.in[0].shape;
    D along = all[*axis];
    for (std::size_t i = 1; i < c.in.size(); ++i) {
      if (c.in[i].dtype != c.in[0].dtype) return c.differs(Errc::dtype_mismatch, i, 0);
      const BasicShape<D>& shape = c.in[i].shape;
      bool agree = shape.rank == all.rank;
      for (std::size_t d = 0; agree && d < all.size(); ++d) agree = d == *axis || unify(all[d], shape[d], all.dims[d]);
      if (!agree) return c.differs(Errc::shape_mismatch, i, 0);
      const auto sum = plus(along, shape[*axis]);
      if (!sum && along.is_constant() && shape[*axis].is_constant()) return c.too_large();
      if (!sum) return c.wrong(Errc::shape_mismatch, i, "an extent on axis ", *axis, " that adds up with ", along);
      along = *sum;
    }
    all.dims[*axis] = along;
    return c.give(c.in[0].dtype, all);
  }

  /// Where the other inputs have no elements, the first is the whole.
  static constexpr std::optional<std::uint64_t> view(const TypeCall<Concat>& c) noexcept {
    for (std::size_t i = 1; i < c.in.size(); ++i)
      if (c.in[i].type.shape[c.params.axis] != Dim(0)) return std::nullopt;
    return 0;
  }

  /// Calls `f(x, box)` for each input and the elements of y that it is.
  template <class F> static void for_each_box(const HostCall<Concat>& c, const ExecutionContext& step, F&& f) noexcept {
    const RowMajor to(c.out[0], step);
    std::uint64_t first = 0;
    for (const HostTensor& x : c.in) {
      const RowMajor from(x, step);
      CopyBox box;
      box.to_first = first;
      for (std::size_t axis = 0; axis < to.rank; ++axis) box.add(from.extent[axis], from.stride[axis], to.stride[axis]);
      f(x, box);
      first += from.extent[c.params.axis] * to.stride[c.params.axis];
    }
  }

  static void reference(const HostCall<Concat>& c, const ExecutionContext& step, const Worker&) noexcept {
    for_each_box(c, step, [&](const HostTensor& x, const CopyBox& box) {
      copy_strided(x.type.dtype, x.data, c.out[0].data, box);
    });
  }

  template <class G> static void gradient(G& c) noexcept {
    const auto g = c.cotangent();
    const auto axis = static_cast<std::size_t>(c.from_first(c.integer("axis"), g.rank()));
    auto starts = G::Numbers::all(g.shape().size(), 0);
    for (std::size_t i = 0; i < c.inputs(); ++i) {
      const auto part = c.in_type(i).shape;
      if (c.wants(i)) c.give(i, c.slice(g, starts, part));
      starts[axis] += c.extent(part, axis);
    }
  }

  template <class E> static void emit_c(E& f, const Call<E, Concat>& c) noexcept {
    const RowMajor to = c.out[0].extents();
    std::uint64_t first = 0;
    for (const auto& x : c.in) {
      const RowMajor from = x.extents();
      std::array<CopyAxis, kMaxRank> axes;
      for (std::size_t axis = 0; axis < to.rank; ++axis)
        axes[axis] = {from.extent[axis], from.stride[axis], to.stride[axis]};
      copy_box(f, x, 0, c.out[0], first, Span(axes).first(to.rank));
      first += from.extent[c.params.axis] * to.stride[c.params.axis];
    }
  }
};
static_assert(Op<Concat>);

}  // namespace zrt::inline ZRT_ABI::ops
