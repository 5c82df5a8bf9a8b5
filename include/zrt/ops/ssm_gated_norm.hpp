// SPDX-License-Identifier: Apache-2.0
// zrt/ops/ssm_gated_norm.hpp: the norm of a mixer's output, gated before or after.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct SsmGatedNormParams {
  float eps = 1e-5f;
  std::uint32_t dim = 0;        ///< length of one run
  std::uint8_t gate_first = 0;  ///< 1: gates, then normalises; 0: normalises, then gates
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(
      Member{&SsmGatedNormParams::eps, "eps"}, Member{&SsmGatedNormParams::dim, "dim"},
      Member{&SsmGatedNormParams::gate_first, "gate_first"}, Member{&SsmGatedNormParams::reserved, "reserved"});

  [[nodiscard]] constexpr RmsNormParams norm() const noexcept { return {eps, 0.0f, dim}; }
};

/// y = norm(x) · silu(z), or norm(x · silu(z)) with `gate_first`; norms are of runs of `dim` elements.
///
/// x, z f32 [..., n·dim]; weight f32 [dim] for all runs, or [n, dim] with one for each. Sums: those of rms_norm.
struct SsmGatedNorm {
  using Params = SsmGatedNormParams;
  static constexpr Opcode opcode{46};
  static constexpr std::string_view name = "ssm_gated_norm";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"z"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"weight"}});
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<SsmGatedNorm>& c, OutputTypes<SsmGatedNorm>& out) noexcept {
    if (auto r = expect_input<SsmGatedNorm>(c.in[0], "x", DType::f32, 1); !r) return r;
    if (auto r = expect_input<SsmGatedNorm>(c.in[1], "z", DType::f32, 1); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (!(c.in[1].type.shape == x)) return bad_shape<SsmGatedNorm>("z", "the shape of x", c.in[1].type.shape);
    if (auto r = RmsNorm::check<SsmGatedNorm>(c.params.norm(), x, {}); !r) return r;
    if (c.params.gate_first > 1) return bad_params<SsmGatedNorm>("gate_first must be 0 or 1");
    WeightInfo weight = c.w[0];
    if (weight.shape.rank == 2 && weight.shape[0] == Dim(x.last().extent / c.params.dim))
      weight.shape = Shape{weight.shape[1]};
    if (auto r = expect_vector<SsmGatedNorm>(weight, "weight", c.params.dim, true); !r) return r;
    out[0] = c.in[0].type;
    return {};
  }

  /// The weight of a run.
  [[nodiscard]] static const float* weight_of(const HostWeight& weight, const Params& p, std::uint64_t run) noexcept {
    return weight.f32() + run % weight.rows * p.dim;
  }

  static void reference(const HostCall<SsmGatedNorm>& c, const ExecutionContext& step, const Worker&) noexcept {
    const Params& p = c.params;
    for (std::uint64_t run = 0; run < c.in[0].elements(step) / p.dim; ++run) {
      const float* x = c.in[0].as<float>() + run * p.dim;
      const float* z = c.in[1].as<float>() + run * p.dim;
      float* y = c.out[0].as<float>() + run * p.dim;
      if (p.gate_first != 0)
        for (std::uint32_t i = 0; i < p.dim; ++i) y[i] = math::silu(z[i]) * x[i];
      RmsNorm::run(p.norm(), p.gate_first != 0 ? y : x, weight_of(c.w[0], p, run), y);
      if (p.gate_first == 0)
        for (std::uint32_t i = 0; i < p.dim; ++i) y[i] = math::silu(z[i]) * y[i];
    }
  }
};
static_assert(Op<SsmGatedNorm> && HasReference<SsmGatedNorm>);

}  // namespace zrt::inline ZRT_ABI::ops
