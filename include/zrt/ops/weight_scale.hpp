// SPDX-License-Identifier: Apache-2.0
// zrt/ops/weight_scale.hpp: a tensor times a number that the model holds.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// y = x · weight[0], element by element: x f32, weight f32 [1].
struct WeightScale {
  using Params = NoParams;
  static constexpr Opcode opcode{112};
  static constexpr std::string_view name = "weight_scale";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"weight"}});
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<WeightScale>& c, OutputTypes<WeightScale>& out) noexcept {
    if (auto r = expect_input<WeightScale>(c.in[0], "x", DType::f32, 0); !r) return r;
    if (auto r = expect_vector<WeightScale>(c.w[0], "weight", 1, true); !r) return r;
    out[0] = c.in[0].type;
    return {};
  }

  static void reference(const HostCall<WeightScale>& c, const ExecutionContext& step, const Worker&) noexcept {
    const float scale = c.w[0].f32()[0];
    for (std::uint64_t i = 0; i < c.in[0].elements(step); ++i)
      c.out[0].as<float>()[i] = math::sealed(c.in[0].as<float>()[i] * scale);
  }
};
static_assert(Op<WeightScale>);

}  // namespace zrt::inline ZRT_ABI::ops
