// SPDX-License-Identifier: Apache-2.0
// zrt/ops/clamp.hpp: every element held between two bounds.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/elementwise_binary.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// y = min(max(x, lo), hi), element by element, as elementwise_binary computes them (PTIR `Clamp`): NaN
/// where an operand is NaN, hi where the bounds cross.
struct Clamp {
  using Params = NoParams;
  static constexpr Opcode opcode{89};
  static constexpr std::string_view name = "clamp";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"lo"}, Role{"hi"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}, Alias{0, 1}, Alias{0, 2}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<ElementwiseBinary>;

  static constexpr auto attributes = kNoAttributes;

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const auto low = c.same_type(0, 1);
    if (!low) return pass(low);
    const auto high = c.same_type(0, 2);
    if (!high) return pass(high);
    BasicShape<D> all;
    if (!unify(*low, *high, all)) return c.differs(Errc::shape_mismatch, 2, 1);
    if (is_complex(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "a dtype that has an order");
    return c.give(c.in[0].dtype, all);
  }

  template <DomainValue T> [[nodiscard]] static T apply(T x, T low, T high) noexcept {
    bool unused = false;
    const T raised = ElementwiseBinary::apply(BinaryKind::maximum, x, low, unused);
    return ElementwiseBinary::apply(BinaryKind::minimum, raised, high, unused);
  }

  static void reference(const HostCall<Clamp>& c, const ExecutionContext& step, const Worker&) noexcept {
    const DType dtype = c.in[0].type.dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      map_elements<T, T>(
          dtype, dtype, c.out[0].data, c.in[0].elements(step), [](T x, T low, T high) { return apply(x, low, high); },
          c.in[0].data, c.in[1].data, c.in[2].data);
    });
  }

  template <class G> static constexpr Result<Outputs<G, Clamp>> expand(G& g, const Call<G, Clamp>& c) {
    const auto raised =
        g.template emit<ElementwiseBinary>({.in = {c.in[0], c.in[1]}, .params = {BinaryKind::maximum}})[0];
    return g.template emit<ElementwiseBinary>({.in = {raised, c.in[2]}, .params = {BinaryKind::minimum}});
  }

  /// A value on a bound counts as inside.
  template <class G> static void gradient(G& c) noexcept {
    auto& b = c.builder();
    const auto g = c.cotangent(), x = c.in(0), lo = c.in(1), hi = c.in(2), zero = b.scalar(g.dtype(), 0);
    const auto below = b.lt(x, lo), above = b.gt(b.maximum(x, lo), hi);
    if (c.wants(0)) c.give(0, b.select(above, zero, b.select(below, zero, g)));
    if (c.wants(1)) c.give(1, b.select(above, zero, b.select(below, g, zero)));
    if (c.wants(2)) c.give(2, b.select(above, g, zero));
  }
};
static_assert(Op<Clamp> && HasReference<Clamp> && HasExpansion<Clamp>);

}  // namespace zrt::inline ZRT_ABI::ops
