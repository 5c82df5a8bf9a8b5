// SPDX-License-Identifier: Apache-2.0
// zrt/ops/pad.hpp: a tensor with a value around it and between its elements.
#pragma once

#include <zrt/ops/element_value.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_rule.hpp>
#include <zrt/ops/strided_copy.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct PadParams {
  std::array<std::uint32_t, kMaxRank> low{};
  std::array<std::uint32_t, kMaxRank> high{};
  std::array<std::uint32_t, kMaxRank> interior{};
  ElementValue value{};  ///< of x's dtype
  std::uint32_t rank = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&PadParams::low, "low"}, Member{&PadParams::high, "high"},
                                            Member{&PadParams::interior, "interior"},
                                            Member{&PadParams::value, "value"}, Member{&PadParams::rank, "rank"});
};

/// Puts `low` values before, `high` after and `interior` between the elements of every axis; x of any
/// plain type (PTIR `Pad`). An axis that is padded is a constant.
struct Pad {
  using Params = PadParams;
  static constexpr Opcode opcode{79};
  static constexpr std::string_view name = "pad";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<Pad>& c, OutputTypes<Pad>& out) noexcept {
    if (auto r = expect_plain<Pad>(c.in[0], "x"); !r) return r;
    const Shape& x = c.in[0].type.shape;
    const Params& p = c.params;
    if (p.rank != x.rank) return bad_shape<Pad>("x", "as many axes as are padded", x);
    out[0] = c.in[0].type;
    for (std::size_t axis = 0; axis < x.rank; ++axis) {
      if (p.low[axis] == 0 && p.high[axis] == 0 && p.interior[axis] == 0) continue;
      if (x[axis].symbol != 0) return bad_shape<Pad>("x", "a constant extent where it is padded", x);
      const std::uint64_t gaps = x[axis].extent == 0 ? 0 : x[axis].extent - 1u;
      const CheckedSize extent = CheckedSize(p.low[axis]) + CheckedSize(x[axis].extent) + CheckedSize(p.high[axis]) +
                                 CheckedSize(gaps) * CheckedSize(p.interior[axis]);
      if (!extent.ok() || extent.raw() > 0xffffffffu)
        return fail(Errc::size_overflow, "pad: an extent of the result does not fit 32 bits");
      out[0].shape.dims[axis] = Dim(static_cast<std::uint32_t>(extent.raw()));
    }
    return {};
  }

  /// Where there is no padding.
  static constexpr std::optional<std::uint64_t> view(const TypeCall<Pad>& c) noexcept {
    for (std::size_t axis = 0; axis < c.params.rank; ++axis)
      if (c.params.low[axis] != 0 || c.params.high[axis] != 0 || c.params.interior[axis] != 0) return std::nullopt;
    return 0;
  }

  /// Where the elements of x are in y.
  [[nodiscard]] static CopyBox box(const HostCall<Pad>& c, const ExecutionContext& step) noexcept {
    const RowMajor from(c.in[0], step);
    const RowMajor to(c.out[0], step);
    CopyBox box;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      box.to_first += c.params.low[axis] * to.stride[axis];
      box.add(from.extent[axis], from.stride[axis], (c.params.interior[axis] + std::uint64_t{1}) * to.stride[axis]);
    }
    return box;
  }

  static void reference(const HostCall<Pad>& c, const ExecutionContext& step, const Worker&) noexcept {
    fill_with(c.params.value, c.out[0].type.dtype, c.out[0].data, 0, c.out[0].elements(step));
    copy_strided(c.in[0].type.dtype, c.in[0].data, c.out[0].data, box(c, step));
  }
};
static_assert(Op<Pad>);

}  // namespace zrt::inline ZRT_ABI::ops
