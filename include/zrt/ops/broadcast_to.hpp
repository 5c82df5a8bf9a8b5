// SPDX-License-Identifier: Apache-2.0
// zrt/ops/broadcast_to.hpp: repetition of axes of extent 1.
#pragma once

#include <zrt/ops/shape_params.hpp>
#include <zrt/ops/shape_rule.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

struct BroadcastToParams {
  ShapeParams shape{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&BroadcastToParams::shape, "shape"});
};

/// Repeats axes of extent 1, right-aligned, up to the shape of the parameters (PTIR `BroadcastTo`).
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

  static constexpr Result<void> infer(const TypeCall<BroadcastTo>& c, OutputTypes<BroadcastTo>& out) noexcept {
    if (!c.in[0].present()) return fail(Errc::dangling_value, "broadcast_to: input x is required");
    if (!c.params.shape.valid()) return bad_params<BroadcastTo>("the shape's rank or symbols are out of range");
    const Shape& from = c.in[0].type.shape;
    const Shape to = c.params.shape.shape();
    if (info(c.in[0].type.dtype).block_elems != 1)
      return bad_dtype<BroadcastTo>("x", "a plain type", c.in[0].type.dtype);
    if (from.rank > to.rank) return bad_shape<BroadcastTo>("x", "at most as many axes as the result", from);
    for (std::uint8_t axis = 0; axis < from.rank; ++axis) {
      const Dim target = to[static_cast<std::size_t>(to.rank - from.rank) + axis];
      if (from[axis] != target && from[axis] != Dim(1))
        return bad_shape<BroadcastTo>("x", "extents equal to the result's or 1", from);
    }
    out[0] = {c.in[0].type.dtype, to};
    return {};
  }

  static void reference(const HostCall<BroadcastTo>& c, const ExecutionContext& step, const Worker&) noexcept {
    const Shape& from = c.in[0].type.shape;
    const Shape& to = c.out[0].type.shape;
    const std::size_t size = info(c.in[0].type.dtype).block_bytes;
    const std::uint64_t outputs = c.out[0].elements(step);
    for (std::uint64_t y = 0; y < outputs; ++y) {
      std::uint64_t rest = y;
      std::uint64_t source = 0;
      std::uint64_t stride = 1;
      for (std::size_t back = 0; back < to.rank; ++back) {
        const std::uint64_t extent = step.extents.of(to[to.rank - 1 - back]);
        const std::uint64_t at = rest % extent;
        rest /= extent;
        if (back >= from.rank) continue;
        const std::uint64_t source_extent = step.extents.of(from[from.rank - 1 - back]);
        if (source_extent != 1) source += at * stride;
        stride *= source_extent;
      }
      std::memcpy(c.out[0].data + y * size, c.in[0].data + source * size, size);
    }
  }
};
static_assert(Op<BroadcastTo>);

}  // namespace zrt::inline ZRT_ABI::ops
