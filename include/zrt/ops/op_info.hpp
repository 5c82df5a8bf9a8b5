// SPDX-License-Identifier: Apache-2.0
// zrt/ops/op_info.hpp: what text, JSON, builders and verifiers know of an operation: its operands and attributes by name.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/ops/opcode.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// What an attribute holds; `none` is an optional attribute left out.
enum class AttributeKind : std::uint8_t {
  none,
  integer,
  real,
  boolean,
  dtype,
  choice,  ///< one of the names that the op's field lists
  string,
  integers,
  reals,
  booleans,
  strings,
  shape,
  literal,
  region,
  map,  ///< custom_call's named values: the first four, strings, and lists of them
};

/// One attribute of an operation: its name in text and JSON, and what it holds.
struct AttributeField {
  std::string_view name{};
  AttributeKind kind = AttributeKind::none;
  bool optional = false;
  Span<const std::string_view> choices{};  ///< the names of a choice, by index
};

/// One operation: its number and name, its operands by name, its attributes in order.
struct OpInfo {
  static constexpr std::size_t kMaxNames = 5;
  static constexpr std::size_t kMaxFields = 9;

  Opcode opcode{};
  std::string_view name{};
  std::uint8_t operand_names = 0;
  std::uint8_t field_count = 0;
  bool repeats = false;    ///< the last operand name stands for any number of operands
  std::uint8_t least = 0;  ///< the operands that may not be left out; those that may are the last ones
  std::array<std::string_view, kMaxNames> operands{};
  std::array<AttributeField, kMaxFields> fields_{};

  /// An operation that has no number, over operands of these names.
  [[nodiscard]] static consteval OpInfo of(std::string_view name, std::initializer_list<std::string_view> operands,
                                           std::initializer_list<AttributeField> fields) {
    OpInfo row;
    row.name = name;
    for (const std::string_view operand : operands) row.operands[row.operand_names++] = operand;
    row.least = row.operand_names;
    for (const AttributeField& field : fields) row.fields_[row.field_count++] = field;
    return row;
  }

  [[nodiscard]] constexpr Span<const AttributeField> fields() const noexcept {
    return Span(fields_).first(field_count);
  }
  /// The name of operand `index`.
  [[nodiscard]] constexpr std::string_view operand(std::size_t index) const noexcept {
    if (operand_names == 0) return {};
    return operands[index < operand_names ? index : operand_names - 1u];
  }
  /// How many operands an error calls for: "at least ", "at most " or "", and the number.
  [[nodiscard]] constexpr std::string_view bound() const noexcept {
    return repeats ? "at least " : least != operand_names ? "at most " : "";
  }
  [[nodiscard]] constexpr std::uint8_t bounded() const noexcept { return repeats ? least : operand_names; }
  [[nodiscard]] constexpr bool takes(std::size_t count) const noexcept {
    return count >= least && (repeats || count <= operand_names);
  }
};

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
