// SPDX-License-Identifier: Apache-2.0
// zrt/ops/reshape.hpp: another shape over the same elements in the same order.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_params.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ReshapeParams {
  ShapeParams shape{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&ReshapeParams::shape, "shape"});
};

/// The result of a reshape in a graph: as many elements as x in every step. A program says more; see
/// ir/ptir/reshaped.hpp.
[[nodiscard]] constexpr Result<Shape> reshaped(const RuleCall<Dim>& c, std::size_t new_shape) noexcept {
  const Shape& to = c.shape(new_shape);
  if (!same_size(to, c.in[0].shape))
    return c.wrong(Errc::shape_mismatch, 0, "as many elements as ", TensorType{c.in[0].dtype, to});
  return to;
}

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

  static constexpr auto attributes = attribute_list(attribute::shape("new_shape", &Params::shape));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const auto result = reshaped(c, at<Reshape>("new_shape"));
    if (!result) return pass(result);
    return c.give(c.in[0].dtype, *result);
  }

  static constexpr std::optional<std::uint64_t> view(const TypeCall<Reshape>&) noexcept { return 0; }

  static void reference(const HostCall<Reshape>& c, const ExecutionContext& step, const Worker&) noexcept {
    copy_value(c.in[0], c.out[0], step);
  }

  template <class G> static void gradient(G& c) noexcept { c.give(0, c.reshape(c.cotangent(), c.in_type(0).shape)); }

  template <class E> static void emit_c(E& f, const Call<E, Reshape>& c) noexcept {
    copy_whole(f.w, c.in[0], c.out[0]);
  }
};
static_assert(Op<Reshape>);

}  // namespace zrt::inline ZRT_ABI::ops
