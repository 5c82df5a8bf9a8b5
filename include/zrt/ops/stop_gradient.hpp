// SPDX-License-Identifier: Apache-2.0
// zrt/ops/stop_gradient.hpp: a value from which no gradient flows back.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/row_major.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// y = x, of any plain type (PTIR `StopGradient`); this library computes no gradients.
struct StopGradient {
  using Params = NoParams;
  static constexpr Opcode opcode{70};
  static constexpr std::string_view name = "stop_gradient";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<Reshape>;

  static constexpr auto attributes = kNoAttributes;

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept { return c.give(c.in[0]); }

  static constexpr std::optional<std::uint64_t> view(const TypeCall<StopGradient>&) noexcept { return 0; }

  static void reference(const HostCall<StopGradient>& c, const ExecutionContext& step, const Worker&) noexcept {
    copy_value(c.in[0], c.out[0], step);
  }

  template <class G> static constexpr Result<Outputs<G, StopGradient>> expand(G& g, const Call<G, StopGradient>& c) {
    return g.template emit<Reshape>({.in = c.in, .params = {ShapeParams::of(g.type_of(c.in[0]).shape)}});
  }

  static constexpr Gradient gradient = Gradient::stops();

  template <class E> static void emit_c(E& f, const Call<E, StopGradient>& c) noexcept {
    copy_whole(f.w, c.in[0], c.out[0]);
  }
};
static_assert(Op<StopGradient> && HasReference<StopGradient> && HasExpansion<StopGradient>);

}  // namespace zrt::inline ZRT_ABI::ops
