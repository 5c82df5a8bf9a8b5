// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/lowering_region.hpp: lowering of control flow, whose regions become graphs of their own.
#pragma once

#include <zrt/ir/ptir/lowering.hpp>
#include <zrt/ops/cond.hpp>
#include <zrt/ops/scan.hpp>
#include <zrt/ops/while_loop.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// The types of operands `first` and following.
[[nodiscard]] inline Repeated<zrt::TensorType> operand_types(const LowerCall& c, std::size_t first) noexcept {
  Repeated<zrt::TensorType> types;
  for (std::size_t i = first; i < c.in().size() && types.count < kMaxOperands; ++i)
    types.items[types.count++] = c.type(i);
  return types;
}

/// Appends a node of O with regions that take `arguments`.
template <class O>
[[nodiscard]] Result<void> lower_with_regions(const LowerCall& c, const std::array<std::size_t, kRegions<O>>& fields,
                                              const Repeated<zrt::TensorType>& arguments,
                                              const typename O::Params& params, LoweredValues& out) noexcept {
  std::array<ir::RegionId, kRegions<O>> regions{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto region = c.region(fields[i], {arguments.data(), arguments.size()});
    if (!region) return pass(region);
    regions[i] = *region;
  }
  append_node<O>(c.builder(), c.in(), {}, regions, params, out);
  return {};
}

template <> struct Lowering<ops::Cond> {
  using O = ops::Cond;
  [[nodiscard]] static Result<void> lower(const LowerCall& c, LoweredValues& out) noexcept {
    return lower_with_regions<O>(c, {at<O>("true_region"), at<O>("false_region")}, operand_types(c, 1), {}, out);
  }
};

template <> struct Lowering<ops::WhileLoop> {
  using O = ops::WhileLoop;
  [[nodiscard]] static Result<void> lower(const LowerCall& c, LoweredValues& out) noexcept {
    return lower_with_regions<O>(c, {at<O>("cond_region"), at<O>("body_region")}, operand_types(c, 0), {c.trip_limit()},
                                 out);
  }
};

template <> struct Lowering<ops::Scan> {
  using O = ops::Scan;
  [[nodiscard]] static Result<void> lower(const LowerCall& c, LoweredValues& out) noexcept {
    const auto carries = c.number(at<O>("carry_count"));
    if (!carries) return pass(carries);
    const auto outputs = c.number(at<O>("scan_output_count"));
    if (!outputs) return pass(outputs);
    Repeated<zrt::TensorType> arguments = operand_types(c, 0);
    for (std::size_t i = *carries; i < arguments.size(); ++i) {
      const zrt::Shape scanned = arguments[i].shape;
      arguments[i].shape = {};
      for (std::size_t axis = 1; axis < scanned.rank; ++axis)
        arguments[i].shape = arguments[i].shape.appended(scanned[axis]);
    }
    return lower_with_regions<O>(c, {at<O>("body_region")}, arguments, {*carries, *outputs}, out);
  }
};

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
