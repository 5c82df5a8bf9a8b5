// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/lowering_extension.hpp: lowering of layer_norm, random numbers and quantisation.
#pragma once

#include <zrt/ir/ptir/lowering.hpp>
#include <zrt/ops/dequantize.hpp>
#include <zrt/ops/layer_norm.hpp>
#include <zrt/ops/quantize.hpp>
#include <zrt/ops/requantize.hpp>
#include <zrt/ops/rng_normal.hpp>
#include <zrt/ops/rng_uniform.hpp>

namespace zrt::inline ZRT_ABI::ir::ptir {

template <> struct Lowering<ops::LayerNorm> {
  using O = ops::LayerNorm;
  [[nodiscard]] static Result<ops::LayerNormParams> params(const LowerCall& c) noexcept {
    return ops::LayerNormParams{c.attribute(field_of<O>("epsilon")).as_real(),
                                c.axis(field_of<O>("feature_axis"), c.rank(0)), 0};
  }
};

/// What the random generators have in common.
template <class O> struct LowersRandom {
  [[nodiscard]] static Result<void> lower(const LowerCall& c, LoweredValues& out) noexcept {
    const auto shape = c.result_shape(field_of<O>("shape"));
    if (!shape) return pass(shape);
    const std::array<ir::ValueId, 1> seed{c.in().empty() ? ir::ValueId{} : c.in()[0]};
    append_node<O>(
        c.builder(), seed, {}, {},
        {c.bits(field_of<O>("seed")), c.bits(field_of<O>("stream")), *shape, c.dtype(field_of<O>("dtype")), {}}, out);
    return {};
  }
};
template <> struct Lowering<ops::RngUniform> : LowersRandom<ops::RngUniform> {};
template <> struct Lowering<ops::RngNormal> : LowersRandom<ops::RngNormal> {};

/// What the changes between integers and their scales have in common.
template <class O> struct LowersQuantization {
  [[nodiscard]] static Result<ops::QuantizationParams> params(const LowerCall& c) noexcept {
    constexpr std::size_t kAxis = field_of<O>("axis");
    const bool per_axis = c.has(kAxis);
    return ops::QuantizationParams{c.dtype(field_of<O>("output_dtype")), static_cast<std::uint8_t>(per_axis),
                                   per_axis ? c.axis(kAxis, c.rank(0)) : std::uint8_t{0}, 0};
  }
};
template <> struct Lowering<ops::Quantize> : LowersQuantization<ops::Quantize> {};
template <> struct Lowering<ops::Dequantize> : LowersQuantization<ops::Dequantize> {};
template <> struct Lowering<ops::Requantize> : LowersQuantization<ops::Requantize> {};

}  // namespace zrt::inline ZRT_ABI::ir::ptir
