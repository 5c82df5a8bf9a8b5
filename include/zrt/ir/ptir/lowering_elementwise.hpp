// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/lowering_elementwise.hpp: lowering of what works on each element alone.
#pragma once

#include <zrt/ir/ptir/lowering.hpp>
#include <zrt/ops/cast.hpp>
#include <zrt/ops/clamp.hpp>
#include <zrt/ops/compare.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/select.hpp>
#include <zrt/ops/stop_gradient.hpp>

namespace zrt::inline ZRT_ABI::ir::ptir {

template <> struct Lowering<ops::ElementwiseUnary> {
  [[nodiscard]] static Result<ops::ElementwiseUnaryParams> params(const LowerCall& c) noexcept {
    return ops::ElementwiseUnaryParams{c.choice<ops::UnaryKind>(field_of<ops::ElementwiseUnary>("op"))};
  }
};
template <> struct Lowering<ops::ElementwiseBinary> {
  [[nodiscard]] static Result<ops::ElementwiseBinaryParams> params(const LowerCall& c) noexcept {
    return ops::ElementwiseBinaryParams{c.choice<ops::BinaryKind>(field_of<ops::ElementwiseBinary>("op"))};
  }
};
template <> struct Lowering<ops::Compare> {
  [[nodiscard]] static Result<ops::CompareParams> params(const LowerCall& c) noexcept {
    return ops::CompareParams{c.choice<ops::CompareKind>(field_of<ops::Compare>("op"))};
  }
};
template <> struct Lowering<ops::Cast> {
  [[nodiscard]] static Result<ops::CastParams> params(const LowerCall& c) noexcept {
    return ops::CastParams{c.dtype(field_of<ops::Cast>("dtype"))};
  }
};
template <> struct Lowering<ops::Select> : LowersWithoutParams {};
template <> struct Lowering<ops::StopGradient> : LowersWithoutParams {};
template <> struct Lowering<ops::Clamp> : LowersWithoutParams {};

}  // namespace zrt::inline ZRT_ABI::ir::ptir
