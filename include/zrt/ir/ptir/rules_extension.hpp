// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/rules_extension.hpp: type rules of layer_norm, random numbers, quantisation and custom calls.
#pragma once

#include <zrt/ir/ptir/rule.hpp>
#include <zrt/ops/custom_call.hpp>

namespace zrt::inline ZRT_ABI::ir::ptir::rules {

[[nodiscard]] inline Result<void> layer_norm(RuleCall& c) noexcept {
  const Shape& shape = c.in[0].shape;
  const auto axis = axis_of(c, "feature_axis", c.integer(field_index("layer_norm", "feature_axis")), shape.rank);
  if (!axis) return pass(axis);
  if (!is_float(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "a float dtype");
  const double epsilon = c.attributes[field_index("layer_norm", "epsilon")].as_real();
  // Written so that NaN is refused too.
  if (!(epsilon >= 0)) return c.no(Errc::invalid_params, "epsilon is negative or NaN, expected 0 or more");
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (c.in[i].dtype != c.in[0].dtype) return c.differs(Errc::dtype_mismatch, i, 0);
    Dim both;
    if (c.in[i].shape.rank != 1 || !unify(c.in[i].shape[0], shape[*axis], both))
      return c.wrong(Errc::shape_mismatch, i, "one entry for each feature on axis ", *axis, " of x");
  }
  return c.give(c.in[0]);
}

[[nodiscard]] inline Result<void> random(RuleCall& c, std::size_t shape, std::size_t dtype, std::size_t seed) noexcept {
  if (!c.in.empty()) {
    if (c.in[0].dtype != DType::si64) return c.wrong(Errc::dtype_mismatch, 0, "a scalar of si64");
    if (c.in[0].shape.rank != 0) return c.wrong(Errc::shape_mismatch, 0, "a scalar of si64");
    if (c.has(seed)) return c.no(Errc::invalid_params, "seed is both an operand and an attribute");
  }
  if (!is_float(c.dtype(dtype)))
    return c.no(Errc::dtype_mismatch, "dtype is ", name(c.dtype(dtype)), ", expected a float dtype");
  return c.give(c.dtype(dtype), c.shape(shape));
}
[[nodiscard]] inline Result<void> rng_uniform(RuleCall& c) noexcept {
  return random(c, field_index("rng_uniform", "shape"), field_index("rng_uniform", "dtype"),
                field_index("rng_uniform", "seed"));
}
[[nodiscard]] inline Result<void> rng_normal(RuleCall& c) noexcept {
  return random(c, field_index("rng_normal", "shape"), field_index("rng_normal", "dtype"),
                field_index("rng_normal", "seed"));
}

/// Operands `scale` (f32) and the zero point after it (si32): scalars, or vectors over the axis.
[[nodiscard]] inline Result<void> scaling(const RuleCall& c, std::size_t axis_field, std::size_t scale) noexcept {
  TensorType expected{DType::f32, {}};
  if (c.has(axis_field)) {
    const auto axis = axis_of(c, "axis", c.integer(axis_field), c.in[0].shape.rank);
    if (!axis) return pass(axis);
    expected.shape.append(c.in[0].shape[*axis]);
  }
  for (const std::size_t i : {scale, scale + 1}) {
    expected.dtype = i == scale ? DType::f32 : DType::si32;
    if (compatible(c.in[i], expected)) continue;
    Error error = c.wrong(c.in[i].dtype != expected.dtype ? Errc::dtype_mismatch : Errc::shape_mismatch, i).error();
    return std::unexpected<Error>(append_type(error, c.program, expected));
  }
  return {};
}

[[nodiscard]] inline Result<void> quantize(RuleCall& c) noexcept {
  const DType to = c.dtype(field_index("quantize", "output_dtype"));
  if (!is_float(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "a float dtype");
  if (!is_integer(to)) return c.no(Errc::dtype_mismatch, "output_dtype is ", name(to), ", expected an integer dtype");
  if (auto r = scaling(c, field_index("quantize", "axis"), 1); !r) return r;
  return c.give(to, c.in[0].shape);
}

[[nodiscard]] inline Result<void> dequantize(RuleCall& c) noexcept {
  const DType to = c.dtype(field_index("dequantize", "output_dtype"));
  if (!is_integer(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "an integer dtype");
  if (!is_float(to)) return c.no(Errc::dtype_mismatch, "output_dtype is ", name(to), ", expected a float dtype");
  if (auto r = scaling(c, field_index("dequantize", "axis"), 1); !r) return r;
  return c.give(to, c.in[0].shape);
}

[[nodiscard]] inline Result<void> requantize(RuleCall& c) noexcept {
  const DType to = c.dtype(field_index("requantize", "output_dtype"));
  if (!is_integer(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "an integer dtype");
  if (!is_integer(to)) return c.no(Errc::dtype_mismatch, "output_dtype is ", name(to), ", expected an integer dtype");
  for (const std::size_t scale : {std::size_t{1}, std::size_t{3}})
    if (auto r = scaling(c, field_index("requantize", "axis"), scale); !r) return r;
  return c.give(to, c.in[0].shape);
}

/// The declared output is authoritative.
[[nodiscard]] inline Result<void> custom_call(RuleCall& c) noexcept {
  const std::string_view target = c.program.text(c.attributes[field_index("custom_call", "target")].range);
  if (!ops::is_versioned_name(target))
    return c.no(Errc::invalid_params, "target is ", target.substr(0, 60), ", expected namespace.name.v1");
  for (const TensorType& type : c.program.types_of(c.declared))
    if (auto r = c.give(type); !r) return r;
  c.tuple = c.declared.tuple;
  return {};
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir::rules
