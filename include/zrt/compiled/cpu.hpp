// SPDX-License-Identifier: Apache-2.0
// zrt/compiled/cpu.hpp: engines on the CPU that the target zrt::cpu_compiled holds.
#pragma once

#include <zrt/backend/cpu/declaration.hpp>
#include <zrt/compiled/engine.hpp>

namespace zrt::inline ZRT_ABI {

template <class O> inline constexpr bool kCompiledElsewhere<CpuBackend, AllFamilies, O> = compiled::kObserver<O>;

extern template class Engine<CpuBackend>;
extern template class Engine<CpuBackend, AllFamilies, trace::TimelineObserver>;
extern template class Engine<CpuBackend, AllFamilies, trace::RunObserver>;

}  // namespace zrt::inline ZRT_ABI
