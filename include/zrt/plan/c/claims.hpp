// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/claims.hpp: the ops that C has a form for.
#pragma once

#include <zrt/ops/catalog.hpp>
#include <zrt/ops/op_table.hpp>

namespace zrt::inline ZRT_ABI::plan::c {

/// What has an Emit. A plan for C is one of these; what expands into them runs too. constant is a table of its
/// own and takes no code. Of custom_call the targets of custom_forms.hpp have a form.
using Claims =
    boost::mp11::mp_list<ops::Constant, ops::ElementwiseUnary, ops::ElementwiseBinary, ops::Compare, ops::Select,
                         ops::Cast, ops::StopGradient, ops::Reduce, ops::ArgMax, ops::DotGeneral, ops::Reshape,
                         ops::Transpose, ops::BroadcastTo, ops::Slice, ops::Concat, ops::Pad, ops::Tile, ops::Iota,
                         ops::Take, ops::Gather, ops::ScatterAdd, ops::ScatterReduce, ops::DynamicSlice,
                         ops::DynamicUpdateSlice, ops::Cond, ops::WhileLoop, ops::Scan, ops::ReduceWindow,
                         ops::ExtractPatches, ops::CustomCall, ops::RngUniform, ops::RngNormal, ops::TopK,
                         ops::SegmentReduce, ops::Quantize, ops::Dequantize, ops::Requantize, ops::Convolve>;

/// Primitives that C leaves out.
using Unsupported = boost::mp11::mp_list<>;

inline constexpr OpSet kClaims = OpSet::of(Claims{});

/// True when C has a form for an op, or for everything that it expands to.
[[nodiscard]] constexpr bool has_form(Opcode opcode) noexcept {
  if (kClaims.contains(opcode)) return true;
  const OpRow* row = kOpTable<ops::Catalog>[number(opcode)];
  if (row == nullptr || !row->has_expansion) return false;
  for (unsigned i = 0; i < 256; ++i)
    if (row->expands_to.contains(Opcode{static_cast<std::uint8_t>(i)}) &&
        !has_form(Opcode{static_cast<std::uint8_t>(i)}))
      return false;
  return true;
}

namespace detail {
template <class O>
using IsLeftOut = std::bool_constant<O::rung == Rung::primitive && !has_form(O::opcode) &&
                                     !boost::mp11::mp_contains<Unsupported, O>::value>;
}  // namespace detail

/// The primitives without a form that nobody names.
using Missing = boost::mp11::mp_copy_if<ops::Catalog, detail::IsLeftOut>;

}  // namespace zrt::inline ZRT_ABI::plan::c
