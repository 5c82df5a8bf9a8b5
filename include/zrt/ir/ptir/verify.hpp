// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/verify.hpp: decides whether a program of the portable tensor IR may be lowered and run.
#pragma once

#include <zrt/ir/ptir/infer.hpp>
#include <zrt/ir/ptir/values.hpp>
#include <zrt/ops/op.hpp>

ZRT_LOAD_TIME_BEGIN

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

/// Operands, attributes and declared types lie within the program, and one type is declared unless a tuple is.
[[nodiscard]] inline Result<void> verify_form(const Program& program, const Instruction& i) noexcept {
  const std::size_t declared = program.types_of(i.output).size();
  if (program.operands_of(i).size() != i.operands.count || program.attributes_of(i).size() != i.attributes.count ||
      declared != i.output.elements.count)
    return fail(Errc::dangling_value, "operands, attributes or types lie outside the program");
  if (!i.output.tuple && declared != 1)
    return fail(Errc::invalid_params, "the output has ", declared, " types, expected 1 or a tuple");
  return {};
}

/// The type of an operand that is read at `position`, whose literal, if it is one, is right.
[[nodiscard]] inline Result<TensorType> operand_type(const Program& program, const ValueTable& values,
                                                     const Operand& operand, std::size_t position) noexcept {
  if (operand.kind == Operand::Kind::literal)
    if (auto r = check_literal(program, operand.id); !r) return pass(r);
  return values.type(operand, position);
}

/// What `i` declares is what the rule of its op gives.
[[nodiscard]] inline Result<void> verify_declared(const Program& program, const Instruction& i,
                                                  const InferredType& inferred) noexcept {
  const auto declared = program.types_of(i.output);
  if (inferred.tuple != i.output.tuple || inferred.elements.size() != declared.size())
    return fail(Errc::shape_mismatch, "the output is declared as ", declared.size(),
                i.output.tuple ? " elements of a tuple" : " tensor", ", expected ", inferred.elements.size(),
                inferred.tuple ? " elements of a tuple" : " tensor");
  for (std::size_t e = 0; e < declared.size(); ++e) {
    if (auto r = check_type(program, declared[e], "the output"); !r) return r;
    if (!declares(inferred.elements[e], declared[e]))
      return declared_wrong(program, "the output", declared[e], inferred.elements[e]);
  }
  return {};
}

/// Checks the instruction at `position`; `types` is memory that is used again.
[[nodiscard]] inline Result<void> verify_instruction(const Program& program, const ValueTable& values,
                                                     const Instruction& i, std::size_t position,
                                                     Vector<TensorType>& types) noexcept {
  if (auto r = verify_form(program, i); !r) return r;
  types.clear();
  for (const Operand& operand : program.operands_of(i)) {
    const auto type = operand_type(program, values, operand, position);
    if (!type) return pass(type);
    if (auto r = types.push_back(*type); !r) return r;
  }
  const auto inferred = infer(program, i, types.span());
  if (!inferred) return pass(inferred);
  return verify_declared(program, i, *inferred);
}

/// Checks a result that is read behind the last instruction, at `position`.
[[nodiscard]] inline Result<void> verify_result(const Program& program, const ValueTable& values,
                                                const RegionResult& result, std::size_t position) noexcept {
  const auto type = operand_type(program, values, result.operand, position);
  if (!type) return pass(type);
  if (auto r = check_type(program, result.type, "a result"); !r) return r;
  if (!declares(*type, result.type)) return declared_wrong(program, "a result", result.type, *type);
  return {};
}

[[nodiscard]] inline Result<void> verify_region(const Program& program, std::size_t index) noexcept {
  const Region& region = program.regions[index];
  const auto at = [&](const Error& error, const Instruction* i = nullptr, std::size_t n = 0) {
    return std::unexpected<Error>(located(error, index, i, n));
  };
  for (const Parameter& p : region.parameters)
    if (auto r = check_type(program, p.type, "a parameter"); !r) return at(r.error());
  const auto values = ValueTable::of(program, region);
  if (!values) return at(values.error());
  const std::size_t parameters = region.parameters.size();
  Vector<TensorType> types(program.allocator);
  for (std::size_t n = 0; n < region.instructions.size(); ++n) {
    const Instruction& i = region.instructions[n];
    if (auto r = verify_instruction(program, *values, i, parameters + n, types); !r) return at(r.error(), &i, n);
  }
  for (const RegionResult& result : region.results)
    if (auto r = verify_result(program, *values, result, parameters + region.instructions.size()); !r)
      return at(r.error());
  return {};
}

/// Takes regions in an order in which each follows all that name it, so that none contains itself and the depth of
/// each is known.
class NestingVerifier {
 public:
  explicit NestingVerifier(const Program& program) noexcept
      : program_(program), places_(program.allocator), ready_(program.allocator) {}

  [[nodiscard]] Result<void> run() noexcept {
    if (auto r = places_.resize(program_.regions.size()); !r) return r;
    if (auto r = ready_.resize(program_.regions.size()); !r) return r;
    find_outermost();
    for (std::size_t next = 0; next < count_; ++next)
      if (auto r = enter(ready_[next]); !r) return r;
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (places_[i].callers != 0) return fail(Errc::invalid_params, "region @", i, " lies within itself");
    return {};
  }

 private:
  struct Place {
    std::uint32_t callers = 0;  ///< instructions that name the region and were not met yet
    std::uint32_t depth = 0;
  };

  void find_outermost() noexcept {
    for (const Region& region : program_.regions) each_inner(region, [this](std::size_t to) { ++places_[to].callers; });
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (places_[i].callers == 0) ready_[count_++] = i;
  }

  /// The regions within `region` lie one deeper; those that nobody else names follow.
  [[nodiscard]] Result<void> enter(std::size_t region) noexcept {
    const std::uint32_t depth = places_[region].depth;
    if (depth > kMaxRegionDepth)
      return fail(Errc::limit_exceeded, "region @", region, " lies ", depth, " regions deep, at most ", kMaxRegionDepth,
                  " expected");
    each_inner(program_.regions[region], [this, depth](std::size_t to) {
      if (places_[to].depth <= depth) places_[to].depth = depth + 1;
      if (--places_[to].callers == 0) ready_[count_++] = to;
    });
    return {};
  }

  /// Calls `visit` with each region that an instruction of `region` names.
  template <class F> void each_inner(const Region& region, const F& visit) const noexcept {
    for (const Instruction& i : region.instructions)
      for (const Attribute& a : program_.attributes_of(i))
        if (a.kind == AttributeKind::region) visit(static_cast<std::size_t>(a.bits));
  }

  const Program& program_;
  Vector<Place> places_;
  Vector<std::size_t> ready_;  ///< the first `count_` are regions whose callers were all met
  std::size_t count_ = 0;
};

[[nodiscard]] inline Result<void> verify_nesting(const Program& program) noexcept {
  return NestingVerifier(program).run();
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

ZRT_LOAD_TIME_END
