// SPDX-License-Identifier: Apache-2.0
// zrt/ops/residual_rms_norm.hpp: the sum that closes a block and the norm that opens the next.
#pragma once

#include <zrt/ops/residual_add.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ResidualRmsNormParams {
  ResidualAddParams add{};
  RmsNormParams norm{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&ResidualRmsNormParams::add, "add"}, Member{&ResidualRmsNormParams::norm, "norm"});
};

/// sum = fma(scale, branch, x); y = rms_norm(sum). Both are outputs.
struct ResidualRmsNorm {
  using Params = ResidualRmsNormParams;
  static constexpr Opcode opcode{47};
  static constexpr std::string_view name = "residual_rms_norm";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"branch"}});
  static constexpr auto output_roles = std::to_array({Role{"sum"}, Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"norm", true}});
  static constexpr auto may_alias = std::to_array({Alias{0, 0}, Alias{1, 1}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<ResidualAdd, RmsNorm>;

  static constexpr Result<void> infer(const TypeCall<ResidualRmsNorm>& c, OutputTypes<ResidualRmsNorm>& out) noexcept {
    if (auto r = expect_input<ResidualRmsNorm>(c.in[0], "x", DType::f32, 1); !r) return r;
    if (auto r = expect_input<ResidualRmsNorm>(c.in[1], "branch", DType::f32, 1); !r) return r;
    if (!(c.in[0].type.shape == c.in[1].type.shape))
      return bad_shape<ResidualRmsNorm>("branch", "the shape of x", c.in[1].type.shape);
    if (auto r = RmsNorm::check<ResidualRmsNorm>(c.params.norm, c.in[0].type.shape, c.w[0]); !r) return r;
    out[0] = out[1] = c.in[0].type;
    return {};
  }

  static void reference(const HostCall<ResidualRmsNorm>& c, const ExecutionContext& step,
                        const Worker& worker) noexcept {
    HostCall<ResidualAdd> add{c.in, {c.out[0]}, {}, {}, c.params.add};
    ResidualAdd::reference(add, step, worker);
    HostCall<RmsNorm> norm{{c.out[0]}, {c.out[1]}, c.w, {}, c.params.norm};
    RmsNorm::reference(norm, step, worker);
  }

  template <class G>
  static constexpr Result<Outputs<G, ResidualRmsNorm>> expand(G& g, const Call<G, ResidualRmsNorm>& c) {
    const auto sum = g.template emit<ResidualAdd>({.in = c.in, .params = c.params.add})[0];
    return Outputs<G, ResidualRmsNorm>{sum,
                                       g.template emit<RmsNorm>({.in = {sum}, .w = c.w, .params = c.params.norm})[0]};
  }
};
static_assert(Op<ResidualRmsNorm> && HasReference<ResidualRmsNorm> && HasExpansion<ResidualRmsNorm>);

}  // namespace zrt::inline ZRT_ABI::ops
