// SPDX-License-Identifier: Apache-2.0
// zrt/ops/residual_add.hpp: the sum that closes a block.
#pragma once

#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ResidualAddParams {
  float scale = 1.0f;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&ResidualAddParams::scale, "scale"});
};

/// y = fma(scale, branch, x), element by element.
struct ResidualAdd {
  using Params = ResidualAddParams;
  static constexpr Opcode opcode{8};
  static constexpr std::string_view name = "residual_add";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"branch"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}, Alias{0, 1}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<ResidualAdd>& c, OutputTypes<ResidualAdd>& out) noexcept {
    if (auto r = expect_input<ResidualAdd>(c.in[0], "x", DType::f32, 0); !r) return r;
    if (auto r = expect_input<ResidualAdd>(c.in[1], "branch", DType::f32, 0); !r) return r;
    if (!(c.in[0].type.shape == c.in[1].type.shape))
      return bad_shape<ResidualAdd>("branch", "the shape of x", c.in[1].type.shape);
    out[0] = c.in[0].type;
    return {};
  }

  static void reference(const HostCall<ResidualAdd>& c, const ExecutionContext& step, const Worker&) noexcept {
    const float* x = c.in[0].as<float>();
    const float* branch = c.in[1].as<float>();
    float* y = c.out[0].as<float>();
    for (std::uint64_t i = 0; i < c.in[0].elements(step); ++i) y[i] = __builtin_fmaf(c.params.scale, branch[i], x[i]);
  }
};
static_assert(Op<ResidualAdd>);

}  // namespace zrt::inline ZRT_ABI::ops
