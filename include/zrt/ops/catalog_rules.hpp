// SPDX-License-Identifier: Apache-2.0
// zrt/ops/catalog_rules.hpp: compile-time rules that every list of ops must keep.
#pragma once

#include <zrt/ops/op.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// True when number `n` may stand on `rung` (the op catalog's ranges).
[[nodiscard]] constexpr bool number_fits(std::uint8_t n, Rung rung) noexcept {
  switch (rung) {
    case Rung::macro:
      return n < 32 && n != 0 && n != 7 && n != 8;
    case Rung::fused:
      return n == 0 || n == 7 || n == 8 || (n >= 32 && n < 64 && n != 52 && n != 53 && n != 54) ||
             (n >= 103 && n < 128);
    case Rung::primitive:
      return (n >= 64 && n < 103) || (n >= 107 && n < 128);
  }
  return false;
}

namespace detail {

template <class O> using ExpandsTo = typename O::expands_to;

template <class... O> consteval bool numbers_differ(boost::mp11::mp_list<O...>) {
  bool seen[256]{};
  bool differ = true;
  ((differ = differ && !seen[number(O::opcode)], seen[number(O::opcode)] = true), ...);
  return differ;
}

template <class O> consteval std::size_t depth();
template <class... O> consteval std::size_t deepest(boost::mp11::mp_list<O...>) {
  std::size_t most = 0;
  ((most = depth<O>() > most ? depth<O>() : most), ...);
  return most;
}
template <class O> consteval std::size_t depth() {
  if constexpr (HasExpansion<O>)
    return 1 + deepest(typename O::expands_to{});
  else
    return 0;
}

[[nodiscard]] constexpr std::size_t end_of(const Field& field) noexcept {
  return field.offset + std::size_t{field.size} * field.count;
}

/// The first field of P after which bytes follow that are not the next field's; the number of fields if there is none.
template <class P> consteval std::size_t field_before_gap() {
  constexpr std::size_t count = P::fields.size();
  for (std::size_t i = 0; i < count; ++i)
    if (end_of(P::fields[i]) != (i + 1 < count ? P::fields[i + 1].offset : sizeof(P))) return i;
  return count;
}

/// The first field of P that ends beyond what a block holds; the number of fields if there is none.
template <class P> consteval std::size_t field_beyond_limit() {
  for (std::size_t i = 0; i < P::fields.size(); ++i)
    if (end_of(P::fields[i]) > kMaxParamBytes) return i;
  return P::fields.size();
}

template <class> inline constexpr bool kNever = false;

}  // namespace detail

// Instantiated for the field that breaks a rule, so that a compiler names op and field.
template <class O, FieldName Field> struct ParamFieldBeforeGap {
  static_assert(detail::kNever<O>, "zrt: padding, or a member that the field list does not name, follows this field");
  static constexpr bool kOk = false;
};
template <class O, FieldName Field> struct ParamFieldBeyondLimit {
  static_assert(detail::kNever<O>, "zrt: this field ends beyond the 256 bytes of a parameter block");
  static constexpr bool kOk = false;
};

namespace detail {

template <class O> consteval bool params_keep_rules() {
  using P = typename O::Params;
  constexpr std::size_t gap = field_before_gap<P>();
  constexpr std::size_t beyond = field_beyond_limit<P>();
  if constexpr (gap < P::fields.size())
    return ParamFieldBeforeGap<O, kFieldName<P, gap>>::kOk;
  else if constexpr (beyond < P::fields.size())
    return ParamFieldBeyondLimit<O, kFieldName<P, beyond>>::kOk;
  else if constexpr (!NoPadding<P>)
    return ParamFieldBeforeGap<O, FieldName<4>{"none"}>::kOk;
  else
    return true;
}

}  // namespace detail

// Each rule is a concept over the op (or the list), so that a compiler that rejects one names it.
/// An op whose number lies in its rung's range.
template <class O>
concept NumberFitsRung = number_fits(number(O::opcode), O::rung);
/// A list in which no two ops have one number.
template <class Catalog>
concept NumbersDiffer = detail::numbers_differ(Catalog{});
/// A list that names no op twice.
template <class Catalog>
concept EachOpOnce = boost::mp11::mp_is_set<Catalog>::value;

/// Checks one op's own rules; instantiated for each op of a list.
template <class O> struct CheckOp {
  static_assert(Op<O>, "zrt: this type does not satisfy zrt::Op; see docs/adding-an-op.md");
  static_assert(detail::params_keep_rules<O>());
  static_assert(NumberFitsRung<O>, "zrt: this op's number lies outside the range of its rung");
  static_assert(O::rung != Rung::primitive || SaysItsGradient<O>,
                "zrt: this primitive says nothing of its gradient: a rule `gradient`, Gradient::stops() or "
                "Gradient::none(\"because\"); see zrt/ops/statement.hpp");
  static_assert(O::rung != Rung::primitive || SaysItsFormInC<O>,
                "zrt: this primitive says nothing of its form in C: `emit_c`, an expansion, or "
                "NoForm{\"because\"}; see zrt/ops/op.hpp");
  // An expansion that comes back to its op has no finite depth and does not compile.
  static constexpr std::size_t kDepth = detail::depth<O>();
};

/// Checks a list of ops; true for every well-formed one.
template <class Catalog> struct CheckCatalog;
template <class... O> struct CheckCatalog<boost::mp11::mp_list<O...>> {
  static_assert(EachOpOnce<boost::mp11::mp_list<O...>>, "zrt: an op is listed twice in the catalog");
  static_assert(NumbersDiffer<boost::mp11::mp_list<O...>>, "zrt: two ops of the catalog share a number");
  static constexpr bool kOk = ((CheckOp<O>::kDepth < 64) && ...);
};

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
