// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/all.hpp: the cases of every op of the catalog.
#pragma once

#include <zrt/ops/catalog.hpp>

// Written by tests/CMakeLists.txt: every header of this folder that is named as an op's.
#include <op_cases_of_the_catalog.hpp>

namespace op_cases {

template <class... O> consteval bool all_have_cases(boost::mp11::mp_list<O...>) {
  static_assert((HasOpCases<O> && ...), "an op of the catalog has no OpCases: add tests/property/op_cases/<op>.hpp");
  return true;
}
/// The ops whose meaning is the catalog's; what a host defines has tests of its own.
template <class O> using IsDefinedByHost = boost::mp11::mp_bool<zrt::DefinedByHost<O>>;
using CatalogWithCases = boost::mp11::mp_remove_if<zrt::ops::Catalog, IsDefinedByHost>;
static_assert(all_have_cases(CatalogWithCases{}));

}  // namespace op_cases
