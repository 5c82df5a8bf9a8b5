// SPDX-License-Identifier: Apache-2.0
// zrt/ops/greedy_token.hpp: the most likely token of each row of logits.
#pragma once

#include <zrt/ops/arg_max.hpp>
#include <zrt/ops/infer_types.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// logits f32 [R, V] -> si32 [R]: the index of the largest, the smallest among equals, never a NaN.
struct GreedyToken {
  using Params = NoParams;
  static constexpr Opcode opcode{49};
  static constexpr std::string_view name = "greedy_token";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"logits"}});
  static constexpr auto output_roles = std::to_array({Role{"token"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<ArgMax>;

  static constexpr Result<void> infer(const TypeCall<GreedyToken>& c, OutputTypes<GreedyToken>& out) noexcept {
    if (auto r = expect_input<GreedyToken>(c.in[0], "logits", DType::f32, 2); !r) return r;
    return infer_types<ArgMax>({c.in, {}, {}, {}, ArgMaxParams::last_axis(c.in[0].type.shape.rank)}, out);
  }

  static void reference(const HostCall<GreedyToken>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    ArgMax::reference({c.in, c.out, {}, {}, ArgMaxParams::last_axis(c.in[0].type.shape.rank)}, step, worker);
  }

  template <class G> static constexpr Result<Outputs<G, GreedyToken>> expand(G& g, const Call<G, GreedyToken>& c) {
    return g.template emit<ArgMax>({.in = c.in, .params = ArgMaxParams::last_axis(g.type_of(c.in[0]).shape.rank)});
  }
};
static_assert(Op<GreedyToken> && HasReference<GreedyToken> && HasExpansion<GreedyToken>);

}  // namespace zrt::inline ZRT_ABI::ops
