// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/rules_elementwise.hpp: type rules of what works on each element alone.
#pragma once

#include <zrt/ir/ptir/rule.hpp>

namespace zrt::inline ZRT_ABI::ir::ptir::rules {

/// neg: not i1; abs: not i1, not complex; erf: floats; the others: floats and complex.
[[nodiscard]] inline Result<void> elementwise_unary(RuleCall& c) noexcept {
  constexpr std::size_t kOp = field_index("elementwise_unary", "op");
  const std::string_view kind = c.op.fields_[kOp].choices[c.choice(kOp)];
  const DType dtype = c.in[0].dtype;
  const bool fits = kind == "neg"   ? !is_boolean(dtype)
                    : kind == "abs" ? !is_boolean(dtype) && !is_complex(dtype)
                    : kind == "erf" ? is_float(dtype)
                                    : is_float(dtype) || is_complex(dtype);
  if (!fits) return c.wrong(Errc::dtype_mismatch, 0, "a dtype that ", kind, " is defined for");
  return c.give(c.in[0]);
}

/// On i1 only mul (and), maximum (or) and minimum (and); on complex no maximum and minimum.
[[nodiscard]] inline Result<void> elementwise_binary(RuleCall& c) noexcept {
  constexpr std::size_t kOp = field_index("elementwise_binary", "op");
  const std::string_view kind = c.op.fields_[kOp].choices[c.choice(kOp)];
  const auto shape = same_type(c, 0, 1);
  if (!shape) return pass(shape);
  const bool orders = kind == "maximum" || kind == "minimum";
  const DType dtype = c.in[0].dtype;
  if ((is_complex(dtype) && orders) || (is_boolean(dtype) && !orders && kind != "mul"))
    return c.wrong(Errc::dtype_mismatch, 0, "a dtype that ", kind, " is defined for");
  return c.give(dtype, *shape);
}

[[nodiscard]] inline Result<void> compare(RuleCall& c) noexcept {
  constexpr std::size_t kOp = field_index("compare", "op");
  const std::string_view kind = c.op.fields_[kOp].choices[c.choice(kOp)];
  const auto shape = same_type(c, 0, 1);
  if (!shape) return pass(shape);
  if (is_complex(c.in[0].dtype) && kind != "eq" && kind != "ne")
    return c.wrong(Errc::dtype_mismatch, 0, "a dtype that has an order");
  return c.give(DType::i1, *shape);
}

[[nodiscard]] inline Result<void> select(RuleCall& c) noexcept {
  if (c.in[0].dtype != DType::i1) return c.wrong(Errc::dtype_mismatch, 0, "i1");
  const auto shape = same_type(c, 1, 2);
  if (!shape) return pass(shape);
  Shape all;
  if (!unify(*shape, c.in[0].shape, all)) return c.differs(Errc::shape_mismatch, 0, 1);
  return c.give(c.in[1].dtype, all);
}

[[nodiscard]] inline Result<void> cast(RuleCall& c) noexcept {
  const DType to = c.dtype(field_index("cast", "dtype"));
  if (!is_castable(c.in[0].dtype, to)) return c.wrong(Errc::dtype_mismatch, 0, "a real dtype to cast to ", name(to));
  return c.give(to, c.in[0].shape);
}

[[nodiscard]] inline Result<void> stop_gradient(RuleCall& c) noexcept { return c.give(c.in[0]); }

[[nodiscard]] inline Result<void> clamp(RuleCall& c) noexcept {
  const auto low = same_type(c, 0, 1);
  if (!low) return pass(low);
  const auto high = same_type(c, 0, 2);
  if (!high) return pass(high);
  Shape all;
  if (!unify(*low, *high, all)) return c.differs(Errc::shape_mismatch, 2, 1);
  if (is_complex(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "a dtype that has an order");
  return c.give(c.in[0].dtype, all);
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir::rules
