// SPDX-License-Identifier: Apache-2.0
// zrt/ops/attributes.hpp: the attributes of an op: how programs write them, and where they stand in its parameters.
//
// An op lists its attributes once. From the list come the schema of text and JSON, the way from a program's instruction
// to the parameter block, and what a type rule reads of a parameter block:
//
//   static constexpr auto attributes = attribute_list(attribute::number("k", &Params::k),
//                                                     attribute::axis("axis", &Params::axis),
//                                                     attribute::boolean("largest", &Params::largest));
#pragma once

#include <zrt/core/accumulator.hpp>
#include <zrt/ops/element_value.hpp>
#include <zrt/ops/op.hpp>
#include <zrt/ops/rule_call.hpp>
#include <zrt/ops/shape_params.hpp>

#include <algorithm>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// How the parameters of an op hold an attribute.
enum class AttributePlace : std::uint8_t {
  apart,          ///< not at all: a region, a literal that becomes a weight, what a custom call names
  number,         ///< an integer; one left out is 0
  real,           ///< an f64
  axis,           ///< an axis of an operand, counted from 0
  axis_of_shape,  ///< an axis of the shape in `other`, whose attribute stands before it
  optional_axis,  ///< an axis of operand 0; `other` is 1, or 0 where the axis is left out and 0
  axis_or_rank,   ///< an axis of an operand; its rank where it is left out
  boolean,        ///< 0 or 1
  dtype,          ///< a DType
  choice,         ///< an enumerator below `kinds`
  axes,           ///< a list of axes of an operand, of which there are `other`
  axis_set,       ///< a set of axes of operand 0; bit a stands for axis a
  numbers,        ///< a list of numbers, of which there are `other`
  per_axis,       ///< a list of numbers, one for each axis of operand 0
  shape,          ///< ShapeParams; extents that a program leaves open are those of the result
  element,        ///< an ElementValue of operand 0's dtype; one left out is zero
};

/// What a dtype is where it is left out.
enum class DTypeDefault : std::uint8_t {
  none,         ///< it may not be
  operand,      ///< that of operand 0
  accumulator,  ///< that in which elements of operand 0 are accumulated
};

/// Bytes of a member within parameters.
struct MemberBytes {
  std::uint16_t offset = 0;
  std::uint16_t size = 0;
};

/// One attribute: its row of the schema, and its place in the parameters.
struct AttributeSpec {
  AttributeField field{};
  AttributePlace place = AttributePlace::apart;
  MemberBytes member{};
  MemberBytes other{};  ///< the count, flag or shape that belongs to it
  std::uint8_t operand = 0;
  std::uint8_t kinds = 0;  ///< of a choice: those with names, and after them those that graphs alone have
  DTypeDefault absent = DTypeDefault::none;
};

namespace attribute {

namespace detail {

template <std::size_t N> struct Bytes {
  std::array<unsigned char, N> bytes{};
};

/// Where a member lies shows in the bytes that change with it.
template <class P, class M> consteval MemberBytes bytes_of_member(M P::* member) {
  P params = std::bit_cast<P>(Bytes<sizeof(P)>{});
  Bytes<sizeof(M)> marked;
  for (unsigned char& byte : marked.bytes) byte = 1;
  params.*member = std::bit_cast<M>(marked);
  const auto image = std::bit_cast<Bytes<sizeof(P)>>(params);
  MemberBytes found{0, sizeof(M)};
  while (image.bytes[found.offset] == 0) ++found.offset;
  return found;
}

consteval AttributeSpec spec(std::string_view name, AttributeKind kind, AttributePlace place, MemberBytes member,
                             MemberBytes other = {}) {
  return {{name, kind, false, {}}, place, member, other, 0, 0, DTypeDefault::none};
}

}  // namespace detail

using detail::bytes_of_member;
using detail::spec;

/// An integer, as a number of 32 or 64 bits.
template <class P, class M> [[nodiscard]] consteval AttributeSpec number(std::string_view name, M P::* member) {
  return spec(name, AttributeKind::integer, AttributePlace::number, bytes_of_member(member));
}
template <class P, class M>
[[nodiscard]] consteval AttributeSpec optional_number(std::string_view name, M P::* member) {
  AttributeSpec a = number(name, member);
  a.field.optional = true;
  return a;
}
template <class P> [[nodiscard]] consteval AttributeSpec real(std::string_view name, double P::* member) {
  return spec(name, AttributeKind::real, AttributePlace::real, bytes_of_member(member));
}
/// An axis of an operand.
template <class P, class M>
[[nodiscard]] consteval AttributeSpec axis(std::string_view name, M P::* member, std::uint8_t operand = 0) {
  AttributeSpec a = spec(name, AttributeKind::integer, AttributePlace::axis, bytes_of_member(member));
  a.operand = operand;
  return a;
}
/// An axis of a shape in the parameters.
template <class P, class M>
[[nodiscard]] consteval AttributeSpec axis_of_shape(std::string_view name, M P::* member, ShapeParams P::* of) {
  return spec(name, AttributeKind::integer, AttributePlace::axis_of_shape, bytes_of_member(member),
              bytes_of_member(of));
}
/// An axis of operand 0 that may be left out, as `flag` says.
template <class P>
[[nodiscard]] consteval AttributeSpec optional_axis(std::string_view name, std::uint8_t P::* flag,
                                                    std::uint8_t P::* member) {
  AttributeSpec a =
      spec(name, AttributeKind::integer, AttributePlace::optional_axis, bytes_of_member(member), bytes_of_member(flag));
  a.field.optional = true;
  return a;
}
/// An axis of an operand, or its rank: no axis at all.
template <class P>
[[nodiscard]] consteval AttributeSpec axis_or_rank(std::string_view name, std::uint8_t P::* member,
                                                   std::uint8_t operand) {
  AttributeSpec a = spec(name, AttributeKind::integer, AttributePlace::axis_or_rank, bytes_of_member(member));
  a.field.optional = true;
  a.operand = operand;
  return a;
}
template <class P> [[nodiscard]] consteval AttributeSpec boolean(std::string_view name, std::uint8_t P::* member) {
  return spec(name, AttributeKind::boolean, AttributePlace::boolean, bytes_of_member(member));
}
/// An element type of the portable tensor IR.
template <class P>
[[nodiscard]] consteval AttributeSpec dtype(std::string_view name, DType P::* member,
                                            DTypeDefault absent = DTypeDefault::none) {
  AttributeSpec a = spec(name, AttributeKind::dtype, AttributePlace::dtype, bytes_of_member(member));
  a.field.optional = absent != DTypeDefault::none;
  a.absent = absent;
  return a;
}
/// One of an enumeration of `kinds`, whose first enumerators have these names.
template <class P, class M, std::size_t N>
[[nodiscard]] consteval AttributeSpec choice(std::string_view name, M P::* member,
                                             const std::array<std::string_view, N>& names, std::uint8_t kinds = N) {
  AttributeSpec a = spec(name, AttributeKind::choice, AttributePlace::choice, bytes_of_member(member));
  a.field.choices = names;
  a.kinds = kinds;
  return a;
}
/// A list of axes of an operand, in order. Lists that belong together may share a count.
template <class P, class N>
[[nodiscard]] consteval AttributeSpec axes(std::string_view name, std::array<std::uint8_t, kMaxRank> P::* member,
                                           N P::* count, std::uint8_t operand = 0) {
  AttributeSpec a =
      spec(name, AttributeKind::integers, AttributePlace::axes, bytes_of_member(member), bytes_of_member(count));
  a.operand = operand;
  return a;
}
/// A set of axes of operand 0.
template <class P> [[nodiscard]] consteval AttributeSpec axis_set(std::string_view name, std::uint8_t P::* member) {
  return spec(name, AttributeKind::integers, AttributePlace::axis_set, bytes_of_member(member));
}
/// A list of numbers, whose length the parameters hold.
template <class P, std::size_t N, class M>
[[nodiscard]] consteval AttributeSpec numbers(std::string_view name, std::array<std::uint32_t, N> P::* member,
                                              M P::* count) {
  return spec(name, AttributeKind::integers, AttributePlace::numbers, bytes_of_member(member), bytes_of_member(count));
}
/// A list of numbers, one for each axis of operand 0.
template <class P>
[[nodiscard]] consteval AttributeSpec numbers_per_axis(std::string_view name,
                                                       std::array<std::uint32_t, kMaxRank> P::* member) {
  return spec(name, AttributeKind::integers, AttributePlace::per_axis, bytes_of_member(member));
}
template <class P> [[nodiscard]] consteval AttributeSpec shape(std::string_view name, ShapeParams P::* member) {
  return spec(name, AttributeKind::shape, AttributePlace::shape, bytes_of_member(member));
}
/// A scalar of operand 0's dtype.
template <class P>
[[nodiscard]] consteval AttributeSpec element(std::string_view name, ElementValue P::* member, bool optional = false) {
  AttributeSpec a = spec(name, AttributeKind::literal, AttributePlace::element, bytes_of_member(member));
  a.field.optional = optional;
  return a;
}
/// What stands in no parameter block; the op's lowering in ir/ptir says what becomes of it.
[[nodiscard]] consteval AttributeSpec region(std::string_view name) {
  return spec(name, AttributeKind::region, AttributePlace::apart, {});
}
[[nodiscard]] consteval AttributeSpec apart(std::string_view name, AttributeKind kind) {
  return spec(name, kind, AttributePlace::apart, {});
}

}  // namespace attribute

/// The attributes of an op, in the order in which programs have them.
template <class... A>
[[nodiscard]] consteval std::array<AttributeSpec, sizeof...(A)> attribute_list(const A&... items) {
  return {items...};
}
inline constexpr std::array<AttributeSpec, 0> kNoAttributes{};

/// The number that a member of parameters holds.
[[nodiscard]] constexpr std::uint64_t load_member(Span<const std::byte> params, MemberBytes member) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < member.size; ++i) {
    const std::size_t at = std::endian::native == std::endian::little ? member.size - 1u - i : i;
    value = value << 8 | std::to_integer<std::uint64_t>(params[member.offset + at]);
  }
  return value;
}
/// Writes a number to a member of parameters.
constexpr void store_member(Span<std::byte> params, MemberBytes member, std::uint64_t value) noexcept {
  for (std::size_t i = 0; i < member.size; ++i) {
    const std::size_t at = std::endian::native == std::endian::little ? i : member.size - 1u - i;
    params[member.offset + at] = static_cast<std::byte>(value >> 8 * i & 0xffu);
  }
}
/// Entry `i` of a member that is a list of numbers of `size` bytes.
[[nodiscard]] constexpr MemberBytes entry_of(MemberBytes list, std::size_t i, std::size_t size) noexcept {
  return {static_cast<std::uint16_t>(list.offset + i * size), static_cast<std::uint16_t>(size)};
}

/// Reads an attribute out of parameters, as they lie in memory; false for bytes that no program writes.
[[nodiscard]] constexpr bool read_attribute(const AttributeSpec& a, Span<const std::byte> params,
                                            Span<const TensorType> in, AttributeValue<Dim>& v) noexcept {
  using enum AttributePlace;
  const auto list = [&](std::size_t size) {
    const std::size_t entries = a.member.size / size;
    for (std::size_t i = 0; i < entries; ++i)
      v.list[i] = static_cast<std::int64_t>(load_member(params, entry_of(a.member, i, size)));
    return v.count <= entries;
  };
  const std::uint64_t value = a.member.size <= 8 ? load_member(params, a.member) : 0;
  v.present = true;
  v.number = static_cast<std::int64_t>(value);
  switch (a.place) {
    case apart:
    case real:
    case axis:
    case axis_of_shape:
      return true;
    case number:
      v.present = !a.field.optional || value != 0;
      return true;
    case optional_axis: {
      const std::uint64_t flag = load_member(params, a.other);
      v.present = flag != 0;
      return flag == 1 || (flag == 0 && value == 0);
    }
    case axis_or_rank:
      v.present = value != in[a.operand].shape.rank;
      return true;
    case boolean:
      return value <= 1;
    case dtype:
      return is_dtype(static_cast<std::uint8_t>(value)) && !is_block(static_cast<DType>(value));
    case choice:
      return value < a.kinds;
    case axes:
      v.count = load_member(params, a.other);
      return list(1);
    case axis_set:
      for (unsigned one = 0; one < kMaxRank; ++one)
        if ((value >> one & 1u) != 0) v.list[v.count++] = one;
      return true;
    case numbers:
      v.count = load_member(params, a.other);
      return list(4);
    case per_axis:
      v.count = in[0].shape.rank;
      return list(4);
    case shape: {
      attribute::detail::Bytes<sizeof(ShapeParams)> image;
      for (std::size_t i = 0; i < sizeof(ShapeParams); ++i)
        image.bytes[i] = std::to_integer<unsigned char>(params[a.member.offset + i]);
      const auto held = std::bit_cast<ShapeParams>(image);
      if (!held.valid()) return false;
      v.shape = held.shape();
      return true;
    }
    case element:
      v.number = static_cast<std::int64_t>(in[0].dtype);
      return true;
  }
  return false;
}

/// An operation of programs: an op that lists its attributes.
template <class O>
concept ProgramOp = requires { O::attributes.size(); };

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
  for (const AttributeSpec& attribute : O::attributes) row.fields_[row.field_count++] = attribute.field;
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

ZRT_LOAD_TIME_END
