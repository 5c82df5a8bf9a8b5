// SPDX-License-Identifier: Apache-2.0
// zrt/ops/hana.hpp: every parameter struct as a Boost.Hana struct, for hosts that walk blocks generically.
#pragma once

#include <zrt/ops/catalog.hpp>

#include <boost/hana/accessors.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/core/when.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>

#include <tuple>
#include <utility>

// Optional: but for the audit of parameter structs, nothing else of the library includes this header or Hana, which
// costs seconds to compile.
// The audit is independent because nothing here reads a field list. Aggregate initialisation gives the number of
// members, a structured binding their places and types, and the compiler their names: it spells a member's address in
// the name of a function template. A nested struct is one member here; P::fields lists its fields.

namespace zrt::inline ZRT_ABI {

namespace detail {

/// Stands for a member of any type.
struct AnyMember {
  template <class T> constexpr operator T() const noexcept;  // NOLINT: it is initialised as any member
};
template <class P, std::size_t... I> consteval bool takes_members(std::index_sequence<I...>) {
  return requires { P{(static_cast<void>(I), AnyMember{})...}; };
}

/// Members of a parameter struct that `members` takes apart.
inline constexpr std::size_t kMaxMembers = 16;

/// How many members P has, which is an aggregate; kMaxMembers + 1 for more than that.
template <class P>
inline constexpr std::size_t kMembers = []<std::size_t... I>(std::index_sequence<I...>) {
  std::size_t most = 0;
  if constexpr (!std::is_empty_v<P>) ((most = takes_members<P>(std::make_index_sequence<I + 1>()) ? I + 1 : most), ...);
  return most;
}(std::make_index_sequence<kMaxMembers + 1>());

/// References to the members of `s`, in the order of their declarations.
template <class S> [[nodiscard]] constexpr auto members(S& s) noexcept {
  static_assert(kMembers<S> <= kMaxMembers,
                "zrt: a parameter struct has more members than zrt/ops/hana.hpp takes apart: add a row there");
  if constexpr (kMembers<S> == 0) return std::tuple<>();
  if constexpr (kMembers<S> == 1) {
    auto& [a] = s;
    return std::tie(a);
  }
  if constexpr (kMembers<S> == 2) {
    auto& [a, b] = s;
    return std::tie(a, b);
  }
  if constexpr (kMembers<S> == 3) {
    auto& [a, b, c] = s;
    return std::tie(a, b, c);
  }
  if constexpr (kMembers<S> == 4) {
    auto& [a, b, c, d] = s;
    return std::tie(a, b, c, d);
  }
  if constexpr (kMembers<S> == 5) {
    auto& [a, b, c, d, e] = s;
    return std::tie(a, b, c, d, e);
  }
  if constexpr (kMembers<S> == 6) {
    auto& [a, b, c, d, e, f] = s;
    return std::tie(a, b, c, d, e, f);
  }
  if constexpr (kMembers<S> == 7) {
    auto& [a, b, c, d, e, f, g] = s;
    return std::tie(a, b, c, d, e, f, g);
  }
  if constexpr (kMembers<S> == 8) {
    auto& [a, b, c, d, e, f, g, h] = s;
    return std::tie(a, b, c, d, e, f, g, h);
  }
  if constexpr (kMembers<S> == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = s;
    return std::tie(a, b, c, d, e, f, g, h, i);
  }
  if constexpr (kMembers<S> == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  }
  if constexpr (kMembers<S> == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  }
  if constexpr (kMembers<S> == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  }
  if constexpr (kMembers<S> == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  }
  if constexpr (kMembers<S> == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  }
  if constexpr (kMembers<S> == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  }
  if constexpr (kMembers<S> == 16) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  }
}

/// An object whose members' addresses carry their names.
template <class P> inline constexpr P kSpecimen{};

template <auto Address> [[nodiscard]] consteval auto function_of() { return std::string_view(__PRETTY_FUNCTION__); }

/// What member I of P is called: the last word in the name of a function that takes its address.
template <class P, std::size_t I> [[nodiscard]] consteval std::string_view member_name() {
  constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  std::string_view text = function_of<&std::get<I>(members(kSpecimen<P>))>();
  text = text.substr(0, text.find_last_of(kWord) + 1);
  return text.substr(text.find_last_not_of(kWord) + 1);
}

/// Gives member I of a struct.
template <std::size_t I> struct MemberAccess {
  template <class S> constexpr auto& operator()(S& s) const noexcept { return std::get<I>(members(s)); }
};

template <class P, std::size_t I> [[nodiscard]] constexpr auto named_member() {
  return [&]<std::size_t... C>(std::index_sequence<C...>) {
    return boost::hana::make_pair(boost::hana::string_c<member_name<P, I>()[C]...>, MemberAccess<I>());
  }(std::make_index_sequence<member_name<P, I>().size()>());
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI

namespace boost::hana {

template <class P> struct accessors_impl<P, when<zrt::ParamStruct<P>>> {
  template <class...> static constexpr auto apply() {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return make_tuple(zrt::detail::named_member<P, I>()...);
    }(std::make_index_sequence<zrt::detail::kMembers<P>>());
  }
};

}  // namespace boost::hana
