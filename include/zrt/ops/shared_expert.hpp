// SPDX-License-Identifier: Apache-2.0
// zrt/ops/shared_expert.hpp: adds the output of the expert that every token takes, under a gate of its own.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/ops/experts.hpp>
#include <zrt/quant/dot.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// y = fma(sigmoid(gate · x), branch, sum), row by row: x f32 [T, d], branch and sum f32 [T, n], gate f32 [d].
///
/// Sums: dot16 of gate and x.
struct SharedExpert {
  using Params = NoParams;
  static constexpr Opcode opcode{43};
  static constexpr std::string_view name = "shared_expert";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"branch"}, Role{"sum"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"gate"}});
  static constexpr auto may_alias = std::to_array({Alias{0, 1}, Alias{0, 2}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<SharedExpert>& c, OutputTypes<SharedExpert>& out) noexcept {
    if (auto r = expect_rows<SharedExpert>(c.in[0], "x"); !r) return r;
    if (auto r = expect_rows<SharedExpert>(c.in[1], "branch"); !r) return r;
    if (auto r = expect_rows<SharedExpert>(c.in[2], "sum"); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (c.in[1].type.shape[0] != x[0])
      return bad_shape<SharedExpert>("branch", "as many rows as x", c.in[1].type.shape);
    if (!(c.in[2].type == c.in[1].type))
      return bad_shape<SharedExpert>("sum", "the shape of branch", c.in[2].type.shape);
    if (auto r = expect_vector<SharedExpert>(c.w[0], "gate", x[1].extent, true); !r) return r;
    out[0] = c.in[1].type;
    return {};
  }

  static void reference(const HostCall<SharedExpert>& c, const ExecutionContext& step, const Worker&) noexcept {
    const std::uint32_t cols = c.in[0].cols(step);
    const std::uint32_t outputs = c.out[0].cols(step);
    for (std::uint64_t t = 0; t < c.in[0].rows(step); ++t) {
      const float gate = math::sigmoid(quant::dot16(c.w[0].f32(), c.in[0].as<float>() + t * cols, cols));
      for (std::uint64_t i = t * outputs; i < (t + 1) * outputs; ++i)
        c.out[0].as<float>()[i] = __builtin_fmaf(gate, c.in[1].as<float>()[i], c.in[2].as<float>()[i]);
    }
  }
};
static_assert(Op<SharedExpert> && HasReference<SharedExpert>);

}  // namespace zrt::inline ZRT_ABI::ops
