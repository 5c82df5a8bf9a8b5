// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/lowering_index.hpp: lowering of what reads or writes where an index tensor says.
#pragma once

#include <zrt/ir/ptir/lowering.hpp>
#include <zrt/ops/dynamic_slice.hpp>
#include <zrt/ops/dynamic_update_slice.hpp>
#include <zrt/ops/gather.hpp>
#include <zrt/ops/scatter_add.hpp>
#include <zrt/ops/scatter_reduce.hpp>
#include <zrt/ops/take.hpp>

namespace zrt::inline ZRT_ABI::ir::ptir {

template <> struct Lowering<ops::Take> : LowersWithoutParams {};

template <> struct Lowering<ops::Gather> {
  [[nodiscard]] static Result<ops::GatherParams> params(const LowerCall& c) noexcept {
    return ops::GatherParams{c.axis(field_of<ops::Gather>("axis"), c.rank(0))};
  }
};

template <> struct Lowering<ops::ScatterAdd> {
  using O = ops::ScatterAdd;
  [[nodiscard]] static Result<ops::ScatterAddParams> params(const LowerCall& c) noexcept {
    constexpr std::size_t kVector = field_of<O>("index_vector_dim");
    const LoweredAxes window = c.axes(field_of<O>("update_window_dims"), c.rank(2));
    const LoweredAxes inserted = c.axes(field_of<O>("inserted_window_dims"), c.rank(0));
    const LoweredAxes places = c.axes(field_of<O>("scatter_dims_to_operand_dims"), c.rank(0));
    return ops::ScatterAddParams{window.axes,
                                 inserted.axes,
                                 places.axes,
                                 window.count,
                                 inserted.count,
                                 places.count,
                                 c.has(kVector) ? c.axis(kVector, c.rank(1)) : c.rank(1)};
  }
};

template <> struct Lowering<ops::ScatterReduce> {
  using O = ops::ScatterReduce;
  [[nodiscard]] static Result<ops::ScatterReduceParams> params(const LowerCall& c) noexcept {
    return ops::ScatterReduceParams{
        c.axis(field_of<O>("axis"), c.rank(0)), c.choice<ops::ScatterKind>(field_of<O>("reduce")), {}};
  }
};

template <> struct Lowering<ops::DynamicSlice> {
  [[nodiscard]] static Result<ops::DynamicWindowParams> params(const LowerCall& c) noexcept {
    const auto sizes = c.result_shape(field_of<ops::DynamicSlice>("sizes"));
    if (!sizes) return pass(sizes);
    return ops::DynamicWindowParams{*sizes};
  }
};

template <> struct Lowering<ops::DynamicUpdateSlice> {
  [[nodiscard]] static Result<ops::DynamicWindowParams> params(const LowerCall& c) noexcept {
    const zrt::Shape update = c.type(1).shape;
    const auto sizes = c.shape(field_of<ops::DynamicUpdateSlice>("sizes"),
                               [&](std::size_t axis) { return std::optional<std::uint32_t>(update[axis].extent); });
    if (!sizes) return pass(sizes);
    return ops::DynamicWindowParams{*sizes};
  }
};

}  // namespace zrt::inline ZRT_ABI::ir::ptir
