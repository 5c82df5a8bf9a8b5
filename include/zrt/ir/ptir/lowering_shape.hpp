// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/lowering_shape.hpp: lowering of what moves elements without computing, and of sources.
#pragma once

#include <zrt/ir/ptir/lowering.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/concat.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/dynamic_update_slice.hpp>
#include <zrt/ops/reshape.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// Reads a literal, which is checked, as a value of the graph.
///
/// Errors: Errc::size_overflow for an extent above 32 bits.
[[nodiscard]] inline Result<void> lower_literal(const Program& program, const Literal& literal, ir::Builder& builder,
                                                LoweredValues& out) noexcept {
  zrt::Shape shape;
  for (const Dim dim : literal.type.shape.view()) {
    if (dim.constant() > std::numeric_limits<std::uint32_t>::max())
      return fail(Errc::size_overflow, "a literal has an extent of ", dim.constant(), ", which does not fit 32 bits");
    shape = shape.appended(static_cast<std::uint32_t>(dim.constant()));
  }
  const ir::WeightId weight = builder.constant(program.bytes_of(literal), literal.type.dtype, shape);
  append_node<ops::Constant>(builder, {}, {&weight, 1}, {}, {ops::ConstantForm::stored}, out);
  return {};
}

template <> struct Lowering<ops::Constant> {
  [[nodiscard]] static Result<void> lower(const LowerCall& c, LoweredValues& out) noexcept {
    const std::uint64_t literal = c.bits(at<ops::Constant>("value"));
    return lower_literal(c.program(), *c.program().literal(literal), c.builder(), out);
  }
};

template <> struct Lowering<ops::Reshape> {
  [[nodiscard]] static Result<ops::ReshapeParams> params(const LowerCall& c) noexcept {
    constexpr std::size_t kShape = at<ops::Reshape>("new_shape");
    const Shape written = c.program().shape_of(c.attribute(kShape));
    // One extent that is not known is what the others leave of the elements.
    CheckedSize others = 1;
    std::size_t open = 0;
    for (std::size_t axis = 0; axis < written.size(); ++axis) {
      auto extent = c.extent(written[axis]);
      if (!extent) extent = c.declared_extent(axis);
      if (extent)
        others *= CheckedSize(*extent);
      else
        ++open;
    }
    const CheckedSize elements = c.type(0).shape.elements({});
    if (open == 1 && others.ok() && elements.ok() && others.raw() != 0 && elements.raw() % others.raw() != 0)
      return fail(Errc::shape_mismatch, "reshape: operand x has ", elements.raw(), " elements, expected a multiple of ",
                  others.raw());
    const auto shape = c.shape(kShape, [&](std::size_t axis) -> std::optional<std::uint32_t> {
      if (const auto extent = c.declared_extent(axis)) return extent;
      if (open != 1 || !others.ok() || !elements.ok() || others.raw() == 0 || elements.raw() % others.raw() != 0)
        return std::nullopt;
      const std::uint64_t left = elements.raw() / others.raw();
      if (left > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
      return static_cast<std::uint32_t>(left);
    });
    if (!shape) return pass(shape);
    return ops::ReshapeParams{*shape};
  }
};

template <> struct Lowering<ops::BroadcastTo> {
  [[nodiscard]] static Result<ops::BroadcastToParams> params(const LowerCall& c) noexcept {
    constexpr std::size_t kShape = at<ops::BroadcastTo>("result_shape");
    const zrt::Shape from = c.type(0).shape;
    const std::size_t lead = c.length(kShape) - from.rank;
    const auto shape = c.shape(kShape, [&](std::size_t axis) -> std::optional<std::uint32_t> {
      if (const auto extent = c.declared_extent(axis)) return extent;
      // An extent of 1 says nothing: it may be spread.
      if (axis < lead || from[axis - lead] == zrt::Dim(1)) return std::nullopt;
      return from[axis - lead].extent;
    });
    if (!shape) return pass(shape);
    return ops::BroadcastToParams{*shape};
  }
};

template <> struct Lowering<ops::DynamicUpdateSlice> {
  [[nodiscard]] static Result<ops::DynamicWindowParams> params(const LowerCall& c) noexcept {
    const zrt::Shape update = c.type(1).shape;
    const auto sizes = c.shape(at<ops::DynamicUpdateSlice>("sizes"),
                               [&](std::size_t axis) { return std::optional<std::uint32_t>(update[axis].extent); });
    if (!sizes) return pass(sizes);
    return ops::DynamicWindowParams{*sizes};
  }
};

template <> struct Lowering<ops::Concat> {
  /// A node joins kMaxOperands tensors at most; of more it takes what those before it joined first.
  [[nodiscard]] static Result<void> lower(const LowerCall& c, LoweredValues& out) noexcept {
    const ops::ConcatParams params{c.axis(at<ops::Concat>("axis"), c.rank(0))};
    Span<const ir::ValueId> rest = c.in();
    std::array<ir::ValueId, kMaxOperands> group{};
    for (std::size_t count = 0; !c.builder().failed();) {
      for (; count < kMaxOperands && !rest.empty(); rest = rest.subspan(1)) group[count++] = rest[0];
      append_node<ops::Concat>(c.builder(), {group.data(), count}, {}, {}, params, out);
      if (rest.empty()) break;
      group[0] = out[0];
      count = 1;
    }
    return {};
  }
};

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
