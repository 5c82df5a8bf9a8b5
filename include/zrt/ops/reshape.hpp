// SPDX-License-Identifier: Apache-2.0
// zrt/ops/reshape.hpp: another shape over the same elements in the same order.
#pragma once

#include <zrt/ops/shape_params.hpp>
#include <zrt/ops/shape_rule.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

struct ReshapeParams {
  ShapeParams shape{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&ReshapeParams::shape, "shape"});
};

/// Gives x the shape of the parameters; the element count is the same for every step.
struct Reshape {
  using Params = ReshapeParams;
  static constexpr Opcode opcode{74};
  static constexpr std::string_view name = "reshape";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<Reshape>& c, OutputTypes<Reshape>& out) noexcept {
    if (!c.in[0].present()) return fail(Errc::dangling_value, "reshape: input x is required");
    if (!c.params.shape.valid()) return bad_params<Reshape>("the shape's rank or symbols are out of range");
    out[0] = {c.in[0].type.dtype, c.params.shape.shape()};
    if (!same_size(out[0].shape, c.in[0].type.shape))
      return bad_shape<Reshape>("x", "as many elements as the new shape", c.in[0].type.shape);
    return {};
  }

  static void reference(const HostCall<Reshape>& c, const ExecutionContext& step, const Worker&) noexcept {
    if (c.out[0].data != c.in[0].data)
      std::memcpy(c.out[0].data, c.in[0].data, bytes_of(c.in[0].type.dtype, c.in[0].elements(step)));
  }
};
static_assert(Op<Reshape>);

}  // namespace zrt::inline ZRT_ABI::ops
