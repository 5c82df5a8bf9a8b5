// SPDX-License-Identifier: Apache-2.0
// zrt/ops/reduce.hpp: sum, maximum or minimum over the last axis.
#pragma once

#include <zrt/ops/accumulate.hpp>
#include <zrt/ops/shape_rule.hpp>
#include <zrt/quant/dot.hpp>

#include <limits>

namespace zrt::inline ZRT_ABI::ops {

struct ReduceParams {
  ReduceKind kind = ReduceKind::sum;
  std::uint8_t keep_dims = 1;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&ReduceParams::kind, "kind"}, Member{&ReduceParams::keep_dims, "keep_dims"});
};

/// Reduces the last axis of an f32 tensor; an empty axis gives 0, -inf or +inf.
///
/// Sums: dot16 with ones. maximum and minimum ignore NaN.
struct Reduce {
  using Params = ReduceParams;
  static constexpr Opcode opcode{71};
  static constexpr std::string_view name = "reduce";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<Reduce>& c, OutputTypes<Reduce>& out) noexcept {
    if (auto r = expect_input<Reduce>(c.in[0], "x", DType::f32, 1); !r) return r;
    if (static_cast<std::uint8_t>(c.params.kind) >= kReduceKinds || c.params.keep_dims > 1)
      return bad_params<Reduce>("kind or keep_dims is not known");
    out[0] = {DType::f32, c.in[0].type.shape.with_last(1)};
    if (c.params.keep_dims == 0) --out[0].shape.rank;
    return {};
  }

  [[nodiscard]] static float fold(ReduceKind kind, const float* x, std::uint32_t n) noexcept {
    if (kind == ReduceKind::sum) return quant::sum16(x, n);
    float best =
        kind == ReduceKind::maximum ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
    for (std::uint32_t i = 0; i < n; ++i)
      if (kind == ReduceKind::maximum ? x[i] > best : x[i] < best) best = x[i];
    return best;
  }

  static void reference(const HostCall<Reduce>& c, const ExecutionContext& step, const Worker&) noexcept {
    const std::uint32_t cols = c.in[0].cols(step);
    for (std::uint32_t row = 0; row < c.in[0].rows(step); ++row)
      c.out[0].as<float>()[row] = fold(c.params.kind, c.in[0].as<float>() + std::uint64_t{row} * cols, cols);
  }
};
static_assert(Op<Reduce>);

}  // namespace zrt::inline ZRT_ABI::ops
