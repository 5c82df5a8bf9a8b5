// SPDX-License-Identifier: Apache-2.0
// zrt/engine/check_engine.hpp: that a backend runs the families of an engine.
#pragma once

#include <zrt/engine/engine.hpp>
#include <zrt/engine/loaded_model.hpp>

namespace zrt::inline ZRT_ABI::detail {

template <class B, class List> struct CheckFamilies;
template <class B, class... Arch> struct CheckFamilies<B, boost::mp11::mp_list<Arch...>> {
  static_assert((NoOpLeftOut<OpsNotRun<B, typename Arch::Ops>> && ...),
                "zrt: the backend does not run an op that a model family names");
  static constexpr bool kOk = true;
};
template <class B, class Families> struct CheckEngine {
  static constexpr bool kOk =
      CheckFamilies<B, typename Families::List>::kOk && CheckBackend<B, ModelOps<B, Families>>::kOk;
};

}  // namespace zrt::inline ZRT_ABI::detail
