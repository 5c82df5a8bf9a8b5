// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/lowering.hpp: what an operation of the portable tensor IR says of its way into a graph.
#pragma once

#include <zrt/ir/ptir/lower_call.hpp>
#include <zrt/ops/attributes.hpp>

#include <cstring>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// How operation O comes from an instruction where that is more than its list of attributes says; a specialisation has
/// one of:
///
/// - `static Result<typename O::Params> params(const LowerCall&) noexcept`: a node of O over the operands as
///   they stand;
/// - `static Result<void> lower(const LowerCall&, LoweredValues&) noexcept`: what else it takes.
///
/// The op's own shape rule judges what the parameters say.
template <class O> struct Lowering;

/// The values that an instruction gives.
using LoweredValues = Repeated<ir::ValueId>;

template <class O>
concept LowersByParams = requires(const LowerCall& c) {
  { Lowering<O>::params(c) } noexcept -> std::same_as<Result<typename O::Params>>;
};
template <class O>
concept LowersByItself = requires(const LowerCall& c, LoweredValues& out) {
  { Lowering<O>::lower(c, out) } noexcept -> std::same_as<Result<void>>;
};

namespace detail {

/// Writes one attribute to its place in parameters, as they lie in memory.
[[nodiscard]] inline Result<void> lower_attribute(const LowerCall& c, const AttributeSpec& a, std::size_t f,
                                                  Span<std::byte> params) noexcept {
  using enum AttributePlace;
  const auto store = [&](std::uint64_t value) -> Result<void> {
    store_member(params, a.member, value);
    return {};
  };
  const auto store_axes = [&](const LoweredAxes& axes) -> Result<void> {
    for (std::size_t i = 0; i < axes.axes.size(); ++i) store_member(params, entry_of(a.member, i, 1), axes.axes[i]);
    return {};
  };
  const auto store_numbers = [&]() -> Result<void> {
    std::array<std::uint32_t, kMaxRank> numbers{};
    const std::size_t entries = a.member.size / sizeof(std::uint32_t);
    if (auto r = c.numbers(f, numbers); !r) return r;
    for (std::size_t i = 0; i < entries && i < numbers.size(); ++i)
      store_member(params, entry_of(a.member, i, sizeof(std::uint32_t)), numbers[i]);
    return {};
  };
  switch (a.place) {
    case apart:
      return {};
    case number: {
      if (a.member.size == sizeof(std::uint64_t)) return store(c.bits(f));
      const auto value = c.number(f);
      return value ? store(*value) : Result<void>(pass(value));
    }
    case real:
      return store(c.bits(f));
    case axis:
      return store(c.axis(f, c.rank(a.operand)));
    case axis_of_shape: {
      ShapeParams of;
      std::memcpy(&of, params.data() + a.other.offset, sizeof of);
      return store(c.axis(f, static_cast<std::uint8_t>(of.rank)));
    }
    case optional_axis:
      store_member(params, a.other, c.has(f) ? 1 : 0);
      return store(c.has(f) ? c.axis(f, c.rank(0)) : 0u);
    case axis_or_rank:
      return store(c.has(f) ? c.axis(f, c.rank(a.operand)) : c.rank(a.operand));
    case boolean:
      return store(c.boolean(f));
    case dtype: {
      if (a.absent == DTypeDefault::none || c.has(f)) return store(static_cast<std::uint64_t>(c.dtype(f)));
      const DType x = c.dtype_of(0);
      return store(static_cast<std::uint64_t>(a.absent == DTypeDefault::operand ? x : default_accumulator(x)));
    }
    case choice:
      return store(c.bits(f));
    case axes: {
      const LoweredAxes list = c.axes(f, c.rank(a.operand));
      store_member(params, a.other, list.count);
      return store_axes(list);
    }
    case axis_set: {
      const LoweredAxes list = c.axes(f, c.rank(0));
      std::uint64_t set = 0;
      for (std::size_t i = 0; i < list.count; ++i) set |= std::uint64_t{1} << list.axes[i];
      return store(set);
    }
    case numbers:
      store_member(params, a.other, c.length(f));
      return store_numbers();
    case per_axis:
      return store_numbers();
    case shape: {
      const auto shape = c.result_shape(f);
      if (!shape) return pass(shape);
      std::memcpy(params.data() + a.member.offset, &*shape, sizeof(ShapeParams));
      return {};
    }
    case element: {
      const ElementValue value = c.element(f);
      std::memcpy(params.data() + a.member.offset, value.data(), value.size());
      return {};
    }
  }
  return {};
}

}  // namespace detail

/// The parameters of a node of O, attribute by attribute.
template <class O> [[nodiscard]] Result<typename O::Params> params_of(const LowerCall& c) noexcept {
  using P = typename O::Params;
  if constexpr (LowersByParams<O>) {
    return Lowering<O>::params(c);
  } else {
    P params{};
    if constexpr (!std::is_empty_v<P>) {
      std::array<std::byte, sizeof(P)> bytes{};
      std::memcpy(bytes.data(), &params, sizeof(P));
      for (std::size_t f = 0; f < O::attributes.size(); ++f)
        if (auto r = detail::lower_attribute(c, O::attributes[f], f, bytes); !r) return pass(r);
      std::memcpy(&params, bytes.data(), sizeof(P));
    }
    return params;
  }
}

/// Appends a node of O; what is wrong with it is the builder's error.
template <class O>
void append_node(ir::Builder& builder, Span<const ir::ValueId> in, Span<const ir::WeightId> weights,
                 Span<const ir::RegionId> regions, const typename O::Params& params, LoweredValues& out) noexcept {
  std::array<std::byte, kMaxParamBytes> bytes{};
  encode_params(params, Span<std::byte>(bytes));
  const ParamBlock block{O::Params::version, O::opcode, {bytes.data(), kParamBytes<typename O::Params>}};
  out.count = static_cast<std::uint32_t>(builder.append(O::opcode, in, weights, {}, block, out.items, regions));
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
