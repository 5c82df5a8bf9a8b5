// SPDX-License-Identifier: Apache-2.0
// zrt/compiled/reference.hpp: engines on the oracle that the target zrt::reference_compiled holds.
#pragma once

#include <zrt/backend/reference/declaration.hpp>
#include <zrt/compiled/engine.hpp>

namespace zrt::inline ZRT_ABI {

template <class O> inline constexpr bool kCompiledElsewhere<ReferenceBackend, AllFamilies, O> = compiled::kObserver<O>;

extern template class Engine<ReferenceBackend>;
extern template class Engine<ReferenceBackend, AllFamilies, trace::TimelineObserver>;
extern template class Engine<ReferenceBackend, AllFamilies, trace::RunObserver>;

}  // namespace zrt::inline ZRT_ABI
