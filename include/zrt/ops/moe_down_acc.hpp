// SPDX-License-Identifier: Apache-2.0
// zrt/ops/moe_down_acc.hpp: down projection of the chosen experts, and their weighted sum.
#pragma once

#include <zrt/ops/experts.hpp>
#include <zrt/ops/projection.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct MoeDownAccParams {
  quant::Act act = quant::Act::none;  ///< rounding of h, set by the plan compiler
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&MoeDownAccParams::act, "act"}, Member{&MoeDownAccParams::reserved, "reserved"});
};

/// y[t] = sum[t] + weights[t, j] · scale_e · (down_e h[t, j] + bias_e) for each expert e = ids[t, j] in ascending order.
///
/// h f32 [T, k, n], ids si32 [T, k] ascending in each row, weights f32 [T, k], sum f32 [T, d], down [E, d, n], bias
/// f32 [E, d], scale f32 [E] -> f32 [T, d]. Without `sum` it begins with +0. An id that does not count adds nothing, and
/// is a fault of the data. Sums: those of linear; y by chain, weights · scale_e rounded once before.
struct MoeDownAcc {
  using Params = MoeDownAccParams;
  static constexpr Opcode opcode{42};
  static constexpr std::string_view name = "moe_down_acc";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"h"}, Role{"ids"}, Role{"weights"}, Role{"sum", true}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"down"}, Role{"bias", true}, Role{"scale", true}});
  static constexpr auto may_alias = std::to_array({Alias{0, 3}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr auto act_fields = std::to_array({ActField<Params>{0, &Params::act}});

  static constexpr Result<void> infer(const TypeCall<MoeDownAcc>& c, OutputTypes<MoeDownAcc>& out) noexcept {
    if (auto r = expect_input<MoeDownAcc>(c.in[0], "h", DType::f32, 3); !r) return r;
    const Shape& h = c.in[0].type.shape;
    if (h.rank != 3 || h[2].symbol != 0) return bad_shape<MoeDownAcc>("h", "[tokens, experts, a constant width]", h);
    if (auto r = expect_ids<MoeDownAcc>(c.in[1], h[0]); !r) return r;
    if (h[1] != c.in[1].type.shape[1]) return bad_shape<MoeDownAcc>("ids", "a row for each of h", c.in[1].type.shape);
    if (auto r = expect_input<MoeDownAcc>(c.in[2], "weights", DType::f32, 2); !r) return r;
    if (!(c.in[2].type.shape == c.in[1].type.shape))
      return bad_shape<MoeDownAcc>("weights", "the shape of ids", c.in[2].type.shape);
    const std::uint32_t experts = c.w[0].shape.rank == 0 ? 0 : c.w[0].shape[0].extent;
    if (auto r = expect_experts<MoeDownAcc>(c.w[0], "down", experts, h[2].extent); !r) return r;
    const Dim outputs = c.w[0].shape[1];
    if (auto r = expect_expert_vectors<MoeDownAcc>(c.w[1], "bias", experts, outputs.extent); !r) return r;
    if (auto r = expect_vector<MoeDownAcc>(c.w[2], "scale", experts, false); !r) return r;
    if (!act_fits(c.w[0].dtype, c.params.act)) return bad_params<MoeDownAcc>("act does not fit the weight's type");
    out[0] = {DType::f32, Shape{h[0], outputs}};
    if (c.in[3].present()) {
      if (auto r = expect_input<MoeDownAcc>(c.in[3], "sum", DType::f32, 2); !r) return r;
      if (!(c.in[3].type == out[0])) return bad_shape<MoeDownAcc>("sum", "the shape of y", c.in[3].type.shape);
    }
    return {};
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<MoeDownAcc>& c, const Extents&) noexcept {
    return projection_scratch(c.in[0].type.shape.last().extent);
  }

  static void reference(const HostCall<MoeDownAcc>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const std::uint32_t inner = c.in[0].cols(step);
    const std::uint32_t used = c.in[1].cols(step);
    const std::uint32_t outputs = c.out[0].cols(step);
    const std::uint32_t experts = outputs == 0 ? 0 : c.w[0].rows / outputs;
    const float* sum = c.in[3].as<float>();
    for (std::uint32_t t = 0; t < c.in[1].rows(step); ++t) {
      float* y = c.out[0].as<float>() + std::uint64_t{t} * outputs;
      for (std::uint32_t n = 0; n < outputs; ++n) y[n] = sum == nullptr ? 0.0f : sum[std::uint64_t{t} * outputs + n];
      ChosenExperts chosen(experts);
      for (std::uint32_t j = 0; j < used; ++j) {
        const std::uint64_t pair = std::uint64_t{t} * used + j;
        if (!chosen.counts(c.in[1].as<std::int32_t>()[pair])) {
          step.violated_row(worker, c.in[1].type.shape[0], t);
          continue;
        }
        const auto e = static_cast<std::uint64_t>(c.in[1].as<std::int32_t>()[pair]);
        float weight = c.in[2].as<float>()[pair];
        if (c.w[2].present()) weight *= c.w[2].f32()[e];
        const ActivationRow row = round_row(c.in[0].as<float>() + pair * inner, inner, c.params.act, worker.scratch);
        for (std::uint32_t n = 0; n < outputs; ++n)
          y[n] = __builtin_fmaf(
              weight, biased(project(c.w[0], e * outputs + n, row, worker.scratch), c.w[1], e * outputs + n), y[n]);
      }
    }
  }
};
static_assert(Op<MoeDownAcc> && HasReference<MoeDownAcc>);

}  // namespace zrt::inline ZRT_ABI::ops
