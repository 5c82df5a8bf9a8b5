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
};
static_assert(Op<Select>);

}  // namespace zrt::inline ZRT_ABI::ops
