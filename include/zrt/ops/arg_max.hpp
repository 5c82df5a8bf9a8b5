// SPDX-License-Identifier: Apache-2.0
// zrt/ops/arg_max.hpp: index of the largest element along the last axis.
#pragma once

#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// si32 index of the largest element of the last axis, which is removed; the smallest index wins a
/// tie and NaN never wins (an axis of NaN gives 0). PTIR `ArgMax`.
struct ArgMax {
  using Params = NoParams;
  static constexpr Opcode opcode{72};
  static constexpr std::string_view name = "arg_max";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"index"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<ArgMax>& c, OutputTypes<ArgMax>& out) noexcept {
    if (auto r = expect_input<ArgMax>(c.in[0], "x", DType::f32, 1); !r) return r;
    if (c.in[0].type.shape.last().extent == 0)
      return bad_shape<ArgMax>("x", "a last axis that is not empty", c.in[0].type.shape);
    out[0] = {DType::si32, c.in[0].type.shape};
    --out[0].shape.rank;
    return {};
  }

  [[nodiscard]] static std::int32_t largest(const float* x, std::uint32_t n) noexcept {
    std::uint32_t best = 0;
    bool any = false;
    for (std::uint32_t i = 0; i < n; ++i)
      if (x[i] == x[i] && (!any || x[i] > x[best])) {
        best = i;
        any = true;
      }
    return static_cast<std::int32_t>(best);
  }

  static void reference(const HostCall<ArgMax>& c, const ExecutionContext& step, const Worker&) noexcept {
    const std::uint32_t cols = c.in[0].cols(step);
    for (std::uint32_t row = 0; row < c.in[0].rows(step); ++row)
      c.out[0].as<std::int32_t>()[row] = largest(c.in[0].as<float>() + std::uint64_t{row} * cols, cols);
  }
};
static_assert(Op<ArgMax>);

}  // namespace zrt::inline ZRT_ABI::ops
