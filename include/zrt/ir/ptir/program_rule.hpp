// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/program_rule.hpp: the argument of type rules that programs have and graphs do not: those of regions, literals and custom calls.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/ir/ptir/attributes.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// An operand that a type rule refuses.
using Mismatch = RuleMismatch<Dim>;

/// Appends "2", "?N" or "?" to an error's text.
inline void append_extent(Error& error, Dim dim, const Program& program) noexcept {
  if (dim.is_dynamic())
    error.append('?').append(program.symbol_name(dim));
  else
    error.append(dim.code());
}

/// Appends "f32[2, ?N]" to an error's text.
inline Error& append_type(Error& error, const Program& program, const TensorType& type) noexcept {
  error.append(is_ptir_dtype(type.dtype) ? zrt::name(type.dtype) : "?dtype");
  return append_shape(error, type.shape, [&program](Error& to, Dim dim) { append_extent(to, dim, program); });
}

/// One instruction: the argument of an op's own rule, and what the program has beside it.
struct ProgramCall {
  const Program& program;
  RuleCall<Dim> rule;
  Span<const Attribute> attributes;
  const ValueType& declared;
  Vector<TensorType>& out;
  bool tuple = false;  ///< several values leave, or none

  [[nodiscard]] const Region& region(std::size_t field) const noexcept {
    return program.regions[static_cast<std::size_t>(attributes[field].bits)];
  }
  [[nodiscard]] Result<void> give(const TensorType& type) noexcept { return out.push_back(type); }
};

/// The type rule of an operation whose results follow from what only a program has; one specialisation each, with
/// `static Result<void> infer(ProgramCall&) noexcept`.
template <class O> struct ProgramRule;

template <class O>
concept HasProgramRule = requires(ProgramCall& c) {
  { ProgramRule<O>::infer(c) } noexcept -> std::same_as<Result<void>>;
};

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
