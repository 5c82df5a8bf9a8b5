// SPDX-License-Identifier: Apache-2.0
// zrt/ops/linear.hpp: y = x Wᵀ + b for a weight of any type.
#pragma once

#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/projection.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct LinearParams {
  quant::Act act = quant::Act::none;  ///< rounding of x, set by the plan compiler
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&LinearParams::act, "act"}, Member{&LinearParams::reserved, "reserved"});
};

/// Projects the last axis: x f32 [..., K], weight [N, K], bias f32 [N] -> f32 [..., N].
///
/// Sums: dot16 over K, or blocks where `act` rounds x (NUMERICS); the bias is added last.
struct Linear {
  using Params = LinearParams;
  static constexpr Opcode opcode{32};
  static constexpr std::string_view name = "linear";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"weight"}, Role{"bias", true}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr auto act_fields = std::to_array({ActField<LinearParams>{0, &LinearParams::act}});
  using expands_to = boost::mp11::mp_list<Constant, DotGeneral, BroadcastTo, ElementwiseBinary>;

  static constexpr Result<void> infer(const TypeCall<Linear>& c, OutputTypes<Linear>& out) noexcept {
    if (auto r = expect_input<Linear>(c.in[0], "x", DType::f32, 1); !r) return r;
    const Dim cols = c.in[0].type.shape.last();
    if (cols.symbol != 0) return bad_shape<Linear>("x", "a constant last axis", c.in[0].type.shape);
    if (auto r = expect_matrix<Linear>(c.w[0], "weight", cols.extent); !r) return r;
    const Dim rows = c.w[0].shape[0];
    if (auto r = expect_vector<Linear>(c.w[1], "bias", rows.extent, false); !r) return r;
    if (!act_fits(c.w[0].dtype, c.params.act)) return bad_params<Linear>("act does not fit the weight's type");
    out[0] = {DType::f32, c.in[0].type.shape.with_last(rows)};
    return {};
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<Linear>& c, const Extents&) noexcept {
    // Rows of f32 are used where they lie.
    if (c.w[0].dtype == DType::f32) return 0;
    return projection_scratch(c.in[0].type.shape.last().extent);
  }

  /// Computes output row `t` from `x`, which need not be the call's input.
  static void row(const HostCall<Linear>& c, std::uint32_t t, const float* x, std::uint32_t cols,
                  Span<std::byte> scratch) noexcept {
    const std::uint32_t outputs = c.w[0].rows;
    const ActivationRow rounded = round_row(x, cols, c.params.act, scratch);
    float* y = c.out[0].as<float>() + std::uint64_t{t} * outputs;
    for (std::uint32_t n = 0; n < outputs; ++n) y[n] = biased(project(c.w[0], n, rounded, scratch), c.w[1], n);
  }

  static void reference(const HostCall<Linear>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const std::uint32_t cols = c.in[0].cols(step);
    for (std::uint32_t t = 0; t < c.in[0].rows(step); ++t)
      row(c, t, c.in[0].as<float>() + std::uint64_t{t} * cols, cols, worker.scratch);
  }

  template <class G> static constexpr Result<Outputs<G, Linear>> expand(G& g, const Call<G, Linear>& c) {
    const TensorType x = g.type_of(c.in[0]);
    const auto w = g.template emit<Constant>({.in = {}, .w = {c.w[0]}})[0];
    DotGeneralParams dims;
    dims.contract_count = 1;
    dims.contract_lhs[0] = static_cast<std::uint8_t>(x.shape.rank - 1);
    dims.contract_rhs[0] = 1;
    auto y = g.template emit<DotGeneral>({.in = {c.in[0], w}, .params = dims})[0];
    if (c.w[1].present()) {
      const auto bias = g.template emit<Constant>({.in = {}, .w = {c.w[1]}})[0];
      const auto wide =
          g.template emit<BroadcastTo>({.in = {bias}, .params = {ShapeParams::of(g.type_of(y).shape)}})[0];
      y = g.template emit<ElementwiseBinary>({.in = {y, wide}, .params = {BinaryKind::add}})[0];
    }
    return Outputs<G, Linear>{y};
  }
};
static_assert(Op<Linear> && HasReference<Linear> && HasExpansion<Linear>);

}  // namespace zrt::inline ZRT_ABI::ops
