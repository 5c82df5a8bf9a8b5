// SPDX-License-Identifier: Apache-2.0
// zrt/ops/attributes.hpp: the attributes of an op: how programs write them, and where they stand in its parameters.
//
// An op lists its attributes once. From the list come the schema of text and JSON, the way from a program's instruction
// to the parameter block, and what a type rule reads of a parameter block:
//
//   static constexpr auto attributes = attribute_list(attribute::number("k", &Params::k),
//                                                     attribute::axis("axis", &Params::axis),
//                                                     attribute::boolean("largest", &Params::largest));
//
// Each kind has three members: `field` (its row of the schema), `read` (from parameters to a rule; false for bytes that
// no program writes) and `lower` (from an instruction, as L reads it, to parameters).
#pragma once

#include <zrt/core/accumulator.hpp>
#include <zrt/ops/element_value.hpp>
#include <zrt/ops/op.hpp>
#include <zrt/ops/rule_call.hpp>
#include <zrt/ops/shape_params.hpp>

#include <tuple>

namespace zrt::inline ZRT_ABI {

namespace attribute {

/// What `read` has besides the parameters: the types of the operands.
using Operands = Span<const TensorType>;
using Value = AttributeValue<Dim>;

/// An integer, as a number of 32 or 64 bits. One that may be left out is then 0.
template <class P, class M> struct Number {
  std::string_view name;
  M P::* member;
  bool optional = false;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::integer, optional}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands, Value& v) const noexcept {
    v.number = static_cast<std::int64_t>(p.*member);
    v.present = !optional || v.number != 0;
    return true;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    if constexpr (sizeof(M) == 8) {
      p.*member = c.bits(f);
      return {};
    } else {
      const auto value = c.number(f);
      if (!value) return pass(value);
      p.*member = *value;
      return {};
    }
  }
};
template <class P, class M> [[nodiscard]] consteval auto number(std::string_view name, M P::* member) {
  return Number<P, M>{name, member};
}
template <class P, class M> [[nodiscard]] consteval auto optional_number(std::string_view name, M P::* member) {
  return Number<P, M>{name, member, true};
}

/// A floating-point number.
template <class P> struct Real {
  std::string_view name;
  double P::* member;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::real}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands, Value& v) const noexcept {
    v.number = std::bit_cast<std::int64_t>(p.*member);
    return true;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    p.*member = c.attribute(f).as_real();
    return {};
  }
};
template <class P> [[nodiscard]] consteval auto real(std::string_view name, double P::* member) {
  return Real<P>{name, member};
}

/// An axis of an operand, counted from 0 in the parameters.
template <class P, class M> struct Axis {
  std::string_view name;
  M P::* member;
  std::size_t operand = 0;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::integer}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands, Value& v) const noexcept {
    v.number = static_cast<std::int64_t>(p.*member);
    return true;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    p.*member = c.axis(f, c.rank(operand));
    return {};
  }
};
template <class P, class M>
[[nodiscard]] consteval auto axis(std::string_view name, M P::* member, std::size_t operand = 0) {
  return Axis<P, M>{name, member, operand};
}

/// An axis of the shape that another attribute, which stands before it, has in the parameters.
template <class P, class M> struct AxisOfShape {
  std::string_view name;
  M P::* member;
  ShapeParams P::* of;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::integer}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands, Value& v) const noexcept {
    v.number = static_cast<std::int64_t>(p.*member);
    return true;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    p.*member = c.axis(f, static_cast<std::uint8_t>((p.*of).rank));
    return {};
  }
};
template <class P, class M>
[[nodiscard]] consteval auto axis_of_shape(std::string_view name, M P::* member, ShapeParams P::* of) {
  return AxisOfShape<P, M>{name, member, of};
}

/// An axis of operand 0 that may be left out, as a flag says.
template <class P> struct OptionalAxis {
  std::string_view name;
  std::uint8_t P::* flag;
  std::uint8_t P::* member;  ///< 0 where the axis is left out

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::integer, true}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands, Value& v) const noexcept {
    v.present = p.*flag != 0;
    v.number = p.*member;
    return p.*flag == 1 || (p.*flag == 0 && p.*member == 0);
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    p.*flag = c.has(f) ? 1 : 0;
    p.*member = c.has(f) ? c.axis(f, c.rank(0)) : std::uint8_t{0};
    return {};
  }
};
template <class P>
[[nodiscard]] consteval auto optional_axis(std::string_view name, std::uint8_t P::* flag, std::uint8_t P::* member) {
  return OptionalAxis<P>{name, flag, member};
}

/// An axis of an operand, or its rank: no axis at all. Left out it is the rank.
template <class P> struct AxisOrRank {
  std::string_view name;
  std::uint8_t P::* member;
  std::size_t operand;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::integer, true}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands in, Value& v) const noexcept {
    v.number = p.*member;
    v.present = p.*member != in[operand].shape.rank;
    return true;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    p.*member = c.has(f) ? c.axis(f, c.rank(operand)) : c.rank(operand);
    return {};
  }
};
template <class P>
[[nodiscard]] consteval auto axis_or_rank(std::string_view name, std::uint8_t P::* member, std::size_t operand) {
  return AxisOrRank<P>{name, member, operand};
}

/// True or false.
template <class P> struct Boolean {
  std::string_view name;
  std::uint8_t P::* member;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::boolean}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands, Value& v) const noexcept {
    v.number = p.*member;
    return p.*member <= 1;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    p.*member = c.boolean(f);
    return {};
  }
};
template <class P> [[nodiscard]] consteval auto boolean(std::string_view name, std::uint8_t P::* member) {
  return Boolean<P>{name, member};
}

/// What a dtype is where it is left out.
enum class DTypeDefault : std::uint8_t {
  none,         ///< it may not be
  operand,      ///< that of operand 0
  accumulator,  ///< that in which elements of operand 0 are accumulated
};

/// An element type of the portable tensor IR.
template <class P> struct DTypeOf {
  std::string_view name;
  DType P::* member;
  DTypeDefault absent = DTypeDefault::none;

  [[nodiscard]] constexpr AttributeField field() const noexcept {
    return {name, AttributeKind::dtype, absent != DTypeDefault::none};
  }
  [[nodiscard]] constexpr bool read(const P& p, Operands, Value& v) const noexcept {
    v.number = static_cast<std::int64_t>(p.*member);
    return is_dtype(static_cast<std::uint8_t>(p.*member)) && !is_block(p.*member);
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    if (absent == DTypeDefault::none || c.has(f))
      p.*member = c.dtype(f);
    else
      p.*member = absent == DTypeDefault::operand ? c.dtype_of(0) : default_accumulator(c.dtype_of(0));
    return {};
  }
};
template <class P>
[[nodiscard]] consteval auto dtype(std::string_view name, DType P::* member, DTypeDefault absent = DTypeDefault::none) {
  return DTypeOf<P>{name, member, absent};
}

/// One of an enumeration, whose first enumerators have these names; `kinds` of them there are.
template <class P, class M> struct Choice {
  std::string_view name;
  M P::* member;
  Span<const std::string_view> names;
  std::size_t kinds;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::choice, false, names}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands, Value& v) const noexcept {
    v.number = static_cast<std::int64_t>(p.*member);
    return static_cast<std::size_t>(p.*member) < kinds;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    p.*member = c.template choice<M>(f);
    return {};
  }
};
template <class P, class M, std::size_t N>
[[nodiscard]] consteval auto choice(std::string_view name, M P::* member, const std::array<std::string_view, N>& names,
                                    std::size_t kinds = N) {
  return Choice<P, M>{name, member, names, kinds};
}

/// A list of axes of an operand, in order. Lists that belong together may share a count.
template <class P, class N> struct Axes {
  std::string_view name;
  std::array<std::uint8_t, kMaxRank> P::* member;
  N P::* count;
  std::size_t operand = 0;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::integers}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands, Value& v) const noexcept {
    v.count = p.*count;
    for (std::size_t i = 0; i < kMaxRank; ++i) v.list[i] = (p.*member)[i];
    return v.count <= kMaxRank;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    const auto axes = c.axes(f, c.rank(operand));
    p.*member = axes.axes;
    p.*count = axes.count;
    return {};
  }
};
template <class P, class N>
[[nodiscard]] consteval auto axes(std::string_view name, std::array<std::uint8_t, kMaxRank> P::* member, N P::* count,
                                  std::size_t operand = 0) {
  return Axes<P, N>{name, member, count, operand};
}

/// A set of axes of operand 0; bit a stands for axis a.
template <class P> struct AxisSet {
  std::string_view name;
  std::uint8_t P::* member;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::integers}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands, Value& v) const noexcept {
    for (unsigned axis = 0; axis < kMaxRank; ++axis)
      if ((p.*member >> axis & 1u) != 0) v.list[v.count++] = axis;
    return true;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    const auto axes = c.axes(f, c.rank(0));
    unsigned set = 0;
    for (std::size_t i = 0; i < axes.count; ++i) set |= 1u << axes.axes[i];
    p.*member = static_cast<std::uint8_t>(set);
    return {};
  }
};
template <class P> [[nodiscard]] consteval auto axis_set(std::string_view name, std::uint8_t P::* member) {
  return AxisSet<P>{name, member};
}

/// A list of numbers, whose length the parameters hold.
template <class P, std::size_t N, class M> struct Numbers {
  std::string_view name;
  std::array<std::uint32_t, N> P::* member;
  M P::* count;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::integers}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands, Value& v) const noexcept {
    v.count = p.*count;
    for (std::size_t i = 0; i < N; ++i) v.list[i] = (p.*member)[i];
    return v.count <= N;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    p.*count = static_cast<M>(c.length(f));
    return c.numbers(f, p.*member);
  }
};
template <class P, std::size_t N, class M>
[[nodiscard]] consteval auto numbers(std::string_view name, std::array<std::uint32_t, N> P::* member, M P::* count) {
  return Numbers<P, N, M>{name, member, count};
}

/// A list of numbers, one for each axis of operand 0.
template <class P> struct NumbersPerAxis {
  std::string_view name;
  std::array<std::uint32_t, kMaxRank> P::* member;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::integers}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands in, Value& v) const noexcept {
    v.count = in[0].shape.rank;
    for (std::size_t i = 0; i < kMaxRank; ++i) v.list[i] = (p.*member)[i];
    return true;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    return c.numbers(f, p.*member);
  }
};
template <class P>
[[nodiscard]] consteval auto numbers_per_axis(std::string_view name, std::array<std::uint32_t, kMaxRank> P::* member) {
  return NumbersPerAxis<P>{name, member};
}

/// A shape. Extents that the program leaves open are those of the result.
template <class P> struct ShapeOf {
  std::string_view name;
  ShapeParams P::* member;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::shape}; }
  [[nodiscard]] constexpr bool read(const P& p, Operands, Value& v) const noexcept {
    if (!(p.*member).valid()) return false;
    v.shape = (p.*member).shape();
    return true;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    const auto shape = c.result_shape(f);
    if (!shape) return pass(shape);
    p.*member = *shape;
    return {};
  }
};
template <class P> [[nodiscard]] consteval auto shape(std::string_view name, ShapeParams P::* member) {
  return ShapeOf<P>{name, member};
}

/// A scalar of operand 0's dtype. One that may be left out is then zero.
template <class P> struct Element {
  std::string_view name;
  ElementValue P::* member;
  bool optional = false;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, AttributeKind::literal, optional}; }
  [[nodiscard]] constexpr bool read(const P&, Operands in, Value& v) const noexcept {
    v.number = static_cast<std::int64_t>(in[0].dtype);
    return true;
  }
  template <class L> [[nodiscard]] Result<void> lower(const L& c, std::size_t f, P& p) const noexcept {
    p.*member = c.element(f);
    return {};
  }
};
template <class P>
[[nodiscard]] consteval auto element(std::string_view name, ElementValue P::* member, bool optional = false) {
  return Element<P>{name, member, optional};
}

/// What stands in no parameter block: a region, a literal that becomes a weight, the names of a custom call. The op's
/// lowering in ir/ptir says what becomes of it.
struct Apart {
  std::string_view name;
  AttributeKind kind;

  [[nodiscard]] constexpr AttributeField field() const noexcept { return {name, kind}; }
};
[[nodiscard]] consteval auto region(std::string_view name) { return Apart{name, AttributeKind::region}; }
[[nodiscard]] consteval auto apart(std::string_view name, AttributeKind kind) { return Apart{name, kind}; }

}  // namespace attribute

/// The attributes of an op, in the order in which programs have them.
template <class... A> struct AttributeList {
  static constexpr std::size_t size = sizeof...(A);
  std::tuple<A...> items{};
};
template <class... A> [[nodiscard]] consteval AttributeList<A...> attribute_list(const A&... items) {
  return {std::tuple<A...>(items...)};
}
inline constexpr AttributeList<> kNoAttributes{};

/// An operation of programs: an op that lists its attributes.
template <class O>
concept ProgramOp = requires { O::attributes.items; };

namespace detail {

/// Operands of an op whose last role repeats that it takes at least: one, unless the op says another number.
template <class O> consteval std::size_t least_inputs() {
  if constexpr (requires { O::least_inputs; })
    return O::least_inputs;
  else
    return 1;
}

template <class O> consteval OpInfo op_info() {
  OpInfo row;
  row.opcode = O::opcode;
  row.name = O::name;
  row.repeats = RepeatsInputs<O>;
  for (const Role& role : O::input_roles) {
    row.operands[row.operand_names++] = role.name;
    if (!role.optional) ++row.least;
  }
  if (row.repeats) row.least = static_cast<std::uint8_t>(least_inputs<O>());
  std::apply([&](const auto&... items) { ((row.fields_[row.field_count++] = items.field()), ...); },
             O::attributes.items);
  return row;
}

}  // namespace detail

/// What programs know of op O.
template <ProgramOp O> inline constexpr OpInfo kOpInfo = detail::op_info<O>();

/// Where attribute `name` stands in the list of op O; any other name does not compile.
template <class O> [[nodiscard]] consteval std::size_t at(std::string_view name) {
  const auto fields = kOpInfo<O>.fields();
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == name) return i;
  return *static_cast<const std::size_t*>(nullptr);
}

}  // namespace zrt::inline ZRT_ABI
