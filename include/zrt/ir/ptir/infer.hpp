// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/infer.hpp: the type that an instruction gives, from its operands' types and attributes.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/ptir/numbers.hpp>
#include <zrt/ir/ptir/reshaped.hpp>
#include <zrt/ir/ptir/rules_region.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// What an instruction gives; several tensors, or none, are a tuple.
struct InferredType {
  bool tuple = false;
  Vector<TensorType> elements;
};

namespace detail {

using TypeRule = Result<void> (*)(ProgramCall&) noexcept;

/// Whoever has neither a rule that graphs share nor one of programs does not compile.
template <class O> ZRT_COLD Result<void> infer_as(ProgramCall& c) noexcept {
  if constexpr (HasTypeRule<O>) {
    if (auto r = O::infer(c.rule); !r) return r;
    for (std::size_t i = 0; i < c.rule.results; ++i)
      if (auto r = c.give(c.rule.out[i]); !r) return r;
    c.tuple = kOutputs<O> != 1;
    return {};
  } else {
    static_assert(HasProgramRule<O>,
                  "zrt: an operation of programs needs one infer for both dims in its header, or a ProgramRule");
    return ProgramRule<O>::infer(c);
  }
}

template <class... O> consteval auto type_rules(boost::mp11::mp_list<O...>) {
  return std::array<TypeRule, sizeof...(O)>{&infer_as<O>...};
}
/// In the order of kOps.
inline constexpr auto kTypeRules = type_rules(Operations{});

/// An attribute as a rule reads it. It is checked, so what it refers to is there.
[[nodiscard]] inline AttributeValue<Dim> value_of(const Program& program, const Attribute& a) noexcept {
  AttributeValue<Dim> value;
  value.present = a.present();
  value.number = a.as_integer();
  if (a.kind == AttributeKind::integers) {
    const auto words = program.words_of(a);
    value.count = words.size();
    for (std::size_t i = 0; i < words.size() && i < value.list.size(); ++i) value.list[i] = words[i];
  } else if (a.kind == AttributeKind::shape) {
    value.shape = program.shape_of(a);
  } else if (a.kind == AttributeKind::literal) {
    const TensorType& type = program.literal(a.bits)->type;
    value.number = static_cast<std::int64_t>(type.dtype);
    value.shape = type.shape;
  }
  return value;
}

}  // namespace detail

/// A type that the program may hold: a dtype of the IR, at most kMaxRank axes, no inferred extent,
/// known symbols, and a size that fits 63 bits. `what` names it in an error.
[[nodiscard]] inline Result<void> check_type(const Program& program, const TensorType& type,
                                             std::string_view what) noexcept {
  if (!is_ptir_dtype(type.dtype))
    return fail(Errc::dtype_mismatch, what, " has dtype number ", unsigned{static_cast<std::uint8_t>(type.dtype)},
                ", expected one of the portable tensor IR");
  if (type.shape.rank > kMaxRank)
    return fail(Errc::unsupported_tensor_rank, what, " has ", unsigned{type.shape.rank}, " axes, at most ",
                unsigned{kMaxRank}, " expected");
  for (const Dim dim : type.shape.view()) {
    if (dim.is_inferred()) return fail(Errc::invalid_params, what, " has an extent of -1, expected 0 or more");
    if (dim.is_symbol() && dim.symbol() >= program.symbols.size())
      return fail(Errc::dangling_value, what, " has an extent whose name is not in the program");
  }
  const CheckedSize size = literal_bytes(type);
  if (!size.ok() || size.raw() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return fail(Errc::size_overflow, "the size of ", what, " does not fit 63 bits");
  return {};
}

/// A constant whose bytes are as many as its type says, each i1 0 or 1, unused bits zero.
[[nodiscard]] inline Result<void> check_literal(const Program& program, std::uint64_t index) noexcept {
  const Literal* literal = program.literal(index);
  if (literal == nullptr) return fail(Errc::dangling_value, "literal ", index, " is not in the program");
  if (auto r = check_type(program, literal->type, "a literal"); !r) return r;
  if (!literal->type.shape.is_constant()) return fail(Errc::invalid_params, "a literal has a dynamic extent");
  const auto data = program.bytes_of(*literal);
  if (data.size() != literal_bytes(literal->type).raw())
    return fail(Errc::shape_mismatch, "a literal has ", data.size(), " bytes, expected ",
                literal_bytes(literal->type).raw());
  if (!is_canonical(literal->type, data))
    return fail(Errc::invalid_params, "a literal of ", name(literal->type.dtype),
                " has bits that no element holds, expected 0");
  return {};
}

/// An attribute that its field admits: kind, names, regions, literals and ranges inside the program.
[[nodiscard]] inline Result<void> check_attribute(const Program& program, const OpInfo& op, std::size_t field,
                                                  const Attribute& a) noexcept {
  using enum AttributeKind;
  const AttributeField& row = op.fields_[field];
  const auto bad = [&](std::string_view what) {
    return fail(Errc::invalid_params, op.name, ": attribute ", row.name, " ", what);
  };
  if (a.kind == none) return row.optional ? Result<void>{} : bad("is missing");
  if (a.kind != row.kind) return bad("holds another kind of value than expected");
  const auto texts_in = [&](const Attribute& list) {
    for (const PoolRange text : program.texts_of(list))
      if (program.text(text).size() != text.count) return false;
    return program.texts_of(list).size() == list.range.count;
  };
  switch (a.kind) {
    case none:
    case integer:
    case real:
      return {};
    case boolean:
      return a.bits <= 1 ? Result<void>{} : bad("is neither true nor false");
    case dtype:
      return a.bits < 256 && is_ptir_dtype(static_cast<DType>(a.bits)) ? Result<void>{}
                                                                       : bad("is no dtype of the portable tensor IR");
    case choice:
      return a.bits < row.choices.size() ? Result<void>{} : bad("is none of its names");
    case string:
      return program.text(a.range).size() == a.range.count ? Result<void>{} : bad("lies outside the program");
    case integers:
    case reals:
    case booleans:
      return program.words_of(a).size() == a.range.count ? Result<void>{} : bad("lies outside the program");
    case strings:
      return texts_in(a) ? Result<void>{} : bad("lies outside the program");
    case shape: {
      if (program.words_of(a).size() != a.range.count) return bad("lies outside the program");
      if (a.range.count > kMaxRank)
        return fail(Errc::unsupported_tensor_rank, op.name, ": attribute ", row.name, " has ", a.range.count,
                    " axes, at most ", unsigned{kMaxRank}, " expected");
      Shape held = program.shape_of(a);
      // The one extent that reshape leaves open counts as 1 here.
      if (op.opcode == ops::Reshape::opcode)
        for (Dim& dim : held.dims)
          if (dim.is_inferred()) dim = Dim(1);
      return check_type(program, {DType::i1, held}, row.name);
    }
    case literal:
      return check_literal(program, a.bits);
    case region:
      return a.bits < program.regions.size() ? Result<void>{} : bad("names no region of the program");
    case map: {
      const auto entries = program.entries_of(a);
      if (entries.size() != a.range.count) return bad("lies outside the program");
      if (entries.size() > kMaxMapEntries) return bad("has too many entries");
      for (std::size_t i = 0; i < entries.size(); ++i) {
        const Attribute& value = entries[i].value;
        const std::string_view key = program.text(entries[i].key);
        if (key.size() != entries[i].key.count) return bad("lies outside the program");
        for (std::size_t other = 0; other < i; ++other)
          if (program.text(entries[other].key) == key)
            return fail(Errc::duplicate_name, op.name, ": attribute ", row.name, " has ", slice(key, 0, 40), " twice");
        const bool list = value.kind == integers || value.kind == reals || value.kind == booleans;
        const bool scalar = value.kind == integer || value.kind == real || value.kind == boolean;
        if (!list && !scalar && value.kind != string && value.kind != strings) return bad("holds no primitive value");
        if ((list && program.words_of(value).size() != value.range.count) ||
            (value.kind == strings && !texts_in(value)) ||
            (value.kind == string && program.text(value.range).size() != value.range.count) ||
            (value.kind == boolean && value.bits > 1))
          return bad("lies outside the program");
      }
      return {};
    }
  }
  return {};
}

/// Infers what `instruction` gives from the types of its operands. Of its output only a custom_call's
/// is read, where it is authoritative.
///
/// Checks the operand count, the attributes and everything that the specification demands of types.
/// What a dynamic extent leaves open is left to the step. Errors name the op, the operand or
/// attribute, what was expected and what was found; `mismatch`, where given, takes an operand that is refused.
[[nodiscard]] inline Result<InferredType> infer(const Program& program, const Instruction& instruction,
                                                Span<const TensorType> operands,
                                                Mismatch* mismatch = nullptr) noexcept {
  const OpInfo* op = find_op(instruction.opcode);
  if (op == nullptr)
    return fail(Errc::unsupported_opcode, "opcode ", unsigned{number(instruction.opcode)},
                " is no operation of the portable tensor IR");
  if (!op->takes(operands.size()))
    return fail(Errc::invalid_params, op->name, " has ", operands.size(), " operands, expected ", op->bound(),
                op->bounded());
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (auto r = check_type(program, operands[i], op->operand(i)); !r) return pass(r);
  const auto attributes = program.attributes_of(instruction);
  if (attributes.size() != op->field_count)
    return fail(Errc::invalid_params, op->name, " has ", attributes.size(), " attributes, expected ",
                unsigned{op->field_count});
  for (std::size_t f = 0; f < attributes.size(); ++f)
    if (auto r = check_attribute(program, *op, f, attributes[f]); !r) return pass(r);
  InferredType result{false, Vector<TensorType>(program.allocator)};
  std::array<AttributeValue<Dim>, OpInfo::kMaxFields> values{};
  for (std::size_t f = 0; f < attributes.size(); ++f) values[f] = detail::value_of(program, attributes[f]);
  const auto append = [](Error& error, Dim dim, const void* names) noexcept {
    append_extent(error, dim, *static_cast<const Program*>(names));
  };
  ProgramCall call{
      program,
      {*op, operands, Span<const AttributeValue<Dim>>(values.data(), attributes.size()), append, &program, mismatch},
      attributes,
      instruction.output,
      result.elements};
  const auto row = static_cast<std::size_t>(op - kOps.data());
  if (auto r = detail::kTypeRules[row](call); !r) return pass(r);
  result.tuple = call.tuple;
  for (const TensorType& type : result.elements)
    if (auto r = check_type(program, type, op->name); !r) return pass(r);
  return result;
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
