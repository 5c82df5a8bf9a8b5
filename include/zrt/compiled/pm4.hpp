// SPDX-License-Identifier: Apache-2.0
// zrt/compiled/pm4.hpp: engines on AMD cards that the target zrt::pm4_compiled holds.
#pragma once

#include <zrt/backend/pm4/declaration.hpp>
#include <zrt/compiled/engine.hpp>

namespace zrt::inline ZRT_ABI {

template <class O> inline constexpr bool kCompiledElsewhere<Pm4Backend, AllFamilies, O> = compiled::kObserver<O>;

extern template class Engine<Pm4Backend>;
extern template class Engine<Pm4Backend, AllFamilies, trace::TimelineObserver>;
extern template class Engine<Pm4Backend, AllFamilies, trace::RunObserver>;

}  // namespace zrt::inline ZRT_ABI
