// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/reshaped.hpp: the shape that a program's reshape gives.
#pragma once

#include <zrt/ir/ptir/types.hpp>
#include <zrt/ops/rule_call.hpp>

#include <array>
#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// Extents that stand on both sides cancel; what is left must have equal products, unless a dynamic
/// extent is left, which the step checks. The inferred extent is the quotient, or dynamic.
[[nodiscard]] inline Result<Shape> reshaped(const RuleCall<Dim>& c, std::size_t new_shape) noexcept {
  const Shape& to = c.shape(new_shape);
  const Shape& from = c.in[0].shape;
  std::optional<std::size_t> inferred;
  std::array<bool, kMaxRank> used{};
  bool dynamic_to = false;
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    if (to[axis].is_inferred()) {
      if (inferred) return c.no(Errc::invalid_params, "new_shape has more than one inferred extent");
      inferred = axis;
    } else if (to[axis].is_dynamic()) {
      bool cancelled = false;
      for (std::size_t other = 0; other < from.size() && !cancelled; ++other)
        if (!used[other] && to[axis].is_symbol() && from[other] == to[axis]) cancelled = used[other] = true;
      dynamic_to = dynamic_to || !cancelled;
    }
  }
  bool dynamic_from = false;
  for (std::size_t axis = 0; axis < from.size(); ++axis)
    dynamic_from = dynamic_from || (from[axis].is_dynamic() && !used[axis]);
  const CheckedSize have = from.constant_elements();
  const CheckedSize want = to.constant_elements();
  if (!have.ok() || !want.ok()) return c.no(Errc::size_overflow, "the element count does not fit 64 bits");
  Shape result = to;
  if (inferred) {
    Dim& dim = result.dims[*inferred];
    if (dynamic_from || dynamic_to) {
      // What cancels leaves one dynamic extent over: the inferred one is that extent.
      dim = Dim::any();
      std::optional<std::size_t> left;
      bool one = !dynamic_to && have.raw() == want.raw() && have.raw() != 0;
      for (std::size_t axis = 0; axis < from.size(); ++axis) {
        if (!from[axis].is_dynamic() || used[axis]) continue;
        one = one && !left;
        left = axis;
      }
      if (one && left) dim = from[*left];
    } else {
      if (want.raw() == 0)
        return c.no(Errc::invalid_params, "the inferred extent is not determined beside an extent of 0");
      if (have.raw() % want.raw() != 0)
        return c.wrong(Errc::shape_mismatch, 0, "a multiple of ", want.raw(), " elements");
      const auto extent = c.extent(have.raw() / want.raw());
      if (!extent) return pass(extent);
      dim = *extent;
    }
  } else if (!dynamic_from && !dynamic_to && have.raw() != want.raw()) {
    return c.wrong(Errc::shape_mismatch, 0, want.raw(), " elements");
  }
  return result;
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
