// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/attributes.hpp: the operations of the portable tensor IR with their operands and attributes.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/ir/ptir/program.hpp>
#include <zrt/ops/attributes.hpp>
#include <zrt/ops/catalog.hpp>

#include <boost/mp11/algorithm.hpp>

#include <array>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

namespace detail {

template <class O> using IsOperation = std::bool_constant<ProgramOp<O>>;
template <class A, class B> using ComesFirst = std::bool_constant<(number(A::opcode) < number(B::opcode))>;

template <class... O> consteval auto op_infos(boost::mp11::mp_list<O...>) {
  return std::array<OpInfo, sizeof...(O)>{kOpInfo<O>...};
}

}  // namespace detail

/// The ops of the catalog that are operations of the portable tensor IR: those that list attributes. By number.
using Operations = boost::mp11::mp_sort<boost::mp11::mp_copy_if<ops::Catalog, detail::IsOperation>, detail::ComesFirst>;

/// What text, JSON, builder, type rules and verifier know of every operation, in the order of Operations.
///
/// Axes may be negative and then count from the rank. `accum_dtype` left out is f32 for the floats narrower than f32 and
/// the operand's dtype otherwise; `out_dtype` left out is the operand's dtype. The header of each op says what its other
/// attributes mean.
inline constexpr auto kOps = detail::op_infos(Operations{});

namespace detail {

inline constexpr std::uint8_t kNoOperation = 0xff;
/// Where each opcode stands in kOps.
inline constexpr auto kRowOf = [] {
  std::array<std::uint8_t, 256> rows{};
  rows.fill(kNoOperation);
  for (std::size_t i = 0; i < kOps.size(); ++i) rows[number(kOps[i].opcode)] = static_cast<std::uint8_t>(i);
  return rows;
}();

}  // namespace detail

/// The row of an opcode, or null when it is no operation of the portable tensor IR.
[[nodiscard]] constexpr const OpInfo* find_op(Opcode opcode) noexcept {
  const std::uint8_t row = detail::kRowOf[number(opcode)];
  return row == detail::kNoOperation ? nullptr : &kOps[row];
}

/// The row of a name, or null.
[[nodiscard]] constexpr const OpInfo* find_op(std::string_view name) noexcept {
  for (const OpInfo& row : kOps)
    if (row.name == name) return &row;
  return nullptr;
}

/// Where attribute `field` stands among those of op `name`; any other name does not compile.
[[nodiscard]] consteval std::size_t field_index(std::string_view name, std::string_view field) {
  const auto fields = find_op(name)->fields();
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == field) return i;
  return *static_cast<const std::size_t*>(nullptr);
}

/// Where `name` stands among the choices of an attribute; any other name does not compile.
[[nodiscard]] consteval std::uint64_t choice_index(std::string_view op, std::string_view field, std::string_view name) {
  const auto choices = find_op(op)->fields()[field_index(op, field)].choices;
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i] == name) return i;
  return *static_cast<const std::uint64_t*>(nullptr);
}

/// The dtype of a name, or null; block types of weights are none of the IR's.
[[nodiscard]] constexpr const DTypeInfo* find_dtype(std::string_view name) noexcept {
  for (const DTypeInfo& row : kDTypes)
    if (row.name == name) return row.kind == DTypeKind::block ? nullptr : &row;
  return nullptr;
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
