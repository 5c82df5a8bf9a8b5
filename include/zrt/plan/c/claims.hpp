// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/claims.hpp: the ops that C has a form for.
#pragma once

#include <zrt/ops/catalog.hpp>
#include <zrt/ops/op_table.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

namespace detail {
template <class O> using HasForm = boost::mp11::mp_bool<HasFormInC<O>>;
template <class O> using IsLeftOut = boost::mp11::mp_bool<HasNoFormInC<O>>;
}  // namespace detail

/// The ops that say how they are written. A plan for C is one of these; what expands into them runs too. Of custom_call
/// the targets of custom_forms.hpp have a form.
using Claims = boost::mp11::mp_copy_if<ops::Catalog, detail::HasForm>;

/// Those that say that C leaves them out.
using Unsupported = boost::mp11::mp_copy_if<ops::Catalog, detail::IsLeftOut>;

inline constexpr OpSet kClaims = OpSet::of(Claims{});

/// True when C has a form for an op, or for everything that it expands to.
[[nodiscard]] constexpr bool has_form(Opcode opcode) noexcept {
  if (kClaims.contains(opcode)) return true;
  const OpRow* row = kOpTable<ops::Catalog>[number(opcode)];
  if (row == nullptr || !row->has_expansion) return false;
  for (unsigned i = 0; i < 256; ++i)
    if (row->expands_to.contains(Opcode{static_cast<std::uint8_t>(i)}) &&
        !has_form(Opcode{static_cast<std::uint8_t>(i)}))
      return false;
  return true;
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
