// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/hana_params_missing.cpp: every parameter struct of the catalog is a Hana struct.
// expect-error: zrt: a parameter struct of the catalog has no BOOST_HANA_ADAPT_STRUCT line in zrt/ops/hana.hpp
#include <zrt/ops/catalog.hpp>

#ifdef ZRT_COMPILE_FAIL
// The list of structs lies in the library; a macro turns one of its lines to another struct.
#include <boost/hana/adapt_struct.hpp>
namespace zrt::ops {
struct OtherParams {
  std::uint32_t starts, sizes;
};
}  // namespace zrt::ops
#define SliceParams OtherParams
#endif
#include <zrt/ops/hana.hpp>

static_assert(boost::hana::Struct<zrt::ops::Slice::Params>::value);
