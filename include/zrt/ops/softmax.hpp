// SPDX-License-Identifier: Apache-2.0
// zrt/ops/softmax.hpp: normalised exponentials of the last axis.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/reduce.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// y = exp(x - max) / sum(exp(x - max)) over the last axis. Sums: dot16 with ones.
struct Softmax {
  using Params = NoParams;
  static constexpr Opcode opcode{103};
  static constexpr std::string_view name = "softmax";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<Reduce, BroadcastTo, ElementwiseUnary, ElementwiseBinary>;

  static constexpr Result<void> infer(const TypeCall<Softmax>& c, OutputTypes<Softmax>& out) noexcept {
    if (auto r = expect_input<Softmax>(c.in[0], "x", DType::f32, 1); !r) return r;
    out[0] = c.in[0].type;
    return {};
  }

  static void reference(const HostCall<Softmax>& c, const ExecutionContext& step, const Worker&) noexcept {
    const std::uint32_t cols = c.in[0].cols(step);
    for (std::uint64_t row = 0; row < c.in[0].rows(step); ++row) {
      const float* x = c.in[0].as<float>() + row * cols;
      float* y = c.out[0].as<float>() + row * cols;
      const float top = Reduce::fold(ReduceKind::maximum, x, cols);
      for (std::uint32_t i = 0; i < cols; ++i) y[i] = math::exp(x[i] - top);
      const float sum = Reduce::fold(ReduceKind::sum, y, cols);
      for (std::uint32_t i = 0; i < cols; ++i) y[i] /= sum;
    }
  }

  template <class G> static constexpr Result<Outputs<G, Softmax>> expand(G& g, const Call<G, Softmax>& c) {
    const Shape shape = g.type_of(c.in[0]).shape;
    auto fold = [&](ReduceKind kind, auto x) {
      const auto folded = g.template emit<Reduce>({.in = {x}, .params = ReduceParams::last_axis(kind, shape.rank)})[0];
      return g.template emit<BroadcastTo>({.in = {folded}, .params = {ShapeParams::of(shape)}})[0];
    };
    const auto shifted = g.template emit<ElementwiseBinary>(
        {.in = {c.in[0], fold(ReduceKind::maximum, c.in[0])}, .params = {BinaryKind::sub}})[0];
    const auto p = g.template emit<ElementwiseUnary>({.in = {shifted}, .params = {UnaryKind::exp}})[0];
    return g.template emit<ElementwiseBinary>({.in = {p, fold(ReduceKind::sum, p)}, .params = {BinaryKind::div}});
  }
};
static_assert(Op<Softmax> && HasReference<Softmax> && HasExpansion<Softmax>);

}  // namespace zrt::inline ZRT_ABI::ops
