// SPDX-License-Identifier: Apache-2.0
// zrt/ops/select.hpp: each element from one of two tensors.
#pragma once

#include <zrt/core/copy_elements.hpp>
#include <zrt/ops/shape_rule.hpp>

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

  static constexpr Result<void> infer(const TypeCall<Select>& c, OutputTypes<Select>& out) noexcept {
    if (auto r = expect_input<Select>(c.in[0], "pred", DType::i1, 0); !r) return r;
    if (auto r = expect_plain<Select>(c.in[1], "on_true"); !r) return r;
    const TensorType& type = c.in[1].type;
    if (auto r = expect_same_dtype<Select>(c.in[2], "on_false", type.dtype, "on_true"); !r) return r;
    if (!(type.shape == c.in[2].type.shape))
      return bad_shape<Select>("on_false", "the shape of on_true", c.in[2].type.shape);
    if (!(type.shape == c.in[0].type.shape))
      return bad_shape<Select>("pred", "the shape of on_true", c.in[0].type.shape);
    out[0] = type;
    return {};
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
