// SPDX-License-Identifier: Apache-2.0
// tests/support/card_families.hpp: what cards lack of a family, and which golden models a family opens.
#pragma once

#include <zrt/device/claims.hpp>
#include <zrt/exec/backend.hpp>
#include <zrt/models.hpp>

#include <boost/mp11/algorithm.hpp>

#include <support/golden_models.hpp>

namespace zrt::test {

/// The ops of a family's program that pm4 neither claims nor expands into what it claims.
template <class F>
using LackedByCards = boost::mp11::mp_copy_if_q<typename F::Ops, zrt::detail::LeftOutBy<device::Claims>>;

/// That the family opens the model's file.
template <class F> [[nodiscard]] bool opens(const auto& model) {
  return zrt::model::is_named<F>(model.family) && zrt::model::OpensSome<F> == model.some;
}

/// That a family opens the model whose program cards run.
[[nodiscard]] inline bool runs_on_cards(const GoldenModel& model) {
  bool runs = false;
  boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, AllFamilies::List>>([&](auto family) {
    using F = typename decltype(family)::type;
    runs = runs || (boost::mp11::mp_empty<LackedByCards<F>>::value && opens<F>(model));
  });
  return runs;
}

}  // namespace zrt::test
