// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/table.hpp: what every operation says of its gradient, as a table.
#pragma once

#include <zrt/ir/gradient/dot_general.hpp>
#include <zrt/ir/gradient/regions.hpp>
#include <zrt/ir/gradient/scatter_add.hpp>
#include <zrt/ir/gradient/windows.hpp>
#include <zrt/ops/catalog.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::gradient {

namespace detail {
template <class O> using SaysGradient = boost::mp11::mp_bool<SaysItsGradient<O>>;
using Sayers = boost::mp11::mp_append<boost::mp11::mp_copy_if<ops::Catalog, SaysGradient>, fused::ModeOps>;
}  // namespace detail

/// Every op of the catalog that says something of its gradient, as primitives do, and then fused::ModeOps.
inline constexpr auto kGradientRules = []<class... O>(boost::mp11::mp_list<O...>) {
  return std::to_array<GradientRule>({rule_of<O>()...});
}(detail::Sayers{});

static_assert(boost::mp11::mp_count_if<ops::Catalog, detail::SaysGradient>::value == ptir::kOps.size(),
              "an operation of the portable tensor IR is a primitive of the catalog, and that alone has a gradient");

/// The row of an op by its name; that of a name that is none is null.
[[nodiscard]] constexpr const GradientRule* find_gradient(std::string_view op) noexcept {
  for (const GradientRule& row : kGradientRules)
    if (row.op == op) return &row;
  return nullptr;
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient

ZRT_LOAD_TIME_END
