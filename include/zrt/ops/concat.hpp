// SPDX-License-Identifier: Apache-2.0
// zrt/ops/concat.hpp: tensors one after the other along an axis.
#pragma once

#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_rule.hpp>
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

  static constexpr Result<void> infer(const TypeCall<Concat>& c, OutputTypes<Concat>& out) noexcept {
    if (c.in.size() == 0) return fail(Errc::invalid_argument, "concat: there is no input, expected one or more");
    if (auto r = expect_plain<Concat>(c.in[0], "x"); !r) return r;
    const TensorType& first = c.in[0].type;
    if (c.params.axis >= first.shape.rank) return bad_params<Concat>("axis is none of x");
    Dim total(0);
    for (const InputInfo& x : c.in) {
      if (auto r = expect_same_dtype<Concat>(x, "x", first.dtype, "the first x"); !r) return r;
      const Dim along = x.type.shape[c.params.axis];
      Shape all = first.shape;
      all.dims[c.params.axis] = along;
      if (!(x.type.shape == all))
        return bad_shape<Concat>("x", "the first x's extents on all other axes", x.type.shape);
      if (along == Dim(0)) continue;
      if (total == Dim(0)) total.symbol = along.symbol;
      if (total.symbol != along.symbol)
        return bad_shape<Concat>("x", "an extent along the axis that follows the same symbol as the others",
                                 x.type.shape);
      if (!add_fits(total.extent, along.extent, total.extent))
        return bad_shape<Concat>("y", "an extent within 32 bits", x.type.shape);
    }
    out[0] = first;
    out[0].shape.dims[c.params.axis] = total;
    return {};
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
};
static_assert(Op<Concat>);

}  // namespace zrt::inline ZRT_ABI::ops
