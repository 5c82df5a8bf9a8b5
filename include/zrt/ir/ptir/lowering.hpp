// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/lowering.hpp: what an operation of the portable tensor IR says of its way into a graph.
#pragma once

#include <zrt/ir/ptir/lower_call.hpp>

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

/// The parameters of a node of O, attribute by attribute.
template <class O> [[nodiscard]] Result<typename O::Params> params_of(const LowerCall& c) noexcept {
  typename O::Params params{};
  if constexpr (LowersByParams<O>) {
    return Lowering<O>::params(c);
  } else {
    Result<void> read;
    const auto one = [&](const auto& attribute, std::size_t f) {
      if (read) read = attribute.lower(c, f, params);
    };
    std::apply(
        [&](const auto&... attributes) {
          [[maybe_unused]] std::size_t f = 0;
          (one(attributes, f++), ...);
        },
        O::attributes.items);
    if (!read) return pass(read);
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
