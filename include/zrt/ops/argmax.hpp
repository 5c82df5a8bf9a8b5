// SPDX-License-Identifier: Apache-2.0
// zrt/ops/argmax.hpp: the most likely token of each row of logits.
#pragma once

#include <zrt/ops/arg_max.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// logits f32 [R, V] -> si32 [R]: the index of the largest, the smallest among equals, never a NaN.
struct Argmax {
  using Params = NoParams;
  static constexpr Opcode opcode{49};
  static constexpr std::string_view name = "argmax";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"logits"}});
  static constexpr auto output_roles = std::to_array({Role{"token"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<ArgMax>;

  static constexpr Result<void> infer(const TypeCall<Argmax>& c, OutputTypes<Argmax>& out) noexcept {
    if (auto r = expect_input<Argmax>(c.in[0], "logits", DType::f32, 2); !r) return r;
    return ArgMax::infer({c.in, {}, {}, {}, ArgMaxParams::last_axis(c.in[0].type.shape.rank)}, out);
  }

  static void reference(const HostCall<Argmax>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    ArgMax::reference({c.in, c.out, {}, {}, ArgMaxParams::last_axis(c.in[0].type.shape.rank)}, step, worker);
  }

  template <class G> static constexpr Result<Outputs<G, Argmax>> expand(G& g, const Call<G, Argmax>& c) {
    return g.template emit<ArgMax>({.in = c.in, .params = ArgMaxParams::last_axis(g.type_of(c.in[0]).shape.rank)});
  }
};
static_assert(Op<Argmax> && HasReference<Argmax> && HasExpansion<Argmax>);

}  // namespace zrt::inline ZRT_ABI::ops
