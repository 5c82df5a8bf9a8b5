// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/verify.hpp: decides whether a program of the portable tensor IR may be lowered and run.
#pragma once

#include <zrt/ir/ptir/infer.hpp>
#include <zrt/ir/ptir/values.hpp>
#include <zrt/ops/op.hpp>

namespace zrt::inline ZRT_ABI::ir::ptir {

namespace detail {

/// True when `declared` says what is inferred: the same, or more where an extent is not known.
[[nodiscard]] constexpr bool declares(const TensorType& inferred, const TensorType& declared) noexcept {
  if (inferred.dtype != declared.dtype || inferred.shape.rank != declared.shape.rank) return false;
  for (std::size_t axis = 0; axis < inferred.shape.size(); ++axis)
    if (!inferred.shape[axis].is_any() && inferred.shape[axis] != declared.shape[axis]) return false;
  return true;
}

/// The error with the region and the value before its text.
[[nodiscard]] inline Error located(const Error& error, std::size_t region, const Instruction* i,
                                   std::size_t index) noexcept {
  Error at = Error::of(error.code(), "region @", region);
  if (i != nullptr) {
    at.append(", %").append(i->id);
    at.at_instruction(static_cast<std::uint32_t>(index), number(i->opcode));
  }
  return at.append(": ").append(error.text());
}

[[nodiscard]] inline std::unexpected<Error> declared_wrong(const Program& program, std::string_view what,
                                                           const TensorType& found,
                                                           const TensorType& expected) noexcept {
  Error error =
      Error::of(found.dtype == expected.dtype ? Errc::shape_mismatch : Errc::dtype_mismatch, what, " is declared as ");
  append_type(error, program, found).append(", expected ");
  return std::unexpected<Error>(append_type(error, program, expected));
}

[[nodiscard]] inline Result<void> verify_instruction(const Program& program, const ValueTable& values,
                                                     const Instruction& i, std::size_t position,
                                                     Vector<TensorType>& types) noexcept {
  const auto operands = program.operands_of(i);
  const auto declared = program.types_of(i.output);
  if (operands.size() != i.operands.count || program.attributes_of(i).size() != i.attributes.count ||
      declared.size() != i.output.elements.count)
    return fail(Errc::dangling_value, "operands, attributes or types lie outside the program");
  if (!i.output.tuple && declared.size() != 1)
    return fail(Errc::invalid_params, "the output has ", declared.size(), " types, expected 1 or a tuple");
  types.clear();
  for (const Operand& operand : operands) {
    if (operand.kind == Operand::Kind::literal)
      if (auto r = check_literal(program, operand.id); !r) return r;
    const auto type = values.type(operand, position);
    if (!type) return pass(type);
    if (auto r = types.push_back(*type); !r) return r;
  }
  const auto inferred = infer(program, i, types.span());
  if (!inferred) return pass(inferred);
  if (inferred->tuple != i.output.tuple || inferred->elements.size() != declared.size())
    return fail(Errc::shape_mismatch, "the output is declared as ", declared.size(),
                i.output.tuple ? " elements of a tuple" : " tensor", ", expected ", inferred->elements.size(),
                inferred->tuple ? " elements of a tuple" : " tensor");
  for (std::size_t e = 0; e < declared.size(); ++e) {
    if (auto r = check_type(program, declared[e], "the output"); !r) return r;
    if (!declares(inferred->elements[e], declared[e]))
      return declared_wrong(program, "the output", declared[e], inferred->elements[e]);
  }
  return {};
}

[[nodiscard]] inline Result<void> verify_region(const Program& program, std::size_t index) noexcept {
  const Region& region = program.regions[index];
  const auto at = [&](const Result<void>& r, const Instruction* i, std::size_t n) {
    return std::unexpected<Error>(located(r.error(), index, i, n));
  };
  for (const Parameter& p : region.parameters)
    if (auto r = check_type(program, p.type, "a parameter"); !r) return at(r, nullptr, 0);
  const auto values = ValueTable::of(program, region);
  if (!values) return std::unexpected<Error>(located(values.error(), index, nullptr, 0));
  const std::size_t parameters = region.parameters.size();
  Vector<TensorType> types(program.allocator);
  for (std::size_t n = 0; n < region.instructions.size(); ++n) {
    const Instruction& i = region.instructions[n];
    if (auto r = verify_instruction(program, *values, i, parameters + n, types); !r) return at(r, &i, n);
  }
  for (const RegionResult& result : region.results) {
    if (result.operand.kind == Operand::Kind::literal)
      if (auto r = check_literal(program, result.operand.id); !r) return at(r, nullptr, 0);
    const auto type = values->type(result.operand, parameters + region.instructions.size());
    if (!type) return std::unexpected<Error>(located(type.error(), index, nullptr, 0));
    if (auto r = check_type(program, result.type, "a result"); !r) return at(r, nullptr, 0);
    if (!declares(*type, result.type)) return at(declared_wrong(program, "a result", result.type, *type), nullptr, 0);
  }
  return {};
}

/// Calls `visit` with each region that an instruction of `region` names.
template <class F> void each_region(const Program& program, const Region& region, const F& visit) noexcept {
  for (const Instruction& i : region.instructions)
    for (const Attribute& a : program.attributes_of(i))
      if (a.kind == AttributeKind::region) visit(static_cast<std::size_t>(a.bits));
}

/// No region contains itself, and none lies deeper than kMaxRegionDepth: regions are taken in an order
/// in which each follows all that name it.
[[nodiscard]] inline Result<void> verify_nesting(const Program& program) noexcept {
  struct Place {
    std::uint32_t callers = 0;
    std::uint32_t depth = 0;
  };
  Vector<Place> places(program.allocator);
  Vector<std::size_t> ready(program.allocator);
  if (auto r = places.resize(program.regions.size()); !r) return r;
  if (auto r = ready.reserve(program.regions.size()); !r) return r;
  for (const Region& region : program.regions)
    each_region(program, region, [&](std::size_t to) { ++places[to].callers; });
  Result<void> kept;
  const auto add = [&](std::size_t region) {
    if (auto r = ready.push_back(region); !r) kept = r;
  };
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].callers == 0) add(i);
  for (std::size_t next = 0; next < ready.size(); ++next) {
    const std::uint32_t depth = places[ready[next]].depth;
    if (depth > kMaxRegionDepth)
      return fail(Errc::limit_exceeded, "region @", ready[next], " lies ", depth, " regions deep, at most ",
                  kMaxRegionDepth, " expected");
    each_region(program, program.regions[ready[next]], [&](std::size_t to) {
      if (places[to].depth <= depth) places[to].depth = depth + 1;
      if (--places[to].callers == 0) add(to);
    });
  }
  if (!kept) return kept;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].callers != 0) return fail(Errc::invalid_params, "region @", i, " lies within itself");
  return {};
}

}  // namespace detail

/// Checks a program as a whole: every id defined once and before it is read, every attribute, type and
/// literal, declared outputs against the type rules, signatures of regions, nesting without recursion.
///
/// An extent that the rules leave open may be declared as anything; what it is shows when the program
/// runs. Errors name the region and the value, with the instruction's index and opcode.
[[nodiscard]] inline Result<void> verify(const Program& program) noexcept {
  if (program.regions.empty()) return fail(Errc::invalid_argument, "a program has no region, expected at least one");
  for (const Name& name : program.symbols)
    if (name.view().empty()) return fail(Errc::invalid_argument, "a dynamic extent has an empty name");
  for (std::size_t i = 0; i < program.regions.size(); ++i)
    if (auto r = detail::verify_region(program, i); !r) return r;
  return detail::verify_nesting(program);
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir
