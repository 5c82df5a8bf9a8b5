// SPDX-License-Identifier: Apache-2.0
// zrt/ops/reshape.hpp: another shape over the same elements in the same order.
#pragma once

#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_params.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ReshapeParams {
  ShapeParams shape{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&ReshapeParams::shape, "shape"});
};

/// Gives x, of any plain type, the shape of the parameters; the element count is the same for every
/// step (PTIR `Reshape`).
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
    if (auto r = expect_plain<Reshape>(c.in[0], "x"); !r) return r;
    if (!c.params.shape.valid()) return bad_params<Reshape>("the shape's rank or symbols are out of range");
    out[0] = {c.in[0].type.dtype, c.params.shape.shape()};
    if (!same_size(out[0].shape, c.in[0].type.shape))
      return bad_shape<Reshape>("x", "as many elements as the new shape", c.in[0].type.shape);
    return {};
  }

  static constexpr std::optional<std::uint64_t> view(const TypeCall<Reshape>&) noexcept { return 0; }

  static void reference(const HostCall<Reshape>& c, const ExecutionContext& step, const Worker&) noexcept {
    copy_value(c.in[0], c.out[0], step);
  }
};
static_assert(Op<Reshape>);

}  // namespace zrt::inline ZRT_ABI::ops
