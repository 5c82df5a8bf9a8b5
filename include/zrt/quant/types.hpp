// SPDX-License-Identifier: Apache-2.0
// zrt/quant/types.hpp: the list of weight types, and their row functions by DType at run time.
#pragma once

#include <zrt/quant/dot.hpp>
#include <zrt/quant/iq1_m.hpp>
#include <zrt/quant/iq1_s.hpp>
#include <zrt/quant/iq2_s.hpp>
#include <zrt/quant/iq2_xs.hpp>
#include <zrt/quant/iq2_xxs.hpp>
#include <zrt/quant/iq3_s.hpp>
#include <zrt/quant/iq3_xxs.hpp>
#include <zrt/quant/iq4_nl.hpp>
#include <zrt/quant/iq4_xs.hpp>
#include <zrt/quant/mxfp4.hpp>
#include <zrt/quant/nvfp4.hpp>
#include <zrt/quant/plain.hpp>
#include <zrt/quant/q1_0.hpp>
#include <zrt/quant/q2_k.hpp>
#include <zrt/quant/q3_k.hpp>
#include <zrt/quant/q4_0.hpp>
#include <zrt/quant/q4_1.hpp>
#include <zrt/quant/q4_k.hpp>
#include <zrt/quant/q5_0.hpp>
#include <zrt/quant/q5_1.hpp>
#include <zrt/quant/q5_k.hpp>
#include <zrt/quant/q6_k.hpp>
#include <zrt/quant/q8_0.hpp>
#include <zrt/quant/tq1_0.hpp>
#include <zrt/quant/tq2_0.hpp>

#include <boost/mp11/list.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::quant {

/// The weight types of zrt: one line per type.
// clang-format off
using OwnTypes = boost::mp11::mp_list<
    Layout<DType::f32>,
    Layout<DType::f16>,
    Layout<DType::bf16>,
    Layout<DType::q4_0>,
    Layout<DType::q4_1>,
    Layout<DType::q5_0>,
    Layout<DType::q5_1>,
    Layout<DType::q8_0>,
    Layout<DType::q2_k>,
    Layout<DType::q3_k>,
    Layout<DType::q4_k>,
    Layout<DType::q5_k>,
    Layout<DType::q6_k>,
    Layout<DType::iq1_s>,
    Layout<DType::iq1_m>,
    Layout<DType::iq2_xxs>,
    Layout<DType::iq2_xs>,
    Layout<DType::iq2_s>,
    Layout<DType::iq3_xxs>,
    Layout<DType::iq3_s>,
    Layout<DType::iq4_nl>,
    Layout<DType::iq4_xs>,
    Layout<DType::tq1_0>,
    Layout<DType::tq2_0>,
    Layout<DType::mxfp4>,
    Layout<DType::nvfp4>,
    Layout<DType::q1_0>>;
// clang-format on

/// Every weight type that can be read: zrt's, then the host's.
using Types = boost::mp11::mp_append<OwnTypes, HostTypes<void>::List>;

/// What a plan needs to know of one weight type; names none of its functions, so that a program which
/// narrows its types compiles no others.
struct TypeFacts {
  DType dtype;
  Act act;  ///< how activations are rounded before the type's products
};

/// What plain code does with a row of one weight type.
struct RowFunctions {
  DType dtype;
  void (*dequantise)(const std::byte* blocks, std::uint64_t elems, float* out) noexcept;
  /// The order `blocks`, of activations rounded as the type's facts say; null for a type without blocks.
  float (*dot_blocks)(const std::byte* row, const std::int8_t* q, const float* d, std::uint64_t n) noexcept;
};

namespace detail {

template <WeightLayout L> consteval RowFunctions row_functions() {
  RowFunctions row{L::kDType, &L::dequantise, nullptr};
  if constexpr (BlockLayout<L>) row.dot_blocks = &quant::dot_blocks<L>;
  return row;
}

template <class... L> consteval auto fact_table(boost::mp11::mp_list<L...>) {
  return std::array{TypeFacts{L::kDType, L::kAct}...};
}
template <class... L> consteval auto row_table(boost::mp11::mp_list<L...>) { return std::array{row_functions<L>()...}; }

}  // namespace detail

// The list is part of the tables' names, so that the linker never takes those of one list for another's.

/// The facts of every type of a list, in its order.
template <class List> inline constexpr auto kTypeFactsOf = detail::fact_table(List{});

/// Returns the facts of `dtype`, or null when it is no type of the list.
template <class List = Types> [[nodiscard]] constexpr const TypeFacts* facts(DType dtype) noexcept {
  for (const TypeFacts& row : kTypeFactsOf<List>)
    if (row.dtype == dtype) return &row;
  return nullptr;
}

/// The row functions of every type of a list, in its order.
template <class List> inline constexpr auto kRowFunctionsOf = detail::row_table(List{});
/// Those of all types.
inline constexpr auto& kRowFunctions = kRowFunctionsOf<Types>;

/// Returns the row functions of `dtype`, or null when it is no type of the list.
template <class List = Types> [[nodiscard]] constexpr const RowFunctions* find(DType dtype) noexcept {
  for (const RowFunctions& row : kRowFunctionsOf<List>)
    if (row.dtype == dtype) return &row;
  return nullptr;
}

static_assert(
    [] {
      for (const TypeFacts& row : kTypeFactsOf<Types>)
        if (facts(row.dtype) != &row) return false;
      return true;
    }(),
    "zrt: a weight type stands twice in quant/types.hpp and HostTypes");

}  // namespace zrt::inline ZRT_ABI::quant
