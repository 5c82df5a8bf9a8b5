// SPDX-License-Identifier: Apache-2.0
// zrt/ops/transpose.hpp: the axes of a tensor in another order.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/strided_copy.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct TransposeParams {
  std::array<std::uint8_t, kMaxRank> perm{};  ///< axis i of the result is axis perm[i] of x
  std::uint8_t rank = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&TransposeParams::perm, "perm"}, Member{&TransposeParams::rank, "rank"});
};

/// Puts the axes of x into the order `perm`; x of any plain type (PTIR `Transpose`).
struct Transpose {
  using Params = TransposeParams;
  static constexpr Opcode opcode{75};
  static constexpr std::string_view name = "transpose";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(attribute::axes("perm", &Params::perm, &Params::rank));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const BasicShape<D>& from = c.in[0].shape;
    const auto perm = c.axes(at<Transpose>("perm"), from.rank);
    if (!perm) return pass(perm);
    if (perm->count != from.rank)
      return c.no(Errc::invalid_params, "perm has ", perm->count, " entries, expected ", unsigned{from.rank});
    BasicShape<D> to;
    for (std::size_t axis = 0; axis < perm->count; ++axis) to.append(from[perm->axes[axis]]);
    return c.give(c.in[0].dtype, to);
  }

  /// Where all axes but those of one element keep their order, no element moves.
  static constexpr std::optional<std::uint64_t> view(const TypeCall<Transpose>& c) noexcept {
    unsigned next = 0;
    for (std::size_t axis = 0; axis < c.params.rank; ++axis) {
      const unsigned from = c.params.perm[axis];
      if (c.in[0].type.shape[from] == Dim(1)) continue;
      if (from < next) return std::nullopt;
      next = from;
    }
    return 0;
  }

  /// Which element of x each of y is.
  [[nodiscard]] static CopyBox box(const HostCall<Transpose>& c, const ExecutionContext& step) noexcept {
    const RowMajor from(c.in[0], step);
    const RowMajor to(c.out[0], step);
    CopyBox box;
    for (std::size_t axis = 0; axis < to.rank; ++axis)
      box.add(to.extent[axis], from.stride[c.params.perm[axis]], to.stride[axis]);
    return box;
  }

  static void reference(const HostCall<Transpose>& c, const ExecutionContext& step, const Worker&) noexcept {
    copy_strided(c.in[0].type.dtype, c.in[0].data, c.out[0].data, box(c, step));
  }

  template <class G> static void gradient(G& c) noexcept {
    const auto perm = c.words("perm");
    auto back = G::Numbers::all(perm.size(), 0);
    for (std::size_t i = 0; i < perm.size(); ++i)
      back[static_cast<std::size_t>(c.from_first(perm[i], static_cast<std::int64_t>(perm.size())))] =
          static_cast<std::int64_t>(i);
    c.give(0, c.transpose(c.cotangent(), back));
  }

  template <class E> static void emit_c(E& f, const Call<E, Transpose>& c) noexcept {
    const RowMajor from = c.in[0].extents();
    const RowMajor to = c.out[0].extents();
    std::array<CopyAxis, kMaxRank> axes;
    for (std::size_t axis = 0; axis < to.rank; ++axis)
      axes[axis] = {to.extent[axis], from.stride[c.params.perm[axis]], to.stride[axis]};
    copy_box(f, c.in[0], 0, c.out[0], 0, Span(axes).first(to.rank));
  }
};
static_assert(Op<Transpose>);

}  // namespace zrt::inline ZRT_ABI::ops
