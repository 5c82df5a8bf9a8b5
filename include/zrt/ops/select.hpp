// SPDX-License-Identifier: Apache-2.0
// zrt/ops/select.hpp: each element from one of two tensors.
#pragma once

#include <zrt/core/copy_elements.hpp>
#include <zrt/ops/attributes.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// y[i] = pred[i] ? on_true[i] : on_false[i] for elements of any plain type (PTIR `Select`); every pred
/// but 0 is true.
struct Select {
  using Params = NoParams;
  static constexpr Opcode opcode{68};
  static constexpr std::string_view name = "select";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"pred"}, Role{"on_true"}, Role{"on_false"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 1}, Alias{0, 2}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = kNoAttributes;

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    if (c.in[0].dtype != DType::i1) return c.wrong(Errc::dtype_mismatch, 0, "i1");
    const auto shape = c.same_type(1, 2);
    if (!shape) return pass(shape);
    BasicShape<D> all;
    if (!unify(*shape, c.in[0].shape, all)) return c.differs(Errc::shape_mismatch, 0, 1);
    return c.give(c.in[1].dtype, all);
  }

  static void reference(const HostCall<Select>& c, const ExecutionContext& step, const Worker&) noexcept {
    for (std::uint64_t i = 0; i < c.out[0].elements(step); ++i) {
      const HostTensor& chosen = c.in[c.in[0].data[i] != std::byte{0} ? 1 : 2];
      if (chosen.data != c.out[0].data) copy_elements(c.out[0].type.dtype, chosen.data, i, c.out[0].data, i, 1);
    }
  }

  template <class G> static void gradient(G& c) noexcept {
    auto& b = c.builder();
    const auto g = c.cotangent(), zero = b.scalar(g.dtype(), 0);
    if (c.wants(1)) c.give(1, b.select(c.in(0), g, zero));
    if (c.wants(2)) c.give(2, b.select(c.in(0), zero, g));
  }

  template <class E> static void emit_c(E& f, const Call<E, Select>& c) noexcept {
    const auto& y = c.out[0];
    if (c.in[1].place == y.place && c.in[2].place == y.place) return;
    f.w.loop({"i"}, y.elements());
    // The predicate may lie where the result goes, so that it is read once.
    f.w.line({"const uint64_t chosen = ", load(c.in[0], {"i"}), ";"});
    // What lies where it shall go already is left there.
    const auto one = [&](std::size_t in, std::string_view test) {
      if (c.in[in].place == y.place) return;
      f.w.open({"if (chosen ", test, " 0)"});
      copy(f.w, y.dtype(), y.pointer(), {"i"}, c.in[in].pointer(), {"i"}, {"1"});
      f.w.close();
    };
    one(1, "!=");
    one(2, "==");
    f.w.close();
  }
};
static_assert(Op<Select>);

}  // namespace zrt::inline ZRT_ABI::ops
