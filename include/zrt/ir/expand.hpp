// SPDX-License-Identifier: Apache-2.0
// zrt/ir/expand.hpp: replaces one node by the ops that it is made of.
#pragma once

#include <zrt/ir/builder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

/// The operands of the node to expand, as values of the graph under construction.
struct ExpandArgs {
  Span<const ValueId> in;
  Span<const WeightId> w;
  StateId state;
  ParamBlock params;
  Span<const RegionId> regions{};
};

using ExpandFn = void (*)(Builder& g, const ExpandArgs& args, Span<ValueId> out) noexcept;
using ExpandTable = std::array<ExpandFn, 256>;

namespace detail {

template <class O> ZRT_COLD void expand_node(Builder& g, const ExpandArgs& args, Span<ValueId> out) noexcept {
  Call<Builder, O> call;
  if (auto r = decode_params<O>(args.params, call.params); !r) return g.set(r.error());
  fill(call.in, args.in);
  fill(call.w, args.w);
  if constexpr (HasRegions<O>) fill(call.region, args.regions);
  call.state = args.state;
  g.expanding(&zrt::detail::kOpRow<O>);
  const auto results = O::expand(g, call);
  g.expanding(nullptr);
  if (!results) return g.set(results.error());
  for (std::size_t i = 0; i < results->size(); ++i) out[i] = (*results)[i];
}

template <class O> consteval ExpandFn expand_fn() {
  if constexpr (HasExpansion<O>)
    return &expand_node<O>;
  else
    return nullptr;
}

template <class... O> consteval ExpandTable expand_fns(boost::mp11::mp_list<O...>) {
  ExpandTable table{};
  ((table[number(O::opcode)] = expand_fn<O>()), ...);
  return table;
}

}  // namespace detail

/// Expansions by number; null where an op has none.
template <class Catalog> inline constexpr ExpandTable kExpandTable = detail::expand_fns(Catalog{});

/// A catalog as the run-time parts of the library see it.
struct Ops {
  const OpTable* table;
  const ExpandTable* expansions;

  /// `Expanded` are those whose expansions may be asked for: what a backend claims is never expanded.
  template <class Catalog, class Expanded = Catalog> [[nodiscard]] static constexpr Ops of() noexcept {
    static_assert(CheckCatalog<Catalog>::kOk);
    return {&kOpTable<Catalog>, &kExpandTable<Expanded>};
  }
  [[nodiscard]] const OpRow* row(Opcode opcode) const noexcept { return (*table)[number(opcode)]; }
};

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
