// SPDX-License-Identifier: Apache-2.0
// zrt/engine/check_engine.hpp: that a backend runs the families of an engine, and that these build.
#pragma once

#include <zrt/engine/engine.hpp>
#include <zrt/engine/loaded_model.hpp>
#include <zrt/model/check_arch.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::detail {

template <class Families> struct EngineCode {};

/// Families that say `are_checked` were built at compile time elsewhere.
template <class Families>
concept AreChecked = requires { requires Families::are_checked; };

struct BuiltElsewhere {};
template <class List> struct BuildsFamilies;
template <class... Arch> struct BuildsFamilies<boost::mp11::mp_list<Arch...>> {
  static_assert((model::CheckArch<Arch>::kOk && ...));
};
template <class B, class List> struct RunsFamilies;
template <class B, class... Arch> struct RunsFamilies<B, boost::mp11::mp_list<Arch...>> {
  static_assert((NoOpLeftOut<OpsNotRun<B, typename Arch::Ops>> && ...),
                "zrt: the backend does not run an op that a model family names");
};
template <class B, class Families>
struct CheckEngine : std::conditional_t<AreChecked<Families>, BuiltElsewhere, BuildsFamilies<typename Families::List>>,
                     RunsFamilies<B, typename FamiliesOn<B, Families>::List>,
                     CheckBackend<B, ModelOps<B, FamiliesOn<B, Families>>> {};
}  // namespace zrt::inline ZRT_ABI::detail

ZRT_LOAD_TIME_END
